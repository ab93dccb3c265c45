//! Products of whole warp groups, whose operands lie in shared memory (`wgmma`; PTX ISA, "Asynchronous Warpgroup Level
//! Matrix Instructions").
//!
//! Four warps multiply a tile of 64 rows with one of `N` columns and add the product to sums in their registers. The
//! tensor cores read both tiles from shared memory by themselves, as a descriptor says, while the threads go on: sums
//! must not be touched between [`fence`] and [`wait`].

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use core::marker::PhantomData;

use crate::copy_async::Shared;
use crate::tensor_core::element::{Bf16, Element, F16, Tf32};

/// How a tile lies in shared memory: in boxes of 64 rows × 128 bytes, swizzled by 128 bytes, one behind the other.
pub trait Layout {
    /// Whether the rows run along the other dimension than k: the instruction's `imm-trans`.
    const TRANSPOSED: u32;
    /// The descriptor's leading dimension offset in bytes.
    const LEADING: u64;
    /// The bytes from one product's depth to the next.
    const STEP: u32;
}

/// Boxes whose rows run along k: they are rows of `a`, or columns of `b` when it lies column after column. Otherwise a
/// box's rows are 64 values of k, and run along 64 columns of `b`: `b` as it lies row after row, for elements of 16
/// bits only.
pub struct Boxes<const ALONG_K: bool>;

impl<const ALONG_K: bool> Layout for Boxes<ALONG_K> {
    const TRANSPOSED: u32 = !ALONG_K as u32;
    // Along k, the hardware does not use it with a swizzle of 128 bytes, and 16 is what others write there.
    const LEADING: u64 = if ALONG_K { 16 } else { BOX_BYTES as u64 };
    const STEP: u32 = if ALONG_K { 32 } else { 16 * ROW_BYTES };
}

/// The bytes of a row of a box.
pub const ROW_BYTES: u32 = 128;
/// The rows of a box.
pub const BOX_ROWS: u32 = 64;
/// The bytes of a box, to which it is aligned too.
pub const BOX_BYTES: u32 = BOX_ROWS * ROW_BYTES;
/// What stages of boxes are aligned to at least: eight rows, after which the swizzle repeats.
pub const BOX_ALIGN: u32 = 8 * ROW_BYTES;

/// The place of the 16 bytes number `chunk` of a row in a box, which is swizzled by 128 bytes.
#[inline(always)]
#[must_use]
pub fn place_in_box(row: u32, chunk: u32) -> u32 {
    row * ROW_BYTES + ((chunk ^ (row % 8)) << 4)
}

/// The products of 16 (TF32: 8) along k in a row of 128 bytes.
pub const STEPS: u32 = ROW_BYTES / 32;

/// A tile of `E`s in shared memory, as the tensor cores are told of it (PTX ISA, "Matrix Descriptor Format").
pub struct Tile<E, L> {
    descriptor: u64,
    kind: PhantomData<(E, L)>,
}

impl<E, L: Layout> Clone for Tile<E, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, L: Layout> Copy for Tile<E, L> {}

impl<E: Element, L: Layout> Tile<E, L> {
    /// The tile whose first box is there.
    ///
    /// # Safety
    /// The boxes are aligned to [`BOX_BYTES`], or to 1024 bytes at least, and elements are stored in this layout.
    #[inline(always)]
    #[must_use]
    pub unsafe fn at(place: Shared) -> Self {
        const { assert!(L::TRANSPOSED == 0 || size_of::<E>() == 2, "only 16-bit elements can lie across k") };
        const STRIDE: u64 = BOX_ALIGN as u64;
        const SWIZZLE_128: u64 = 1 << 62;
        let address = u64::from(place.0 & 0x3_ffff) >> 4;
        let descriptor = address | (L::LEADING >> 4) << 16 | (STRIDE >> 4) << 32 | SWIZZLE_128;
        Self { descriptor, kind: PhantomData }
    }

    /// The part for the product number `step` along k, below [`STEPS`].
    #[inline(always)]
    #[must_use]
    pub fn step(self, step: u32) -> Self {
        Self { descriptor: self.descriptor + u64::from(step * (L::STEP >> 4)), kind: PhantomData }
    }
}

/// The sums of one thread of a warp group: 64 rows × `2 * N` columns, in `N` registers of each of 128 threads.
///
/// Thread `t` has of rows `t / 32 * 16 + t % 32 / 4` and 8 rows below, for each eight columns, the columns `t % 4 * 2`
/// and the next: registers `4 i` and `4 i + 1` are those of columns `8 i …` in the upper row, `4 i + 2` and `4 i + 3`
/// in the lower. (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", matrix D.)
pub trait Sums<E>: Finish {
    /// Starts the product of 64 rows of `a` with all columns of `b`, and adds it to the sums, or replaces them.
    ///
    /// Either tile may lie across k. To the tensor cores, the first factor is the one with 64 rows: a transposed
    /// product comes of columns of the ladder's `b` in its place.
    ///
    /// # Safety
    /// All threads of the warp group come, behind a [`fence`]; nobody writes the tiles, or touches the sums other than
    /// by further products, before a [`wait`] for it.
    unsafe fn multiply<L: Layout, M: Layout>(&mut self, a: Tile<E, L>, b: Tile<E, M>, is_added: bool);
}

/// Has the warp group's tensor cores see the registers and the shared memory as they are (`wgmma.fence`).
///
/// # Safety
/// All threads of the warp group come.
#[inline(always)]
pub unsafe fn fence() {
    ptx!("wgmma.fence.sync.aligned;", options(nostack, preserves_flags));
}

/// Ends a group of products (`wgmma.commit_group`).
///
/// # Safety
/// All threads of the warp group come.
#[inline(always)]
pub unsafe fn commit() {
    ptx!("wgmma.commit_group.sync.aligned;", options(nostack, preserves_flags));
}

/// Waits until all but the last `PENDING` groups of products have read their tiles and added to their sums
/// (`wgmma.wait_group`). With none pending, [`Finish::finish`] gives the sums back.
///
/// # Safety
/// All threads of the warp group come.
#[inline(always)]
pub unsafe fn wait<const PENDING: u32>() {
    ptx!("wgmma.wait_group.sync.aligned {};", const PENDING, options(nostack, preserves_flags));
}

/// Sums that are waited for.
pub trait Finish {
    /// Waits for all products. What reads the sums afterwards cannot be moved before it.
    ///
    /// # Safety
    /// All threads of the warp group come.
    unsafe fn finish(&mut self);
}

/// Calls a macro with the indices of so many registers.
macro_rules! with_registers {
    (60 $then:ident $($arguments:tt)*) => {
        $then! { [$($arguments)*]
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
            38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
        }
    };
    (64 $then:ident $($arguments:tt)*) => {
        $then! { [$($arguments)*]
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
            38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        }
    };
    (96 $then:ident $($arguments:tt)*) => {
        $then! { [$($arguments)*]
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
            38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72
            73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
        }
    };
    (128 $then:ident $($arguments:tt)*) => {
        $then! { [$($arguments)*]
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
            38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72
            73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105
            106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127
        }
    };
}

/// The operand list of the other registers.
#[cfg_attr(not(target_arch = "nvptx64"), allow(unused_macros))]
macro_rules! another {
    ($index:literal) => {
        ", {}"
    };
}

macro_rules! multiply {
    // Elements of 16 bits, either of whose tiles may lie across k.
    ([$element:ty, $registers:literal, $shape:literal, across] 0 $($index:literal)*) => {
        multiply! { [$element, $registers, $shape, [a_across = const L::TRANSPOSED, b_across = const M::TRANSPOSED,]]
            0 $($index)* }
    };
    ([$element:ty, $registers:literal, $shape:literal, [$($across:tt)*]] 0 $($index:literal)*) => {
        impl Sums<$element> for [f32; $registers] {
            #[inline(always)]
            unsafe fn multiply<L: Layout, M: Layout>(&mut self, a: Tile<$element, L>, b: Tile<$element, M>, is_added: bool) {
                ptx!(
                    "{{ .reg .pred p; setp.ne.b32 p, {is_added}, 0;",
                    concat!("wgmma.mma_async.sync.aligned.", $shape, " {{{}", $(another!($index),)* "}}, {a}, {b}, p, 1, 1"),
                    multiply!(@template $($across)*),
                    inout(reg32) self[0], $(inout(reg32) self[$index],)*
                    a = in(reg64) a.descriptor, b = in(reg64) b.descriptor, is_added = in(reg32) u32::from(is_added),
                    $($across)*
                    options(nostack, preserves_flags)
                );
            }
        }
    };
    (@template) => { "; }}" };
    (@template $($across:tt)*) => { ", {a_across}, {b_across}; }}" };
}

macro_rules! finish {
    ([$registers:literal] $($index:literal)*) => {
        impl Finish for [f32; $registers] {
            #[inline(always)]
            unsafe fn finish(&mut self) {
                ptx!(
                    concat!("wgmma.wait_group.sync.aligned 0; //", $(another!($index)),*),
                    $(inout(reg32) self[$index],)*
                    options(nostack, preserves_flags)
                );
            }
        }
    };
}

with_registers!(60 multiply Bf16, 60, "m64n120k16.f32.bf16.bf16", across);
with_registers!(64 multiply Bf16, 64, "m64n128k16.f32.bf16.bf16", across);
with_registers!(96 multiply Bf16, 96, "m64n192k16.f32.bf16.bf16", across);
with_registers!(128 multiply Bf16, 128, "m64n256k16.f32.bf16.bf16", across);
with_registers!(60 multiply F16, 60, "m64n120k16.f32.f16.f16", across);
with_registers!(64 multiply F16, 64, "m64n128k16.f32.f16.f16", across);
with_registers!(96 multiply F16, 96, "m64n192k16.f32.f16.f16", across);
with_registers!(128 multiply F16, 128, "m64n256k16.f32.f16.f16", across);
with_registers!(64 multiply Tf32, 64, "m64n128k8.f32.tf32.tf32", []);
with_registers!(96 multiply Tf32, 96, "m64n192k8.f32.tf32.tf32", []);
with_registers!(128 multiply Tf32, 128, "m64n256k8.f32.tf32.tf32", []);
with_registers!(60 finish 60);
with_registers!(64 finish 64);
with_registers!(96 finish 96);
with_registers!(128 finish 128);
