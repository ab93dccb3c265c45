//! The product of two matrices on tensor cores, in bfloat16, half precision or TF32, with f32 sums.
//!
//! C (m × n) is the product of A (m × k) and B (k × n). A and C are row-major, and B is row-major or column-major. The
//! elements of C have the type of A and B, or are f32. Kernels have the parameters `a`, `b`, `c`, `m`, `n` and `k`.
//! Kernels that copy with tensor maps have `a_map`, `b_map` and `c_map`. Blocks exchange partial sums through
//! `workspace` and `parts`. A rung that first copies the factors has `a_copy`, `b_copy`, `a_copy_map` and `b_copy_map`.
//!
//! A tensor map requires that the size of a row be a multiple of 16 bytes. Rungs that copy A or B with a tensor map
//! refuse other sizes and name a rung that accepts them. The rung that copies the factors gets maps of the copies. If
//! only the rows of C are unsuitable, rungs get A's map in place of C's.
//!
//! The speed is 2 m n k floating-point operations divided by the time.
//!
//! # How it is checked
//! The reference consists of sums in double precision, which represents every product exactly. Whatever the order of
//! addition, an f32 sum of k products has an error of at most (k + 1) u Σ|a b| (Higham, *Accuracy and Stability of
//! Numerical Algorithms*, 2nd edition, §3.1). Here u is 2^-23, because tensor cores truncate. The allowed range of an
//! element is the interval within this error of the reference, with both ends rounded like the output. The range thus
//! includes one rounding to the output's format, and overflow to infinity. An exact NaN requires a NaN (in 16 bits, the
//! NaN that conversions return), and an exact infinity requires the same infinity.
//!
//! Up to 2^30 multiplications, every element is compared. Beyond that, one element of each patch of 32 × 32 elements is
//! compared. In addition, the sum of each row's elements with random signs x is compared with A (B x), within the sum
//! of the elements' bounds (Freivalds, *Probabilistic Machines Can Use Less Running Time*, 1977). When a row differs,
//! all of its elements are computed, and the first wrong element is reported.
//!
//! Three kinds of data expose different faults:
//! - `uniform`: numbers from -1 to 1.
//! - `special`: in half of A's rows and half of B's columns, one element is NaN, an infinity, -0, a subnormal or the
//!   largest finite number.
//! - `exact`: elements with so few bits that no sum is rounded, as in the ladder `matmul`. An output is right only if
//!   it is the exact sum, rounded once (-0 counts as 0).

pub(super) mod formats;
mod inputs;
mod reference;
mod sweep;

use std::sync::OnceLock;

use engine::Error;
use engine::launch::{Arg, Launch, TensorMap};
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict};
use engine::registry::{DeviceProperties, Ladder, Rung};
use ranks::{Combination, Divide, Piece, RankProblem, Share, Side};

use super::product::{self, Extent};
use formats::{Format, NAN, TYPES};
use inputs::{DATA, Data, Inputs};
use reference::{Reference, WrongElement};

pub(super) const LADDER: Ladder = Ladder {
    name: "gemm",
    summary: "the product of two matrices of bfloat16, half precision or TF32, on tensor cores",
    rungs: kernels_gpu::gemm::RUNGS,
    options: &[
        product::M,
        product::N,
        product::K,
        Opt::word("type", "TYPE", TYPES, "The type of the elements"),
        Opt::word("out", "OUT", &["same", "f32"], "The type of the product: the type of the factors, or f32"),
        Opt::word("b", "B", &["rows", "columns"], "Whether the second matrix is row-major or column-major"),
        Opt::word("data", "DATA", DATA, "The elements: uniform from -1 to 1, partly special, or with exact sums"),
    ],
    blocks: &[[128, 1, 1], [256, 1, 1], [384, 1, 1]],
    block_rule: "the block that the rung is compiled for: 128, 256 or 384",
    sweep: sweep::sweep,
    problem: |options| Ok(divided(options)?),
    shown: product::SHOWN,
};

/// The indices of the problem's buffers.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
/// The indices of the copies of A and B.
const COPIES: [usize; 2] = [5, 6];

/// The number of workspace bytes per block.
const WORKSPACE_BYTES: u64 = 8 * 4;

/// The number of bytes for partial sums per block: a tile of 128 × 256.
const PART_BYTES: u64 = 128 * 256 * 4;

/// The limits of a tensor map: rows are multiples of `UNIT` bytes, and tiles have `TILE_ROWS` rows of `TILE_BYTES`
/// bytes.
const UNIT: u64 = 16;
const TILE_BYTES: u64 = 128;
const TILE_ROWS: u32 = 64;

pub(super) fn divided(options: &Options) -> Result<Box<dyn Divide>, Error> {
    Ok(Box::new(Gemm::new(options)?))
}

struct Gemm {
    /// The number of columns of the product.
    n: usize,
    extent: Extent,
    /// The format of A and B. `out` is the format of C.
    factor: Format,
    out: Format,
    b_in_columns: bool,
    data: Data,
    inputs: OnceLock<Inputs>,
    reference: OnceLock<Reference>,
}

impl Gemm {
    fn new(options: &Options) -> Result<Self, Error> {
        let factor = Format::named(options.text("type"));
        let out = match options.text("out") {
            "same" if factor != Format::Tf32 => factor,
            _ => Format::F32,
        };
        let sides = product::sides(&LADDER, options)?;
        Ok(Self {
            n: sides[1],
            extent: Extent::whole(sides),
            factor,
            out,
            b_in_columns: options.text("b") == "columns",
            data: Data::named(options.text("data")),
            inputs: OnceLock::new(),
            reference: OnceLock::new(),
        })
    }

    /// Returns the sizes m, n and k.
    fn sides(&self) -> [usize; 3] {
        self.extent.sides(self.n)
    }

    /// Returns the problem of another part of the same product.
    fn with_extent(&self, extent: Extent) -> Box<Self> {
        let (inputs, reference) = Default::default();
        Box::new(Self { extent, inputs, reference, ..*self })
    }

    fn inputs(&self) -> &Inputs {
        self.inputs.get_or_init(|| Inputs::of(self.n, &self.extent, self.factor, self.b_in_columns, self.data))
    }

    fn reference(&self) -> &Reference {
        self.reference.get_or_init(|| Reference::new(self.inputs(), self.out))
    }

    /// Returns a word for each option that differs from its default.
    fn words(&self) -> Vec<&'static str> {
        let factor = match self.factor {
            Format::Bf16 | Format::F32 => None,
            Format::F16 => Some("f16"),
            Format::Tf32 => Some("tf32"),
        };
        let out = (self.out == Format::F32 && self.factor != Format::Tf32).then_some("f32");
        let b = self.b_in_columns.then_some("columns");
        [factor, out, b].into_iter().flatten().collect()
    }

    /// Returns the name of the variant.
    fn variant(&self) -> String {
        self.words().join("_")
    }

    /// Returns the input whose rows (or columns, if it is column-major) have a size in bytes that the rung does not
    /// accept.
    fn unaligned_input(&self, rung: &Rung) -> Option<usize> {
        [A, B].into_iter().find(|buffer| !self.map(*buffer).pitch().is_multiple_of(rung.row_bytes))
    }

    /// Returns the map of a matrix.
    fn map(&self, buffer: usize) -> TensorMap {
        let [m, n, k] = self.sides().map(|side| side as u64);
        let (format, columns, rows) = match buffer {
            A => (self.factor, k, m),
            B if self.b_in_columns => (self.factor, k, n),
            B => (self.factor, n, k),
            _ => (self.out, n, m),
        };
        let tile = [(TILE_BYTES / format.bytes()) as u32, TILE_ROWS];
        TensorMap { buffer, begin: 0, element: format.in_tensors(), columns, rows, matrices: None, tile }
    }

    /// Returns the map of the copy of A or B. The rows of the copy are padded with zeros to a multiple of 16 bytes.
    /// Returns `None` if the matrix itself can have a map.
    fn map_of_copy(&self, buffer: usize) -> Option<TensorMap> {
        let map = self.map(buffer);
        let columns = map.columns.next_multiple_of(UNIT / self.factor.bytes());
        (columns > map.columns).then_some(TensorMap { buffer: COPIES[buffer], columns, ..map })
    }

    fn bytes_of(&self, buffer: usize) -> u64 {
        let map = self.map(buffer);
        map.pitch() * map.rows
    }
}

// SAFETY: every argument is a buffer, a tensor map of a buffer, or a count, and never an address.
unsafe impl Problem for Gemm {
    fn facts(&self) -> Facts {
        let [m, n, k] = self.sides().map(|side| side as u64);
        let bytes = [A, B, C].map(|buffer| self.bytes_of(buffer)).iter().sum();
        let flops = (2 * m * n).saturating_mul(k);
        Facts { variant: self.variant(), flops: Some(flops), ..Facts::new(vec![m, n, k], bytes) }
    }

    fn labels(&self) -> Labels {
        let kind = match self.data {
            Data::Uniform => String::new(),
            data => format!(", {} data", DATA[data as usize]),
        };
        let size = product::size(self.sides()) + &kind;
        let name = |format| match format {
            Format::Bf16 => "bf16",
            Format::F16 => "f16",
            Format::Tf32 => "tf32",
            Format::F32 => "f32",
        };
        let b = if self.b_in_columns { ", B column-major" } else { "" };
        let words = self.words();
        Labels {
            title: format!("{size}, {} to {}{b}", name(self.factor), name(self.out)),
            column: if words.is_empty() { "bf16".to_owned() } else { words.join(", ") },
            size,
        }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        // The memory holds three square matrices whose rows a tensor map can describe.
        let elements = self.facts().bytes / (2 * self.factor.bytes() + self.out.bytes());
        Some(product::square(elements, share, UNIT / 2))
    }

    fn refuses(&self, rung: &Rung) -> Option<String> {
        let buffer = self.unaligned_input(rung)?;
        let map = self.map(buffer);
        let (matrix, what, option) = match buffer {
            A => ("A", "row", "k"),
            _ if self.b_in_columns => ("B", "column", "k"),
            _ => ("B", "row", "n"),
        };
        let elements = rung.row_bytes / self.factor.bytes();
        let nearest = ((map.columns + elements / 2) / elements).max(1) * elements;
        let variant = self.variant();
        let other = LADDER.rungs.iter().rfind(|other| other.computes(&variant) && other.row_bytes == 1);
        let instead = other.map_or(String::new(), |other| format!(", or {}, which accepts any size", other.name));
        Some(format!(
            "a {what} of {matrix} has {} bytes, which is not a multiple of {}; use --{option} {nearest}{instead}",
            map.pitch(),
            rung.row_bytes
        ))
    }

    fn buffers(&self, device: DeviceProperties) -> Vec<Buffer> {
        let mut buffers = vec![
            Buffer::new("a", Role::Input, self.bytes_of(A)),
            Buffer::new("b", Role::Input, self.bytes_of(B)),
            Buffer::new("c", Role::Output, self.bytes_of(C)),
        ];
        let variant = self.variant();
        let accepts = |rung: &Rung| rung.computes(&variant) && self.unaligned_input(rung).is_none();
        let has = |parameter| LADDER.rungs.iter().any(|rung| accepts(rung) && rung.parameters.contains(&parameter));
        let (has_parts, has_copies) = (has("parts"), has("a_copy"));
        if has_parts || has_copies {
            // Rungs with workspaces launch at most one block per multiprocessor.
            let blocks = u64::from(device.multiprocessors);
            let copy = |buffer| self.map_of_copy(buffer).map_or(0, |map| map.pitch() * map.rows);
            buffers.extend([
                Buffer::new("workspace", Role::Workspace, blocks * WORKSPACE_BYTES),
                Buffer::new("parts", Role::Scratch, if has_parts { blocks * PART_BYTES } else { 0 }),
                Buffer::new("a_copy", Role::Scratch, copy(A)),
                Buffer::new("b_copy", Role::Scratch, copy(B)),
            ]);
        }
        buffers
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            A => self.inputs().a.bytes(),
            B => self.inputs().b.bytes(),
            _ => &[],
        }
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        let [m, n, k] = self.sides().map(|side| Arg::U32(side as u32));
        let copy = |buffer| self.map_of_copy(buffer).unwrap_or(self.map(buffer));
        Some(match name {
            "m" => m,
            "n" => n,
            "k" => k,
            "a_map" => Arg::TensorMap(self.map(A)),
            "b_map" => Arg::TensorMap(self.map(B)),
            // If C has no map, the kernel does not use this argument.
            "c_map" if self.map(C).pitch().is_multiple_of(UNIT) => Arg::TensorMap(self.map(C)),
            "c_map" => Arg::TensorMap(copy(A)),
            "a_copy_map" => Arg::TensorMap(copy(A)),
            "b_copy_map" => Arg::TensorMap(copy(B)),
            _ => return None,
        })
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let [m, n, _] = self.sides();
        match self.out {
            Format::F32 | Format::Tf32 => Verdict::of_output(outputs, m * n, |found: &[f32]| {
                let wrong = self.reference().first_wrong(self.inputs(), &|at| found[at])?;
                Some(verdict(&wrong, n, &found[wrong.at], found[wrong.at]))
            }),
            out => Verdict::of_output(outputs, m * n, |found: &[u16]| {
                let value = |at: usize| out.decode(found[at]);
                let wrong = self.reference().first_wrong(self.inputs(), &value);
                let wrong = wrong.map(|wrong| verdict(&wrong, n, &found[wrong.at], value(wrong.at)));
                wrong.or_else(|| {
                    let at = (0..found.len()).find(|&at| value(at).is_nan() && found[at] != NAN)?;
                    let right = format_args!("the NaN {NAN:#x}");
                    Some(Verdict::wrong_element(place(at, n), &found[at], format_args!("{:#x}", found[at]), right))
                })
            }),
        }
    }
}

impl Divide for Gemm {
    fn share(&self, share: Share, side: Side) -> Result<RankProblem, String> {
        if side == Side::K && self.out != Format::F32 {
            return Err("each part of k gives a partial product, which 16 bits would round; use --out f32".to_owned());
        }
        product::share(&self.extent, share, side, &[B], |extent| self.with_extent(extent))
    }

    fn combination(&self, _: &Rung) -> Combination {
        product::combination(self.n, &self.extent)
    }

    fn piece(&self, _: &Rung, piece: Share) -> Result<Piece, String> {
        let extent = self.extent.share(piece, Side::Rows)?;
        let before = (extent.rows.start - self.extent.rows.start) as u64;
        let offsets = [A, C].map(|buffer| (buffer, before * self.map(buffer).pitch())).to_vec();
        Ok(Piece { problem: self.with_extent(extent), offsets })
    }
}

/// Returns the verdict on a wrong element of a product that has `n` columns, from the element's bytes and value.
fn verdict<T: bytemuck::NoUninit>(wrong: &WrongElement, n: usize, found: &T, value: f32) -> Verdict {
    match wrong.right {
        Some(right) => Verdict::wrong_element(place(wrong.at, n), found, format_args!("{value:e}"), right),
        None => Verdict::Wrong(format!(
            "row {} of the product is wrong: a signed sum of its elements exceeds the error bound",
            wrong.at / n
        )),
    }
}

/// Describes the position of an element in a product that has `n` columns.
fn place(at: usize, n: usize) -> String {
    format!("row {}, column {} of the product", at / n, at % n)
}

#[cfg(test)]
mod tests;
