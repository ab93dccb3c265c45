//! `wgmma.mma_async`: products of four warps together, whose operands lie in shared memory (PTX ISA §9.7.15).
//!
//! Each warp forms the 16 rows that it holds.

use std::ops::Range;

use super::layout::Fragment;
use super::multiply::{AddProduct, Product};
use super::number::Element;
use super::sparse::Metadata;
use crate::memory::{AccessFault, Accessed, Env, Place};
use crate::observe::Issue;
use crate::regs::{ALL, Pred, R64};

/// `wgmma.mma_async`
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMultiply {
    /// The product of one warp.
    pub product: Product,
    /// A.
    pub a: Operand,
    /// B, which lies in shared memory.
    pub b: SharedOperand,
    /// The accumulator, which gets the sums.
    pub d: Fragment,
    /// Whether the accumulator is added, where the predicate (or its opposite, if negated) holds.
    pub scale_d: (Pred, bool),
    /// Whether A's and B's elements change their sign.
    pub negated: [bool; 2],
    /// Which elements of a sparse A are there.
    pub sparse: Option<Metadata>,
}

/// The A of a product.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// In registers.
    Registers(Fragment),
    /// In shared memory.
    Shared(SharedOperand),
}

/// A matrix in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedOperand {
    /// The register of the matrix descriptor.
    pub descriptor: R64,
    /// Whether the elements along the sum lie behind each other; else those of a row of A or a column of B do not.
    pub transposed: bool,
}

/// Bytes of a row of an operand; the B of a sparse A has twice as many.
const ROW: usize = 32;

/// Bytes that lie together however the matrix does.
const CHUNK: u64 = 16;

/// A matrix descriptor (PTX ISA §9.7.15.5.1.2.2).
#[derive(Debug, Clone, Copy)]
struct Descriptor {
    start: u64,
    /// The leading dimension's byte offset.
    leading: u64,
    /// The stride dimension's.
    stride: u64,
    /// Rows of 128 bytes that the swizzle's pattern begins behind its usual place.
    base: u64,
    /// Bytes of a row of the swizzle's pattern; 16 without one.
    width: u64,
}

impl Descriptor {
    fn new(bits: u64) -> Self {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: bits >> 49 & 7,
            width: [16, 128, 64, 32][(bits >> 62) as usize],
        }
    }

    /// The address of byte `column` of row `row`; of a `transposed` matrix, of two bytes.
    fn address(&self, row: u64, column: u64, transposed: bool) -> u64 {
        let Self { width, .. } = *self;
        // Lines of `width` bytes, of which eight are a block.
        let (line, along) = match transposed {
            false => (row, column),
            true => (column / 2, row * 2),
        };
        let (chunk, block) = match (width, transposed) {
            (16, true) => (self.stride, self.leading),
            _ => (self.leading, self.stride),
        };
        let at = self.start + line % 8 * width + line / 8 * block + along / width * chunk + along % width;
        // A pattern of so many lines of 128 bytes exchanges chunks of 16.
        let pattern = (at >> 7).wrapping_sub(self.base) & (width / 16 - 1);
        at ^ pattern << 4
    }
}

impl SharedOperand {
    /// The elements of rows of so many bytes.
    fn fetch(
        self,
        env: &mut Env<'_, '_>,
        element: Element,
        rows: Range<usize>,
        row_bytes: usize,
    ) -> Accessed<Vec<u64>> {
        let bits = env.regs.get64(self.descriptor)[0];
        let descriptor = Descriptor::new(bits);
        let space_bytes = env.shared.len();
        let size = (element.bits() / 8) as usize;
        let (first, columns) = (rows.start, row_bytes / size);
        let mut elements = vec![0; rows.len() * columns];
        // What is read of shared memory, where somebody watches.
        let mut chunks = Vec::new();
        // Elements of a chunk lie behind each other in a row, or one below the other in a column.
        let each = CHUNK as usize / size;
        let [down, along] = if self.transposed { [each, 1] } else { [1, each] };
        let address =
            |row: usize, column: usize| descriptor.address(row as u64, (column * size) as u64, self.transposed);
        for row in rows.clone().step_by(down) {
            for column in (0..columns).step_by(along) {
                let begin = address(row, column);
                if begin + CHUNK > space_bytes {
                    let all = rows.flat_map(|row| (0..columns).map(move |column| (row, column)));
                    let mut addresses = all.map(|(row, column)| address(row, column));
                    let at = addresses.find(|at| at + size as u64 > space_bytes).unwrap_or(begin);
                    let past = (at + size as u64).min(at.max(space_bytes)) - space_bytes;
                    let words = format!(
                        "matrix descriptor {bits:#x}: out of bounds read of {size} bytes at {at:#x}, {past} bytes past \
                         the end of the block's shared memory of {space_bytes} bytes"
                    );
                    return Err(AccessFault::in_words(0, 0, words));
                }
                if env.cluster.watched {
                    chunks.push(begin / CHUNK);
                }
                let chunk = &env.shared.bytes_mut()[begin as usize..][..CHUNK as usize];
                if *chunk == [0; CHUNK as usize] {
                    continue;
                }
                for (i, bytes) in chunk.chunks_exact(size).enumerate() {
                    let [row, column] = if self.transposed { [row + i, column] } else { [row, column + i] };
                    let mut word = [0; 8];
                    word[..size].copy_from_slice(bytes);
                    elements[(row - first) * columns + column] = u64::from_le_bytes(word);
                }
            }
        }
        chunks.sort_unstable();
        chunks.dedup();
        let rank = env.cluster.rank;
        let reads = chunks.chunk_by(|one, next| one + 1 == *next).map(|own| Issue {
            lane: 0,
            from: Some(Place::Shared(rank, own[0] * CHUNK)),
            to: None,
            bytes: (own.len() as u64 * CHUNK) as u32,
            mbarrier: None,
            tensor: None,
        });
        env.cluster.issued.extend(reads);
        Ok(elements)
    }
}

impl GroupMultiply {
    pub(super) fn execute(&self, env: &mut Env<'_, '_>, warp: u32, add_product: AddProduct) -> Accessed {
        let Product { m, n, k, .. } = self.product;
        let mut a = match &self.a {
            Operand::Registers(fragment) => {
                let mut a = vec![0; m * k];
                fragment.gather(&env.regs, &mut a);
                a
            }
            Operand::Shared(operand) => {
                let first = warp as usize % 4 * m;
                operand.fetch(env, self.product.a, first..first + m, ROW)?
            }
        };
        let chosen = self.sparse.as_ref().map(|metadata| metadata.columns(&env.regs, m, k));
        let row_bytes = if chosen.is_some() { 2 * ROW } else { ROW };
        let mut b = self.b.fetch(env, self.product.b, 0..n, row_bytes)?;
        let (first, warps) = (warp / 4 * 4, env.cluster.block_warps());
        if first + 4 > warps {
            let there = warps - first;
            let words = format!("a product of a warp group, of which {there} of 4 warps are there");
            return Err(AccessFault::in_words(0, 0, words));
        }
        let signs = [(&mut a, self.product.a), (&mut b, self.product.b)];
        for ((elements, element), negated) in signs.into_iter().zip(self.negated) {
            for bits in elements.iter_mut().filter(|_| negated) {
                *bits ^= 1 << (element.bits() - 1);
            }
        }
        let mut sums = vec![0; m * n];
        let (pred, negated) = self.scale_d;
        if env.regs.pred(pred) ^ if negated { ALL } else { 0 } != 0 {
            self.d.gather(&env.regs, &mut sums);
        }
        add_product(&self.product, &a, &b, &mut sums, chosen.as_deref());
        self.d.scatter(&mut env.regs, &sums);
        Ok(())
    }
}
