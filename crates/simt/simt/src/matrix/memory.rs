//! Matrices in memory: `ldmatrix`, `stmatrix`, `wmma.load` and `wmma.store`; also `movmatrix`.

use super::layout::Fragment;
use crate::memory::access::{Shape, check};
use crate::memory::storage::{AnyAllocation, Lanes, Storage};
use crate::memory::{Accessed, Address, Env, Observe, Region};
use crate::observe::AccessKind;
use crate::regs::{ALL, LANES, Lanes32, Lanes64, R32, Reg, Regs};
use crate::vectors::Portable;

/// `ldmatrix`, `stmatrix`: matrices of eight 16-byte rows. Eight consecutive lanes hold the addresses of one matrix's
/// rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// The address.
    pub address: Address,
    /// Whether the matrices are written to memory.
    pub stores: bool,
    /// `.trans`
    pub transposed: bool,
    /// A register for each matrix.
    pub registers: Box<[R32]>,
}

/// A matrix of eight rows of eight elements.
type Small = [[u16; 8]; 8];

/// Returns the matrix in a register: each lane holds two elements of a row.
fn small_matrix(words: &Lanes32) -> Small {
    let mut rows = [[0; 8]; 8];
    for (lane, word) in words.iter().enumerate() {
        rows[lane / 4][lane % 4 * 2] = *word as u16;
        rows[lane / 4][lane % 4 * 2 + 1] = (*word >> 16) as u16;
    }
    rows
}

fn words(rows: &Small) -> Lanes32 {
    let element = |lane: usize, part: usize| u32::from(rows[lane / 4][lane % 4 * 2 + part]);
    std::array::from_fn(|lane| element(lane, 0) | element(lane, 1) << 16)
}

fn transposed(rows: &Small) -> Small {
    std::array::from_fn(|row| std::array::from_fn(|column| rows[column][row]))
}

impl Rows {
    const BYTES: u32 = 16;

    pub(super) fn execute(&self, env: &mut Env<'_, '_>, observe: &mut Observe<'_>) -> Accessed {
        let window = window(&self.address, Region::Shared);
        let at = self.address.of_lanes(&env.regs).map(|at| at.wrapping_sub(window));
        let mask = ALL >> (LANES - 8 * self.registers.len());
        let shape = shape(Self::BYTES, self.stores);
        check(Portable, env, Region::Shared, &Lanes::new(Portable, &at, mask, Self::BYTES), shape)
            .map_err(|fault| fault.shifted(window))?;
        observe(&shape.access(Region::Shared, mask, &at, None));
        for (register, at) in self.registers.iter().zip(at.chunks(8)) {
            let mut rows = match self.stores {
                true => small_matrix(env.regs.get32(*register)),
                false => std::array::from_fn(|row| {
                    let bytes = &env.shared.bytes_mut()[at[row] as usize..];
                    std::array::from_fn(|at| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]))
                }),
            };
            if self.transposed {
                rows = transposed(&rows);
            }
            if self.stores {
                for (row, at) in rows.iter().zip(at) {
                    for (element, to) in row.iter().zip(env.shared.bytes_mut()[*at as usize..].as_chunks_mut::<2>().0) {
                        *to = element.to_le_bytes();
                    }
                }
            } else {
                env.regs.set32(*register, ALL, &words(&rows));
            }
        }
        Ok(())
    }
}

/// Returns the offset of the address's window relative to addresses of `region`.
fn window(address: &Address, region: Region) -> u64 {
    match address.region {
        Region::Generic => region.window(),
        _ => 0,
    }
}

fn shape(bytes: u32, write: bool) -> Shape {
    Shape {
        bytes,
        kind: match write {
            true => AccessKind::Store,
            false => AccessKind::Load,
        },
        write,
        strong: false,
    }
}

/// `movmatrix`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transpose {
    /// The result.
    pub to: R32,
    /// The matrix.
    pub from: R32,
}

impl Transpose {
    pub(super) fn execute(&self, regs: &mut Regs<'_>) {
        let result = words(&transposed(&small_matrix(regs.get32(self.from))));
        regs.set32(self.to, ALL, &result);
    }
}

/// `wmma.load`, `wmma.store`: a matrix whose rows or columns are `stride` elements apart. All lanes have the same
/// address and stride.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// The address.
    pub address: Address,
    /// Whether the matrix is written to memory.
    pub stores: bool,
    /// The distance in elements between the starts of consecutive rows or columns in memory; `None` if the matrix is
    /// contiguous.
    pub stride: Option<R32>,
    /// The fragment. In this module, a row of the fragment is called a line.
    pub fragment: Fragment,
    /// The number of elements in a line of the fragment.
    pub columns: usize,
    /// The number of elements that are contiguous in memory, which is the default stride.
    pub consecutive: usize,
    /// The divisor of the stride: 32 for single bits, otherwise 1.
    pub elements: u32,
    /// Whether consecutive elements in memory belong to one line of the fragment.
    pub is_line_major: bool,
}

impl Tile {
    pub(super) fn execute(&self, env: &mut Env<'_, '_>, observe: &mut Observe<'_>) -> Accessed {
        let base = self.address.of_lanes(&env.regs);
        let region = match self.address.region {
            Region::Generic if Region::of(base[0]) == Region::Shared => Region::Shared,
            Region::Generic => Region::Global,
            region => region,
        };
        let window = window(&self.address, region);
        let default = [self.consecutive as u32; LANES];
        let stride = self.stride.map_or(&default, |stride| env.regs.get32(stride));
        let stride = *stride;
        let bits = u64::from(self.fragment.element.bits());
        let packed = self.fragment.packed();
        // The elements of a register that are consecutive in memory are accessed together.
        let joined = if self.is_line_major { packed } else { 1 };
        let bytes = (bits * joined as u64).div_ceil(8) as u32;
        let slots = self.fragment.places.chunks_exact(LANES).step_by(joined);
        let at = |place: u16, lane: usize| {
            let (line, column) = (usize::from(place) / self.columns, usize::from(place) % self.columns);
            let (line, column) = match self.is_line_major {
                true => (line, column),
                false => (column, line),
            };
            let stride = u64::from(stride[lane] / self.elements);
            let elements = stride.wrapping_mul(line as u64) + column as u64;
            base[lane].wrapping_sub(window).wrapping_add(elements.wrapping_mul(bits) / 8)
        };
        let addresses: Vec<Lanes64> = slots.map(|places| std::array::from_fn(|lane| at(places[lane], lane))).collect();
        let shape = shape(bytes, self.stores);
        for at in &addresses {
            let lanes = Lanes::new(Portable, at, ALL, bytes);
            check(Portable, env, region, &lanes, shape).map_err(|fault| fault.shifted(window))?;
        }
        for (slot, at) in addresses.iter().enumerate() {
            // Some fragments hold each element twice.
            if !addresses[..slot].contains(at) {
                observe(&shape.access(region, ALL, at, None));
            }
            let first = slot * joined;
            let register = self.fragment.registers[first / packed];
            let shift = (first % packed) as u32 * bits as u32;
            self.access(env, region, at, bytes, register, shift);
        }
        Ok(())
    }

    /// In all lanes, moves `bytes` bytes between memory and a register, from the register's bit `shift` on.
    fn access(&self, env: &mut Env<'_, '_>, region: Region, at: &Lanes64, bytes: u32, register: Reg, shift: u32) {
        let mask = u64::MAX >> (64 - 8 * bytes);
        for (lane, at) in at.iter().enumerate() {
            let register_bits = env.regs.lane(register, lane);
            if self.stores {
                let value = register_bits >> shift & mask;
                match region {
                    Region::Shared => env.shared.set_bytes(lane, *at, bytes, value),
                    _ => AnyAllocation(env.global).set_bytes(lane, *at, bytes, value),
                }
                continue;
            }
            let value = match region {
                Region::Shared => env.shared.get_bytes(lane, *at, bytes),
                _ => AnyAllocation(env.global).get_bytes(lane, *at, bytes),
            };
            env.regs.set_lane(register, lane, register_bits & !(mask << shift) | value << shift);
        }
    }
}
