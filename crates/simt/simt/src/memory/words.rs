//! The words of device memory, which are accessed only in this module.
//!
//! Blocks run on different host threads and may access the same bytes at the same time. Each access uses the whole
//! 8-byte word that contains the bytes, because Rust does not specify races between atomics of different sizes
//! (`std::sync::atomic`, "Memory model for atomic accesses"). A smaller store therefore replaces its part of the word
//! in one atomic step, like an `atom`. On x86-64, this step is a single store instruction of the smaller size.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;

use crate::regs::HALF;

#[cfg(not(target_endian = "little"))]
compile_error!("device memory is little-endian and is accessed as integers of the host");

/// An integer type that memory accesses read and write.
pub(crate) trait Word: Pod + Default + PartialEq {
    /// The size in bytes.
    const BYTES: u64;

    /// Returns the value zero-extended to 64 bits.
    fn widen(self) -> u64;

    /// Returns the value sign-extended to 64 bits.
    fn widen_signed(self) -> u64;

    /// Truncates a 64-bit value to this type.
    fn narrow(value: u64) -> Self;

    /// Converts bytes to a value. The number of bytes must equal the size of the type.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Reads the value at byte `at`, a multiple of the size.
    #[inline(always)]
    fn load(words: &[AtomicU64], at: u64) -> Self {
        Self::narrow(words[(at / 8) as usize].load(Ordering::Relaxed) >> (at % 8 * 8))
    }

    /// Writes the value at byte `at`, a multiple of the size.
    #[inline(always)]
    fn store(self, words: &[AtomicU64], at: u64) {
        if Self::BYTES == 8 {
            words[(at / 8) as usize].store(self.widen(), Ordering::Relaxed);
        } else {
            replace(self, words, at);
        }
    }

    /// Reads consecutive values.
    #[inline(always)]
    fn load_row(words: &[AtomicU64], at: u64, values: &mut [Self; HALF]) {
        let words = &words[(at / 8) as usize..];
        let whole: &mut [[u8; 8]] = bytemuck::bytes_of_mut(values).as_chunks_mut().0;
        if at.is_multiple_of(8) {
            for (value, word) in whole.iter_mut().zip(words) {
                *value = word.load(Ordering::Relaxed).to_le_bytes();
            }
        } else {
            let (shift, count) = (at % 8 * 8, whole.len());
            let words = &words[..=count];
            let mut low = words[0].load(Ordering::Relaxed);
            for (value, word) in whole.iter_mut().zip(&words[1..]) {
                let high = word.load(Ordering::Relaxed);
                *value = (low >> shift | high << (64 - shift)).to_le_bytes();
                low = high;
            }
        }
    }

    /// Writes consecutive values.
    #[inline(always)]
    fn store_row(values: &[Self; HALF], words: &[AtomicU64], at: u64) {
        if at.is_multiple_of(8) {
            let words = &words[(at / 8) as usize..][..size_of::<[Self; HALF]>() / 8];
            let whole = bytemuck::bytes_of(values).as_chunks().0;
            for (value, word) in whole.iter().zip(words) {
                word.store(u64::from_le_bytes(*value), Ordering::Relaxed);
            }
        } else {
            for (lane, value) in values.iter().enumerate() {
                value.store(words, at + lane as u64 * Self::BYTES);
            }
        }
    }

    /// Replaces the value with the result of `new` in one atomic step, and returns the old value.
    #[inline]
    fn update(words: &[AtomicU64], at: u64, mut new: impl FnMut(Self) -> Self) -> Self {
        let (word, shift) = (&words[(at / 8) as usize], at % 8 * 8);
        let part = (u64::MAX >> (64 - Self::BYTES * 8)) << shift;
        let mut whole = word.load(Ordering::Relaxed);
        loop {
            let old = Self::narrow(whole >> shift);
            let changed = whole & !part | new(old).widen() << shift;
            let (done, failed) = (Ordering::AcqRel, Ordering::Relaxed);
            match word.compare_exchange_weak(whole, changed, done, failed) {
                Ok(_) => return old,
                Err(now) => whole = now,
            }
        }
    }
}

/// Replaces the part of a word that holds a value of up to 4 bytes, in one atomic step.
#[inline(always)]
fn replace<W: Word>(value: W, words: &[AtomicU64], at: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let (word, within) = (&words[(at / 8) as usize], at as usize % 8);
        let (to, value) = (word.as_ptr().cast::<u8>().wrapping_add(within), value.widen() as u32);
        macro_rules! store {
            ($instruction:literal) => {
                // SAFETY: `at` is a multiple of the value's size, so the bytes at `to` are within the word. The word is
                // an atomic, so it may be written through a shared reference. The instruction has the same effect as a
                // compare-and-swap loop on the word: the CPU replaces exactly these bytes in one step (Intel SDM,
                // volume 3, "Guaranteed Atomic Operations").
                unsafe {
                    std::arch::asm!($instruction, in(reg) to, in(reg) value, options(nostack, preserves_flags));
                }
            };
        }
        match W::BYTES {
            1 => store!("mov byte ptr [{}], {:l}"),
            2 => store!("mov word ptr [{}], {:x}"),
            _ => store!("mov dword ptr [{}], {:e}"),
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    W::update(words, at, |_| value);
}

/// Prefetches a word that may be accessed soon.
#[inline(always)]
pub(super) fn prefetch_word(word: &AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that does not access memory, and every x86-64 CPU supports it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

macro_rules! word {
    ($ty:ty, $signed:ty) => {
        impl Word for $ty {
            const BYTES: u64 = size_of::<$ty>() as u64;

            #[inline(always)]
            fn widen(self) -> u64 {
                u64::from(self)
            }

            #[inline(always)]
            fn widen_signed(self) -> u64 {
                i64::from(self as $signed) as u64
            }

            #[inline(always)]
            fn narrow(value: u64) -> Self {
                value as $ty
            }

            #[inline(always)]
            fn from_bytes(bytes: &[u8]) -> Self {
                <$ty>::from_le_bytes(bytes.try_into().expect("the type's size"))
            }
        }
    };
}

word!(u8, i8);
word!(u16, i16);
word!(u32, i32);
word!(u64, i64);
