//! Shared code of the `gemm` rungs: element types, addresses in shared memory, 16-byte accesses, and the order of
//! tiles.
//!
//! - [`Bf16`], [`F16`] and [`Tf32`] are the element types, with the traits [`Element`] (of `a` and `b`) and [`Output`]
//!   (of `c`).
//! - [`Shared`] is an address in shared memory, in the form that the instructions of the modules below need. Rungs of
//!   `matmul` also use it, with `cp_async`.
//! - [`load`] and [`store`] access 16 bytes with one instruction, as a [`Wide`].
//! - [`tile_corner`] returns the tile of `c` that a block computes, and [`opaque`] hides a number from the compiler.
//!
//! Each module wraps one family of PTX instructions:
//!
//! | module | instructions | from |
//! |---|---|---|
//! | `mma` | `ldmatrix`, `mma.sync`: a warp multiplies fragments in registers | `sm_80` |
//! | `cp_async` | `cp.async`: a thread copies 4 to 16 bytes to shared memory | `sm_80` |
//! | `wgmma` | `wgmma`, `setmaxnreg`, `stmatrix`: a warp group multiplies tiles in shared memory | `sm_90a` |
//! | `tma` | `cp.async.bulk.tensor`, `mbarrier`, `barrier`: copies of whole boxes, and barriers to wait at | `sm_90a` |
//!
//! Each function wraps one or two PTX instructions and names their section of the PTX ISA. LLVM has intrinsics for some
//! of these instructions. But some intrinsics take pointers with an address space, which Rust cannot express. Others
//! return structures, which Rust's C ABI returns in a different way. So all these functions use `asm!`, which
//! `cuda_builder` makes convergent if threads have to execute an instruction together. On targets other than a GPU, the
//! functions do nothing.

/// Expands to an `asm!` block on a GPU and to nothing elsewhere. The block's safety requirements are the requirements
/// of the enclosing function.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
macro_rules! ptx {
    ($($asm:tt)*) => {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the instruction has no requirements, or the enclosing function has the same requirements.
        unsafe {
            ::core::arch::asm!($($asm)*);
        }
    };
}

pub mod cp_async;
pub mod mma;
pub mod tma;
pub mod wgmma;

/// An address in shared memory in the form that instructions need: a 32-bit offset in the shared window.
#[derive(Clone, Copy)]
pub struct Shared(pub(crate) u32);

impl Shared {
    /// Converts a pointer to shared memory to an address.
    ///
    /// `cuda_builder` turns the instruction `cvta.to.shared` into a cast that the compiler can optimize.
    #[inline(always)]
    #[must_use]
    pub fn of<T>(pointer: *const T) -> Self {
        let address: u64;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the conversion of an address accesses no memory.
        unsafe {
            core::arch::asm!(
                "cvta.to.shared.u64 {}, {};",
                out(reg64) address,
                in(reg64) pointer,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            address = pointer as u64;
        }
        // The shared window has 32-bit addresses (PTX ISA, "Generic Addressing").
        Self(address as u32)
    }

    /// Returns the number of bytes from `other` to this address, which must not be lower than `other`.
    #[inline(always)]
    #[must_use]
    pub fn offset_from(self, other: Self) -> u32 {
        self.0.wrapping_sub(other.0)
    }

    /// Rounds the address up to a multiple of `bytes`, a power of two.
    #[inline(always)]
    #[must_use]
    pub fn aligned_to(self, bytes: u32) -> Self {
        Self((self.0 + bytes - 1) & !(bytes - 1))
    }

    /// Returns the address that is `bytes` higher.
    #[inline(always)]
    #[must_use]
    pub fn byte_add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// `N` neighboring elements, aligned for a 16-byte access (PTX ISA, "Vectors").
///
/// A thread can read or write at most 16 bytes with one instruction (`ld.v4.b32`, `st.v4.b32`).
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Wide<T, const N: usize>(pub [T; N]);

/// Loads `N` neighboring elements with one instruction.
///
/// # Safety
/// The caller must ensure that `from` points to `N` elements and is aligned to 16 bytes, and that no thread writes
/// these elements at the same time.
#[inline(always)]
#[must_use]
pub unsafe fn load<T: Copy, const N: usize>(from: *const T) -> [T; N] {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // SAFETY: `from` points to `N` elements and is aligned to 16 bytes.
    unsafe { (*from.cast::<Wide<T, N>>()).0 }
}

/// Stores `N` neighboring elements with one instruction.
///
/// # Safety
/// The caller must ensure that `to` points to `N` elements and is aligned to 16 bytes, and that no other thread
/// accesses these elements at the same time.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(to: *mut T, elements: [T; N]) {
    const { assert!(N * size_of::<T>() == 16, "an access is 16 bytes") };
    // The array is copied element by element, because the compiler copies a whole loaded array 8 bytes at a time.
    let elements = core::array::from_fn(|k| elements[k]);
    // SAFETY: `to` points to `N` elements and is aligned to 16 bytes.
    unsafe { *to.cast::<Wide<T, N>>() = Wide(elements) };
}

/// The number of rows of tiles in a band, for [`tile_corner`].
pub const BAND: u32 = 8;

/// Returns the first row and the first column of tile number `index` of `c`, which is `m` × `n`, for tiles of `rows` ×
/// `columns` elements.
///
/// A band consists of `band` rows of tiles. The tiles are numbered band by band, and within a band in column-major
/// order. So the blocks that run at the same time share a few tile rows of `a` and a few tile columns of `b`, which
/// stay in the L2 cache. In row-major order, these blocks would read all of `b` for one row of tiles.
#[inline(always)]
#[must_use]
pub fn tile_corner(index: u32, [rows, columns]: [u32; 2], band: u32, m: u32, n: u32) -> (u32, u32) {
    // At least one column of tiles, so that the divisions below need no check for zero.
    let (tile_rows, tile_columns) = (m.div_ceil(rows), n.div_ceil(columns).max(1));
    let tiles_per_band = band * tile_columns;
    let first_row = index / tiles_per_band * band;
    let (band_rows, in_band) = ((tile_rows - first_row).clamp(1, band), index % tiles_per_band);
    ((first_row + in_band % band_rows) * rows, in_band / band_rows * columns)
}

/// Returns `number` in a way that hides its value from the compiler.
///
/// The compiler does not unroll a loop with an opaque bound. It computes values that depend on an opaque number only
/// where they are used, so they do not occupy registers earlier.
#[inline(always)]
#[must_use]
pub fn opaque(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut number = number;
        // SAFETY: the assembly is a comment.
        unsafe { core::arch::asm!("// {}", inout(reg32) number, options(nomem, nostack, preserves_flags)) };
        number
    }
    #[cfg(not(target_arch = "nvptx64"))]
    number
}

/// bfloat16: the upper half of a 32-bit float, with 8 bits of precision.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bf16(pub u16);

/// Half precision (IEEE 754 binary16), with 11 bits of precision.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F16(pub u16);

/// TF32: a 32-bit float with 11 bits of precision, as tensor cores use it. The lower bits are zero.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tf32(pub f32);

/// An element of the factors `a` and `b`.
pub trait Element: Copy {
    /// The number 0.
    const ZERO: Self;

    /// Returns the value of this element, which a 32-bit float represents exactly.
    fn to_f32(self) -> f32;
}

/// An element of the product `c`.
///
/// Sums are rounded with `cvt.rn.bf16.f32` and `cvt.rn.f16.f32`, or two at once with `cvt.rn.bf16x2.f32` and
/// `cvt.rn.f16x2.f32` (PTX ISA, "Data Movement and Conversion Instructions: cvt").
pub trait Output: Copy {
    /// Rounds a sum to the nearest value, ties to even.
    fn from_f32(sum: f32) -> Self;

    /// Two neighboring elements as one word: `u32` for 16-bit elements.
    type Pair: Copy;

    /// Rounds two sums to two neighboring elements.
    fn pair(first: f32, second: f32) -> Self::Pair;
}

/// Rounds two sums to one word of 16-bit elements, with one instruction from compute capability 8.0 on.
macro_rules! packed {
    ($instruction:literal, $element:ty, $first:ident, $second:ident) => {{
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        {
            let bits;
            // SAFETY: a conversion accesses no memory.
            unsafe {
                core::arch::asm!(concat!($instruction, " {}, {}, {};"), out(reg32) bits, in(reg32) $second,
                    in(reg32) $first, options(pure, nomem, nostack));
            }
            bits
        }
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
        {
            u32::from(<$element>::from_f32($first).0) | u32::from(<$element>::from_f32($second).0) << 16
        }
    }};
}

/// Two floats, aligned for one 8-byte access.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct Two(pub [f32; 2]);

impl Element for Bf16 {
    const ZERO: Self = Self(0);

    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl Output for Bf16 {
    #[inline(always)]
    fn from_f32(sum: f32) -> Self {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        {
            let bits;
            // SAFETY: a conversion accesses no memory.
            unsafe {
                core::arch::asm!("cvt.rn.bf16.f32 {}, {};", out(reg16) bits, in(reg32) sum,
                    options(pure, nomem, nostack));
            }
            Self(bits)
        }
        // Older devices have no instruction for this conversion.
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
        {
            let bits = sum.to_bits();
            if sum.is_nan() {
                return Self(0x7fff);
            }
            // Half a unit in the last remaining place, or slightly less if the last remaining bit is 0 (ties to even).
            let half = 0x7fff + (bits >> 16 & 1);
            Self((bits.wrapping_add(half) >> 16) as u16)
        }
    }

    type Pair = u32;

    #[inline(always)]
    fn pair(first: f32, second: f32) -> u32 {
        packed!("cvt.rn.bf16x2.f32", Self, first, second)
    }
}

impl Element for F16 {
    const ZERO: Self = Self(0);

    #[inline(always)]
    fn to_f32(self) -> f32 {
        let value: f32;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a conversion accesses no memory.
        unsafe {
            core::arch::asm!("cvt.f32.f16 {}, {};", out(reg32) value, in(reg16) self.0, options(pure, nomem, nostack));
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            value = 0.0;
        }
        value
    }
}

impl Output for F16 {
    #[inline(always)]
    fn from_f32(sum: f32) -> Self {
        let bits: u16;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a conversion accesses no memory.
        unsafe {
            core::arch::asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) sum, options(pure, nomem, nostack));
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            bits = sum as u16;
        }
        Self(bits)
    }

    type Pair = u32;

    #[inline(always)]
    fn pair(first: f32, second: f32) -> u32 {
        packed!("cvt.rn.f16x2.f32", Self, first, second)
    }
}

impl Element for Tf32 {
    const ZERO: Self = Self(0.0);

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self.0
    }
}

impl Output for f32 {
    #[inline(always)]
    fn from_f32(sum: f32) -> Self {
        sum
    }

    type Pair = Two;

    #[inline(always)]
    fn pair(first: f32, second: f32) -> Two {
        Two([first, second])
    }
}
