//! Products of one warp: fragments in its registers, `mma.sync` and `ldmatrix` (compute capability 8.0 and newer).
//!
//! A *line* is a row of `a` or a column of `b`: what runs along `k`. A product of two factors is the products of all
//! lines of one with all lines of the other, and the fragments of both factors differ in the order of their registers
//! only. (PTX ISA, "Warp-level matrix instructions", in particular "Matrix Fragments for mma.m16n8k16 with floating
//! point type".)
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use core::marker::PhantomData;

use cuda_std::thread;

use crate::copy_async::Shared;
use crate::tensor_core::element::{Bf16, Element, F16};
use crate::warp::WARP_SIZE;

/// Lines of a fragment, and its elements along `k`.
pub const SIDE: usize = 16;

/// An element of 16 bits that `mma.sync` multiplies.
pub trait MmaElement: Element {
    /// `mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32`: adds the products of 16 rows and 8 columns, 16 deep, to their
    /// sums. (PTX ISA, "Multiply-and-Accumulate Instruction: mma".)
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    unsafe fn multiply_add(a: [u32; 4], b: [u32; 2], sums: &mut [f32; 4]);
}

macro_rules! mma_element {
    ($element:ty, $name:literal) => {
        impl MmaElement for $element {
            #[inline(always)]
            unsafe fn multiply_add(a: [u32; 4], b: [u32; 2], sums: &mut [f32; 4]) {
                let [s0, s1, s2, s3] = sums;
                ptx!(
                    concat!(
                        "mma.sync.aligned.m16n8k16.row.col.f32.", $name, ".", $name, ".f32 ",
                        "{{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"
                    ),
                    inout(reg32) *s0, inout(reg32) *s1, inout(reg32) *s2, inout(reg32) *s3,
                    in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
        }
    };
}

mma_element!(Bf16, "bf16");
mma_element!(F16, "f16");

/// 16 lines of a factor, 16 elements deep, in four registers of each lane.
///
/// They are four matrices of 8 lines × 8 elements, a register each. Lane `l` has of line `l / 4` the elements `l % 4 *
/// 2` and the one behind it, the first one in the register's lower half. For `a`, the second register has the 8 lines
/// further on, and the other two the elements further along `k`. For `b` the second has the elements further along `k`,
/// for `mma.sync` wants 16 × 8 elements of `b` in two registers, and these have to be neighbours.
#[derive(Clone, Copy)]
pub struct Fragment<E, const OF_B: bool> {
    registers: [u32; 4],
    element: PhantomData<E>,
}

/// Rows of `a`.
pub type FragmentA<E> = Fragment<E, false>;
/// Columns of `b`.
pub type FragmentB<E> = Fragment<E, true>;

impl<E: MmaElement, const OF_B: bool> Fragment<E, OF_B> {
    /// Which half of the lines, and which half along `k`, matrix number `matrix` is.
    #[inline(always)]
    const fn halves(matrix: u32) -> (u32, u32) {
        if OF_B { (matrix / 2, matrix % 2) } else { (matrix % 2, matrix / 2) }
    }

    /// The fragment whose pairs of elements `pair` gives, by their line and by their place along `k`, in pairs.
    #[inline(always)]
    #[must_use]
    pub fn from_pairs(pair: impl Fn(u32, u32) -> u32) -> Self {
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let registers = [0, 1, 2, 3].map(|matrix| {
            let (line, place) = Self::halves(matrix);
            pair(line * 8 + lane / 4, place * 4 + lane % 4)
        });
        Self { registers, element: PhantomData }
    }

    /// The row of eight elements, 16 bytes, whose address this lane gives to [`load`](Self::load): its row in the
    /// fragment as it lies in memory, and which of the two eights of that row it is.
    #[inline(always)]
    #[must_use]
    pub fn row_and_eight<const ALONG_K: bool>() -> (u32, u32) {
        let lane = thread::thread_idx_x() % WARP_SIZE;
        let (line, place) = Self::halves(lane / 8);
        let (down, along) = if ALONG_K { (line, place) } else { (place, line) };
        (down * 8 + lane % 8, along)
    }

    /// `ldmatrix.sync.aligned.m8n8.x4.shared.b16`: four matrices of 8 × 8, each lane giving the address of one row of
    /// one of them. (PTX ISA, "Warp-level matrix load instruction: ldmatrix".)
    ///
    /// With `ALONG_K`, the rows in memory are lines: elements along `k` lie side by side, as the registers have them.
    /// Without, a row has the elements of 8 neighbouring lines, and `.trans` transposes each matrix on its way.
    ///
    /// # Safety
    /// All lanes of the warp call it together. `row` is the address of the 16 bytes of shared memory that
    /// [`row_and_eight`](Self::row_and_eight) names, a multiple of 16, which no thread writes meanwhile.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load<const ALONG_K: bool>(row: Shared) -> Self {
        let mut registers = [0; 4];
        let [first, second, third, fourth] = &mut registers;
        macro_rules! ldmatrix {
            ($form:literal) => {
                ptx!(
                    concat!("ldmatrix.sync.aligned.m8n8.x4", $form, ".shared.b16 {{{}, {}, {}, {}}}, [{}];"),
                    out(reg32) *first, out(reg32) *second, out(reg32) *third, out(reg32) *fourth,
                    in(reg32) row.0, options(readonly, nostack, preserves_flags)
                )
            };
        }
        if ALONG_K {
            ldmatrix!("");
        } else {
            ldmatrix!(".trans");
        }
        Self { registers, element: PhantomData }
    }
}

/// The sums of 16 rows and 16 columns, in eight registers of each lane.
#[derive(Clone, Copy)]
pub struct Sums([[f32; 4]; 2]);

impl Sums {
    /// Sums of nothing.
    pub const ZERO: Self = Self([[0.0; 4]; 2]);

    /// Adds the products of 16 rows of `a` and 16 columns of `b`, by two `mma.sync` of 8 columns each.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    pub unsafe fn multiply_add<E: MmaElement>(&mut self, a: &FragmentA<E>, b: &FragmentB<E>) {
        let [left, right] = &mut self.0;
        let [b0, b1, b2, b3] = b.registers;
        // SAFETY: as the caller promises.
        unsafe {
            E::multiply_add(a.registers, [b0, b1], left);
            E::multiply_add(a.registers, [b2, b3], right);
        }
    }

    /// The row and the column of this lane's first pair of neighbouring sums.
    #[inline(always)]
    #[must_use]
    pub fn place() -> (u32, u32) {
        let lane = thread::thread_idx_x() % WARP_SIZE;
        (lane / 4, lane % 4 * 2)
    }

    /// A pair of this lane's sums: `down` and `along`, 0 or 1, times eight rows and columns from the first one on.
    #[inline(always)]
    #[must_use]
    pub fn pair(&self, down: usize, along: usize) -> [f32; 2] {
        [self.0[along][down * 2], self.0[along][down * 2 + 1]]
    }
}
