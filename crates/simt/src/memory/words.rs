//! The words of device memory, byte by byte: the one place with `unsafe` in this module.
//!
//! Blocks run on different host threads and may access the same bytes at the same time, so each access
//! is an atomic of the access's own size. Every reference that is made here lies inside one eight-byte
//! word by construction, and the word is found by a checked index.
//!
//! Rust leaves races of atomics of different sizes open (`std::sync::atomic`, "Memory model for atomic
//! accesses"), and PTX does too (PTX ISA §8.2, "Limitations on Mixed-size Data-races"). LLVM, which
//! compiles this, gives each byte one of the values that were written to it.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use bytemuck::Pod;

use crate::vectors::HALF;

#[cfg(not(target_endian = "little"))]
compile_error!("device memory is little-endian, and is viewed as the host's own integers");

/// An integer that memory is accessed as.
pub(crate) trait Word: Pod + Default + PartialEq {
    /// Its size.
    const BYTES: u64;

    /// The value zero-extended to 64 bits.
    fn widen(self) -> u64;

    /// The value sign-extended to 64 bits.
    fn widen_signed(self) -> u64;

    /// Truncates a 64-bit value to this type.
    fn narrow(value: u64) -> Self;

    /// From as many bytes as it has.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Reads it at a byte that is a multiple of its size.
    fn load(words: &[AtomicU64], at: u64) -> Self;

    /// Writes it at a byte that is a multiple of its size.
    fn store(self, words: &[AtomicU64], at: u64);

    /// Reads values that follow each other.
    #[inline(always)]
    fn load_row(words: &[AtomicU64], at: u64, values: &mut [Self; HALF]) {
        if at.is_multiple_of(8) {
            let words = &words[(at / 8) as usize..][..size_of::<[Self; HALF]>() / 8];
            let whole = bytemuck::bytes_of_mut(values).as_chunks_mut().0;
            for (value, word) in whole.iter_mut().zip(words) {
                *value = word.load(Ordering::Relaxed).to_le_bytes();
            }
        } else {
            for (lane, value) in values.iter_mut().enumerate() {
                *value = Self::load(words, at + lane as u64 * Self::BYTES);
            }
        }
    }

    /// Writes values that follow each other.
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

    /// Replaces it by `new` of it, in one atomic step, and returns the old value.
    fn update(words: &[AtomicU64], at: u64, new: impl FnMut(Self) -> Self) -> Self;
}

/// Prefetches a word that may be accessed soon.
#[inline(always)]
pub(super) fn prefetch_word(word: &AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which accesses nothing; every x86-64 CPU has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

macro_rules! word {
    ($ty:ty, $signed:ty, $atomic:ty, $cell:ident) => {
        #[inline(always)]
        fn $cell(words: &[AtomicU64], at: u64) -> &$atomic {
            let word = &words[(at / 8) as usize];
            let index = (at % 8) as usize / size_of::<$ty>();
            // SAFETY: the word has `8 / size` elements of this type and `index` is less, so the element
            // lies inside the word, and at a multiple of its size, which is its alignment. It lives as
            // long as the word is borrowed, and all who share the word access it by atomics only.
            unsafe { <$atomic>::from_ptr(word.as_ptr().cast::<$ty>().add(index)) }
        }

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
                <$ty>::from_le_bytes(bytes.try_into().expect("as many bytes as the type has"))
            }

            #[inline(always)]
            fn load(words: &[AtomicU64], at: u64) -> Self {
                $cell(words, at).load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn store(self, words: &[AtomicU64], at: u64) {
                $cell(words, at).store(self, Ordering::Relaxed);
            }

            #[inline]
            fn update(words: &[AtomicU64], at: u64, mut new: impl FnMut(Self) -> Self) -> Self {
                let cell = $cell(words, at);
                let mut old = cell.load(Ordering::Relaxed);
                loop {
                    let (done, failed) = (Ordering::AcqRel, Ordering::Relaxed);
                    match cell.compare_exchange_weak(old, new(old), done, failed) {
                        Ok(old) => return old,
                        Err(now) => old = now,
                    }
                }
            }
        }
    };
}

word!(u8, i8, AtomicU8, cell8);
word!(u16, i16, AtomicU16, cell16);
word!(u32, i32, AtomicU32, cell32);
word!(u64, i64, AtomicU64, cell64);
