//! The product of two matrices of 32-bit floats, from naive reads by every thread to shared-memory tiles and thread
//! coarsening.
//!
//! Each kernel has the parameters `(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)` and writes `c`
//! (m × n), the product of `a` (m × k) and `b` (k × n). A kernel with a parameter `b_columns` instead of `b` reads a
//! column-major second matrix. A kernel with a parameter `workspace` communicates through one word per tile.
//!
//! The speed is 2 m n k floating-point operations divided by the time.
//!
//! # How it is checked
//! The comparison is exact, because nothing is rounded. The elements are odd multiples of 2^-12 in the first matrix and
//! of 2^-3 in the second, between -1 and 1. Products and their sums are thus multiples of 2^-15, and below 2^9 they are
//! exact in an f32. The signs are random: a sum of k products has a mean of 0 and a standard deviation below √k / 3. Up
//! to k = 9216, 16 standard deviations are less than 2^9. For larger k, elements have fewer bits, so that 16 standard
//! deviations still fit. Every order of summation that does not depend on the values therefore yields the same number,
//! regardless of how the sum is split and whether operations are fused. An element is right only if it equals that
//! number (-0 is 0). A product in TF32 or bfloat16 is wrong, because these formats round the first matrix's 12 bits.
//!
//! Up to 2^30 multiplications, the product is computed in double precision, which represents every sum exactly,
//! regardless of the signs. Beyond that, a weighted sum of each row is compared (Freivalds, *Probabilistic Machines Can
//! Use Less Running Time*, 1977). For the product C of A and B and weights x, C x and A (B x) are compared in units of
//! 2^-15 and modulo 2^64. An element that is not a multiple of 2^-15, or that is above 2^9, is always wrong. When a row
//! differs, all of its elements are computed, and the first wrong element is reported.
//!
//! A row whose errors are d, in units of 2^-15, passes if d · x = 0 modulo 2^64. The weights are odd, so a single wrong
//! element in a row is always found. The other 63 bits of a weight are random. Several wrong elements therefore pass
//! with a probability of at most 2^-(63 - v), where 2^v is the highest power of two that divides all of d. This
//! probability is 2^-63 if any error is odd. Errors are below 2^25, so v is at most 24, and a row with errors passes
//! with a probability of at most 2^-39. A wrong product passes only if all its wrong rows pass.

mod inputs;
mod reference;

use std::sync::OnceLock;

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::Options;
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict};
use engine::registry::{DeviceProperties, Effort, Ladder, Rung};
use kernels_gpu::matmul::sliced;
use ranks::{Combination, Divide, Piece, RankProblem, Share, Side};

use super::product::{self, Extent};
use inputs::Inputs;
use reference::{Method, Reference, WrongElement};

/// The indices of the buffers.
const A: usize = 0;
const B: usize = 1;
const B_COLUMNS: usize = 2;
const C: usize = 3;

const BLOCKS: &[[u32; 3]] = &[[16, 16, 1], [32, 32, 1], [128, 1, 1], [256, 1, 1]];

pub(super) const LADDER: Ladder = Ladder {
    name: "matmul",
    summary: "the product of two matrices of 32-bit floats, m × k and k × n",
    rungs: kernels_gpu::matmul::RUNGS,
    options: &[product::M, product::N, product::K],
    blocks: BLOCKS,
    block_rule: "16x16 or 32x32, the compiled tile sizes (a larger tile has more than 1024 threads), and 128 or 256 \
        for the rungs whose tile is not their block",
    sweep,
    problem: |options| Ok(divided(options)?),
    shown: product::SHOWN,
};

fn sweep(effort: Effort) -> Vec<Options> {
    let sides: &[u32] = effort.pick(&[1, 15, 16, 17, 32, 100, 257, 1024], &[1, 15, 16, 17, 32, 100, 257], &[1, 16, 33]);
    let product = sides.iter().flat_map(|&m| {
        let rows = sides.iter().map(move |&n| [m, n]);
        rows.flat_map(|[m, n]| sides.iter().map(move |&k| [m, n, k]))
    });
    let all = product::EDGES.iter().copied().chain(product);
    all.map(product::with).collect()
}

pub(super) fn divided(options: &Options) -> Result<Box<dyn Divide>, Error> {
    let sides = product::sides(&LADDER, options)?;
    Ok(Box::new(Matmul {
        n: sides[1],
        extent: Extent::whole(sides),
        inputs: OnceLock::new(),
        reference: OnceLock::new(),
    }))
}

struct Matmul {
    /// The number of columns of the product.
    n: usize,
    extent: Extent,
    inputs: OnceLock<Inputs>,
    reference: OnceLock<Reference>,
}

impl Matmul {
    /// Returns the sizes m, n and k.
    fn sides(&self) -> [usize; 3] {
        self.extent.sides(self.n)
    }

    /// Returns the problem of another part of the same product.
    fn with_extent(&self, extent: Extent) -> Box<Self> {
        let (inputs, reference) = Default::default();
        Box::new(Self { n: self.n, extent, inputs, reference })
    }

    fn inputs(&self) -> &Inputs {
        self.inputs.get_or_init(|| Inputs::of(self.n, &self.extent))
    }

    fn reference(&self) -> &Reference {
        let method = Method::of(self.sides());
        self.reference.get_or_init(|| Reference::new(method, self.inputs()))
    }

    /// Returns the number of words of the workspace: one for each tile of `matmul_sliced`.
    fn turns(&self) -> u64 {
        let [m, n, _] = self.sides();
        let tiles = m.div_ceil(sliced::ROWS as usize) * n.div_ceil(sliced::COLS as usize);
        tiles as u64
    }
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl Problem for Matmul {
    fn facts(&self) -> Facts {
        let [m, n, k] = self.sides().map(|side| side as u64);
        let flops = (2 * m * n).saturating_mul(k);
        Facts { flops: Some(flops), ..Facts::new(vec![m, n, k], (m * k + k * n + m * n) * 4) }
    }

    fn labels(&self) -> Labels {
        let size = product::size(self.sides());
        Labels { title: format!("{size}, f32"), column: format!("m = {}", self.sides()[0]), size }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        let [m, n, k] = self.sides().map(|side| side as u64);
        let elements = m * k + 2 * k * n + m * n;
        // The memory holds four square matrices, and copies from which three of them are restored.
        Some(product::square(elements / 7, share, 1))
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let [m, n, k] = self.sides().map(|side| side as u64);
        let buffer = |name, role, elements| Buffer::new(name, role, elements * 4);
        vec![
            buffer("a", Role::Input, m * k),
            buffer("b", Role::Input, k * n),
            buffer("b_columns", Role::Input, k * n),
            buffer("c", Role::Output, m * n),
            buffer("workspace", Role::Workspace, self.turns()),
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        let Inputs { a, b, .. } = self.inputs();
        match index {
            A => bytemuck::cast_slice(a),
            B | B_COLUMNS => bytemuck::cast_slice(&b[index - B]),
            _ => &[],
        }
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        let [m, n, k] = self.sides().map(|side| Arg::U32(side as u32));
        Some(match name {
            "m" => m,
            "n" => n,
            "k" => k,
            _ => return None,
        })
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let [m, n, _] = self.sides();
        Verdict::of_output(outputs, m * n, |found: &[f32]| {
            let WrongElement { at, right } = self.reference().first_wrong(self.inputs(), found)?;
            let which = format_args!("row {}, column {} of the product", at / n, at % n);
            let [shown, right] = [found[at], right].map(|value| format!("{value:e}"));
            Some(Verdict::wrong_element(which, &found[at], shown, right))
        })
    }
}

impl Divide for Matmul {
    fn share(&self, share: Share, side: Side) -> Result<RankProblem, String> {
        product::share(&self.extent, share, side, &[B, B_COLUMNS], |extent| self.with_extent(extent))
    }

    fn combination(&self, _: &Rung) -> Combination {
        product::combination(self.n, &self.extent)
    }

    fn piece(&self, _: &Rung, piece: Share) -> Result<Piece, String> {
        let extent = self.extent.share(piece, Side::Rows)?;
        let before = (extent.rows.start - self.extent.rows.start) as u64 * 4;
        let [_, n, k] = self.sides().map(|side| side as u64);
        Ok(Piece { problem: self.with_extent(extent), offsets: vec![(A, before * k), (C, before * n)] })
    }
}

#[cfg(test)]
mod tests;
