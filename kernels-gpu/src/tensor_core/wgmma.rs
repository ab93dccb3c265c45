//! `wgmma`: a warp group (four warps) multiplies matrices that are in shared memory.
//!
//! One instruction multiplies a tile of 64 rows by a tile of `N` columns and adds the product to sums in the registers
//! of 128 threads. Matrix descriptors describe both tiles, and the tensor cores read the tiles from shared memory while
//! the threads continue. So no thread may access the sums between [`fence`] and [`wait`]. The first tile can also be in
//! registers ([`fragment`]), so that one product can be a factor of the next product.
//!
//! Around the products, `setmaxnreg` moves registers between warp groups ([`setmaxnreg_dec`], [`setmaxnreg_inc`]), and
//! `stmatrix` stores sums to shared memory ([`stmatrix`], [`stmatrix_transposed`]).
//!
//! (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"; "Miscellaneous Instructions:
//! setmaxnreg"; "Warp-level matrix store instruction: stmatrix".)

#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use core::marker::PhantomData;

use super::{Bf16, Element, F16, Output, Shared, Tf32, opaque};

/// The number of bytes in a row of a box.
pub const ROW_BYTES: u32 = 128;
/// The number of rows in a box.
pub const BOX_ROWS: u32 = 64;
/// The number of bytes in a box.
pub const BOX_BYTES: u32 = BOX_ROWS * ROW_BYTES;
/// The alignment of a box in bytes: the size of eight rows, after which the swizzle repeats.
pub const BOX_ALIGN: u32 = 8 * ROW_BYTES;
/// The number of instructions for a row of a box. Each instruction multiplies 32 bytes along k, which are 16 elements
/// of 16 bits, or 8 elements of TF32.
pub const STEPS: u32 = ROW_BYTES / STEP_BYTES;
/// The number of bytes along k that an instruction multiplies.
const STEP_BYTES: u32 = 32;

/// Returns the offset of a 16-byte chunk in a box with a 128-byte swizzle. Chunk `c` of row `r` is stored at position
/// `c ^ r % 8` of the row. So chunks with the same number in eight rows are in different banks.
#[inline(always)]
#[must_use]
pub fn swizzled_offset(row: u32, chunk: u32) -> u32 {
    row * ROW_BYTES + ((chunk ^ (row % 8)) << 4)
}

/// The layout of a tile in shared memory: consecutive boxes of 64 rows × 128 bytes, with a 128-byte swizzle.
pub trait Layout {
    /// The instruction's `imm-trans`: 1 if the boxes' rows run perpendicular to k, and otherwise 0.
    const TRANSPOSED: u32;
    /// The descriptor's leading dimension byte offset.
    const LEADING: u64;
    /// The number of bytes from the elements of one instruction to the elements of the next instruction.
    const STEP: u32;
}

/// Boxes that are K-major if `K_MAJOR` is true.
///
/// The rows of K-major boxes run along k: they are rows of `a`, or columns of a column-major `b`. In other boxes, the
/// 64 rows are 64 values of k, and each row has 64 columns of a row-major `b`. Only 16-bit elements may be stored in
/// such boxes.
pub struct Boxes<const K_MAJOR: bool>;

impl<const K_MAJOR: bool> Layout for Boxes<K_MAJOR> {
    const TRANSPOSED: u32 = !K_MAJOR as u32;
    // The hardware ignores the offset for K-major tiles with a 128-byte swizzle. CUTLASS uses 16.
    const LEADING: u64 = if K_MAJOR { 16 } else { BOX_BYTES as u64 };
    // An instruction's 16 values of k are 16 rows of a box that is not K-major.
    const STEP: u32 = if K_MAJOR { STEP_BYTES } else { 16 * ROW_BYTES };
}

/// Boxes of 64 columns and `ROWS` rows. Each row holds the elements of one value of k. `ROWS` is a multiple of 16.
pub struct TallBoxes<const ROWS: u32>;

impl<const ROWS: u32> Layout for TallBoxes<ROWS> {
    const TRANSPOSED: u32 = 1;
    const LEADING: u64 = (ROWS * ROW_BYTES) as u64;
    const STEP: u32 = 16 * ROW_BYTES;
}

/// A tile of elements `E` in shared memory, as a matrix descriptor (PTX ISA, "Matrix Descriptor Format").
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
    /// Returns the tile whose first box begins at this address.
    ///
    /// # Safety
    /// The caller must ensure that the boxes are aligned to [`BOX_ALIGN`] and hold elements in this layout.
    #[inline(always)]
    #[must_use]
    pub unsafe fn at(address: Shared) -> Self {
        const { assert!(L::TRANSPOSED == 0 || size_of::<E>() == 2, "only tiles of 16-bit elements can be transposed") };
        // The descriptor holds addresses and offsets in units of 16 bytes. The stride dimension byte offset is the
        // distance between groups of eight rows.
        const STRIDE: u64 = BOX_ALIGN as u64;
        const SWIZZLE_128: u64 = 1 << 62;
        let address = u64::from(address.0 & 0x3_ffff) >> 4;
        let descriptor = address | (L::LEADING >> 4) << 16 | (STRIDE >> 4) << 32 | SWIZZLE_128;
        Self { descriptor, kind: PhantomData }
    }

    /// Returns the tile of instruction number `step` along k. `step` is below [`STEPS`], or `16 * step` is below the
    /// number of rows of [`TallBoxes`].
    #[inline(always)]
    #[must_use]
    pub fn step(self, step: u32) -> Self {
        Self { descriptor: self.descriptor + u64::from(step * (L::STEP >> 4)), kind: PhantomData }
    }
}

/// The sums of one thread of a warp group. The sums of 64 rows × `2 * N` columns are spread over 128 threads, `N`
/// registers in each.
///
/// Thread `t` holds elements of row `t / 32 * 16 + t % 32 / 4` and of the row that is 8 rows below. Of each eight
/// columns `8 i` to `8 i + 7`, the thread holds column `8 i + t % 4 * 2` and the next column. The elements of the first
/// row are in registers `4 i` and `4 i + 1`, and the elements of the second row in `4 i + 2` and `4 i + 3`. (PTX ISA,
/// "Register Fragments for wgmma.mma_async.m64nNk16", matrix D.)
pub trait Sums<E>: Finish {
    /// Starts the product of the 64 rows of `a` with all columns of `b`. If `is_added`, the product is added to the
    /// sums. Otherwise it replaces them.
    ///
    /// For the tensor cores, the first factor always has 64 rows. A caller that passes columns of the ladder's `b` as
    /// the first factor gets the transposed product.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call the function after a [`fence`]. Before a [`wait`]
    /// for the product, no thread may write the tiles, and only further products may access the sums.
    unsafe fn multiply<L: Layout, M: Layout>(&mut self, a: Tile<E, L>, b: Tile<E, M>, is_added: bool);

    /// Starts the product like [`Sums::multiply`], with `a` in registers: this thread's [`fragment`].
    ///
    /// # Safety
    /// See [`Sums::multiply`]. The fragment must be a result of [`fence_fragments`].
    unsafe fn multiply_fragment<M: Layout>(&mut self, a: [u32; 4], b: Tile<E, M>, is_added: bool);
}

/// Returns this thread's elements of a 64 × 16 tile, rounded from eight neighboring [`Sums`].
///
/// Sums `8 i` to `8 i + 7` become columns `16 i` to `16 i + 15`, because the sums of a product and the registers of a
/// factor have the same layout. (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", matrix A.)
#[inline(always)]
#[must_use]
pub fn fragment<E: Output<Pair = u32>>([a, b, c, d, e, f, g, h]: [f32; 8]) -> [u32; 4] {
    [E::pair(a, b), E::pair(c, d), E::pair(e, f), E::pair(g, h)]
}

/// Orders earlier accesses to registers and shared memory before the following products (`wgmma.fence`).
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function.
#[inline(always)]
pub unsafe fn fence() {
    ptx!("wgmma.fence.sync.aligned;", options(nostack, preserves_flags));
}

/// Orders earlier accesses like [`fence`]. The compiler cannot move the computation of the fragments past this fence.
///
/// If an instruction between two products writes a fragment's register, `ptxas` puts a fence before the second product.
///
/// # Safety
/// See [`fence`].
#[inline(always)]
pub unsafe fn fence_fragments<const N: usize>(fragments: [[u32; 4]; N]) -> [[u32; 4]; N] {
    let fragments = fragments.map(|fragment| fragment.map(opaque));
    // SAFETY: all threads of the warp group call this function.
    unsafe { fence() };
    fragments
}

/// Ends a group of products (`wgmma.commit_group`).
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function.
#[inline(always)]
pub unsafe fn commit() {
    ptx!("wgmma.commit_group.sync.aligned;", options(nostack, preserves_flags));
}

/// Waits until all groups of products, except the last `PENDING`, have read their tiles and have been added to their
/// sums (`wgmma.wait_group`). The sums may be used only after [`Finish::finish`].
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function.
#[inline(always)]
pub unsafe fn wait<const PENDING: u32>() {
    ptx!("wgmma.wait_group.sync.aligned {};", const PENDING, options(nostack, preserves_flags));
}

/// Sums that products in flight can still change.
pub trait Finish {
    /// Waits until all groups of products, except the last `PENDING`, have been added to their sums. The products of
    /// the pending groups must not be added to these sums. The compiler cannot move reads of these sums before the
    /// wait.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call the function.
    unsafe fn finish_but<const PENDING: u32>(&mut self);

    /// Waits for all products. The compiler cannot move reads of the sums before the wait.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call the function.
    #[inline(always)]
    unsafe fn finish(&mut self) {
        // SAFETY: all threads of the warp group call this function.
        unsafe { self.finish_but::<0>() }
    }
}

/// Releases all registers of each thread except `REGISTERS` (`setmaxnreg.dec`).
///
/// A block starts with the same number of registers for each thread. The producer warp group, which only starts copies,
/// releases most of its registers. The warp groups that multiply acquire these registers.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function, and that each thread has at least
/// `REGISTERS` registers.
#[inline(always)]
pub unsafe fn setmaxnreg_dec<const REGISTERS: u32>() {
    const { assert!(is_register_count(REGISTERS), "a multiple of 8 from 24 to 256") };
    ptx!("setmaxnreg.dec.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
}

/// Waits until each thread can have `REGISTERS` registers (`setmaxnreg.inc`).
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function, and that each thread has at most
/// `REGISTERS` registers. The block's other warp groups must release the missing registers.
#[inline(always)]
pub unsafe fn setmaxnreg_inc<const REGISTERS: u32>() {
    const { assert!(is_register_count(REGISTERS), "a multiple of 8 from 24 to 256") };
    ptx!("setmaxnreg.inc.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
}

/// Returns whether `setmaxnreg` accepts this number of registers.
const fn is_register_count(registers: u32) -> bool {
    registers >= 24 && registers <= 256 && registers.is_multiple_of(8)
}

/// Stores four 8 × 8 matrices of 16-bit elements from the registers of a warp's lanes to shared memory. Lane `8 i + j`
/// passes the address of row `j` of matrix `i`, which is 16 bytes long.
///
/// # Safety
/// The caller must ensure that all lanes of the warp call the function. Each address must point to 16 bytes of this
/// block's shared memory, aligned to 16, which no other thread accesses.
#[inline(always)]
pub unsafe fn stmatrix(to: Shared, fragments: [u32; 4]) {
    ptx!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {{{}, {}, {}, {}}};", in(reg32) to.0, in(reg32) fragments[0],
        in(reg32) fragments[1], in(reg32) fragments[2], in(reg32) fragments[3], options(nostack, preserves_flags));
}

/// Stores four 8 × 8 matrices like [`stmatrix`], each of them transposed.
///
/// # Safety
/// See [`stmatrix`].
#[inline(always)]
pub unsafe fn stmatrix_transposed(to: Shared, fragments: [u32; 4]) {
    ptx!("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [{}], {{{}, {}, {}, {}}};", in(reg32) to.0,
        in(reg32) fragments[0], in(reg32) fragments[1], in(reg32) fragments[2], in(reg32) fragments[3],
        options(nostack, preserves_flags));
}

/// Stores two neighboring 32-bit floats, for which `stmatrix` has no form (`st.shared.v2`; PTX ISA, "Data Movement and
/// Conversion Instructions: st").
///
/// # Safety
/// The caller must ensure that the address points to 8 bytes of this block's shared memory, aligned to 8, which no
/// other thread accesses.
#[inline(always)]
pub unsafe fn store_two_floats(to: Shared, [first, second]: [f32; 2]) {
    ptx!("st.shared.v2.f32 [{}], {{{}, {}}};", in(reg32) to.0, in(reg32) first, in(reg32) second,
        options(nostack, preserves_flags));
}

/// The placeholders for four registers in a list of operands. The list starts with register 0.
#[cfg_attr(not(target_arch = "nvptx64"), allow(unused_macros))]
macro_rules! places {
    (0) => {
        "{}, {}, {}, {}"
    };
    ($four:tt) => {
        ", {}, {}, {}, {}"
    };
}

/// An instruction with text before and after the list of its sums, and with additional operands. `$four` is the first
/// of four sums.
macro_rules! instruction {
    ($sums:ident [$($four:tt)*] [$($before:expr),*] [$($after:expr),*] $($operands:tt)*) => {
        ptx!(
            concat!($($before,)* $(places!($four),)* $($after),*),
            $(inout(reg32) $sums[$four], inout(reg32) $sums[$four + 1], inout(reg32) $sums[$four + 2],
                inout(reg32) $sums[$four + 3],)*
            $($operands)*
            options(nostack, preserves_flags)
        )
    };
}

/// The product functions for one element type and one number of sums.
macro_rules! multiply {
    // Both tiles may be transposed.
    ($element:ty, $kind:literal, $count:expr, $fours:tt, transposed) => {
        multiply! { $element, $kind, $count, $fours,
            [a_transposed = const L::TRANSPOSED,], [b_transposed = const M::TRANSPOSED,] }
    };
    ($element:ty, $kind:literal, $count:expr, $fours:tt, [$($a:tt)*], [$($b:tt)*]) => {
        impl Sums<$element> for [f32; $count] {
            #[inline(always)]
            unsafe fn multiply<L: Layout, M: Layout>(&mut self, a: Tile<$element, L>, b: Tile<$element, M>, is_added: bool) {
                multiply!(@ self $fours $kind, $count, "{a}", [$($a)* $($b)*], is_added, b, a = in(reg64) a.descriptor,);
            }

            #[inline(always)]
            unsafe fn multiply_fragment<M: Layout>(&mut self, a: [u32; 4], b: Tile<$element, M>, is_added: bool) {
                multiply!(@ self $fours $kind, $count, "{{{a0}, {a1}, {a2}, {a3}}}", [$($b)*], is_added, b,
                    a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],);
            }
        }
    };
    (@ $sums:ident $fours:tt $kind:literal, $count:expr, $a:literal, [$($name:ident = const $transposed:expr,)*],
            $is_added:ident, $b:ident, $($operands:tt)*) => {
        instruction!(
            $sums $fours
            ["{{ .reg .pred p; setp.ne.b32 p, {is_added}, 0;\nwgmma.mma_async.sync.aligned.m64n{n}", $kind, " {{"]
            ["}}, ", $a, ", {b}, p, 1, 1", $(", {", stringify!($name), "}",)* "; }}"]
            $($operands)* b = in(reg64) $b.descriptor, is_added = in(reg32) u32::from($is_added), n = const 2 * $count,
            $($name = const $transposed,)*
        );
    };
}

/// The product and wait functions for every number of columns, which is twice the number of sums.
macro_rules! sums {
    ([$($four:tt)*] $last:tt $($next:tt)*) => {
        sums! { @ $last + 4, [$($four)* $last] }
        sums! { [$($four)* $last] $($next)* }
    };
    ([$($four:tt)*]) => {};
    (@ $count:expr, $fours:tt) => {
        multiply! { Bf16, "k16.f32.bf16.bf16", $count, $fours, transposed }
        multiply! { F16, "k16.f32.f16.f16", $count, $fours, transposed }
        multiply! { Tf32, "k8.f32.tf32.tf32", $count, $fours, [], [] }

        impl Finish for [f32; $count] {
            #[inline(always)]
            unsafe fn finish_but<const PENDING: u32>(&mut self) {
                instruction!(self $fours ["wgmma.wait_group.sync.aligned {pending}; //"] [] pending = const PENDING,);
            }
        }
    };
}

sums! { [] 0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 92 96 100 104 108 112 116 120 124 }
