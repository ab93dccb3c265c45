//! `wgmma.mma_async`: products of a warp group (four warps), with operands in shared memory (PTX ISA §9.7.15).
//!
//! Each warp computes the 16 rows that it holds.

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
    /// The operand A.
    pub a: Operand,
    /// The operand B, which is in shared memory.
    pub b: SharedOperand,
    /// The accumulator, whose registers also receive the sums.
    pub d: Fragment,
    /// The predicate that enables adding the accumulator, and whether the predicate is negated.
    pub scale_d: (Pred, bool),
    /// Whether the elements of A and of B are negated.
    pub negated: [bool; 2],
    /// The positions of the stored elements of a sparse A.
    pub sparse: Option<Metadata>,
}

/// The operand A of a product.
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
    /// Whether the matrix is transposed in memory. If not, the elements of a row of A or a column of B are contiguous.
    pub transposed: bool,
}

/// The number of bytes per row of an operand. If A is sparse, rows of B are twice this size.
const ROW: usize = 32;

/// The number of bytes that are contiguous in every layout.
const CHUNK: u64 = 16;

/// A matrix descriptor (PTX ISA §9.7.15.5.1.2.2).
#[derive(Debug, Clone, Copy)]
struct Descriptor {
    start: u64,
    /// The leading dimension's byte offset.
    leading: u64,
    /// The stride dimension's byte offset.
    stride: u64,
    /// The offset of the swizzle pattern's start, in 128-byte rows.
    base: u64,
    /// The number of bytes per row of the swizzle pattern; 16 without swizzling.
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

    /// Returns the address of byte `column` of row `row`. In a `transposed` matrix, each element occupies two bytes.
    fn address(&self, row: u64, column: u64, transposed: bool) -> u64 {
        let Self { width, .. } = *self;
        // Eight lines of `width` bytes form a block.
        let (line, position) = match transposed {
            false => (row, column),
            true => (column / 2, row * 2),
        };
        let (chunk, block) = match (width, transposed) {
            (16, true) => (self.stride, self.leading),
            _ => (self.leading, self.stride),
        };
        let at = self.start + line % 8 * width + line / 8 * block + position / width * chunk + position % width;
        // The swizzle pattern spans `width / 16` 128-byte lines and permutes their 16-byte chunks.
        let pattern = (at >> 7).wrapping_sub(self.base) & (width / 16 - 1);
        at ^ pattern << 4
    }
}

impl SharedOperand {
    /// Returns the elements of `rows`, each `row_bytes` bytes long.
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
        // The chunks that were read from shared memory; they are recorded only for an observer.
        let mut chunks = Vec::new();
        // A chunk holds consecutive elements of a row, or of a column if the matrix is transposed.
        let each = CHUNK as usize / size;
        let [row_step, column_step] = if self.transposed { [each, 1] } else { [1, each] };
        let address =
            |row: usize, column: usize| descriptor.address(row as u64, (column * size) as u64, self.transposed);
        for row in rows.clone().step_by(row_step) {
            for column in (0..columns).step_by(column_step) {
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
        let reads = chunks.chunk_by(|one, next| one + 1 == *next).map(|run| Issue {
            lane: 0,
            from: Some(Place::Shared(rank, run[0] * CHUNK)),
            to: None,
            bytes: (run.len() as u64 * CHUNK) as u32,
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
            let present = warps - first;
            let words = format!("a warp-group product with only {present} of 4 warps");
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
