//! `cp.async`: from global to shared memory without a register between (PTX ISA §9.7.9.25.3).
//!
//! The copy is done when it is issued, which a GPU may do as well; `commit_group` and `wait_group` have
//! nothing left to do. A kernel that reads the bytes before it has waited for them gets no error here.

use super::access::{Shape, check};
use super::address::{Address, Region};
use super::storage::{AnyAllocation, Lanes, OneAllocation, Storage};
use super::{AccessFault, Env};
use crate::observe::{Access, AccessKind};
use crate::regs::{LANES, Pred, R32, lanes};
use crate::vectors::Portable;

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsyncCopy {
    /// The destination, in shared memory.
    pub to: Address,
    /// The source, in global memory.
    pub from: Address,
    /// How many bytes are written: 4, 8 or 16.
    pub bytes: u32,
    /// How many of them are read, all if `None`; the others become zero.
    pub read: Option<R32>,
    /// The predicate `ignore-src`, which turns the reading off, and whether it is negated.
    pub ignore: Option<(Pred, bool)>,
}

impl AsyncCopy {
    pub(super) fn execute(
        &self,
        env: &mut Env<'_, '_>,
        mask: u32,
        observe: &mut dyn FnMut(&Access<'_>),
    ) -> Result<(), AccessFault> {
        let (mut to, mut from) = ([0; LANES], [0; LANES]);
        self.to.lanes(&env.regs, &mut to);
        self.from.lanes(&env.regs, &mut from);
        let ignored = self.ignore.map_or(0, |(pred, negated)| {
            env.regs.pred(pred) ^ if negated { u32::MAX } else { 0 }
        });
        let lengths = self.read.map_or([self.bytes; LANES], |read| {
            env.regs.get32(read).map(|read| read.min(self.bytes))
        });
        let reads = lanes(mask & !ignored)
            .filter(|lane| lengths[*lane] > 0)
            .fold(0, |reads, lane| reads | 1u32 << lane);

        let shape = |write| Shape {
            bytes: self.bytes,
            kind: AccessKind::AsyncCopy,
            write,
            strong: true,
        };
        let lanes_of = |at, mask| Lanes::new::<Portable>(at, mask, self.bytes);
        check::<Portable>(env, Region::Shared, &lanes_of(&to, mask), shape(true))?;
        let mut values = [[0; 16]; LANES];
        if reads != 0 {
            let whole = lanes(reads).all(|lane| lengths[lane] == self.bytes);
            if whole {
                match check::<Portable>(env, Region::Global, &lanes_of(&from, reads), shape(false))?
                {
                    Some(found) => {
                        let memory = OneAllocation {
                            words: &found.words,
                            base: found.base,
                            strong: true,
                        };
                        self.fetch(&memory, &from, reads, &mut values);
                    }
                    None => self.fetch(&AnyAllocation(env.global), &from, reads, &mut values),
                }
            } else {
                // The bytes behind those that are read need not be allocated.
                self.check_parts(env, &from, reads, &lengths, shape(false))?;
                let memory = AnyAllocation(env.global);
                for lane in lanes(reads) {
                    for (at, byte) in values[lane][..lengths[lane] as usize]
                        .iter_mut()
                        .enumerate()
                    {
                        *byte = memory.get(lane, from[lane] + at as u64);
                    }
                }
            }
            observe(&shape(false).access(Region::Global, reads, &from));
        }
        observe(&shape(true).access(Region::Shared, mask, &to));
        for lane in lanes(mask) {
            let bytes = self.bytes as usize;
            env.shared.bytes_mut()[to[lane] as usize..][..bytes]
                .copy_from_slice(&values[lane][..bytes]);
        }
        Ok(())
    }

    fn fetch(
        &self,
        memory: &impl Storage,
        from: &[u64; LANES],
        mask: u32,
        values: &mut [[u8; 16]; LANES],
    ) {
        for lane in lanes(mask) {
            for (part, bytes) in values[lane][..self.bytes as usize]
                .chunks_exact_mut(4)
                .enumerate()
            {
                let word: u32 = memory.get(lane, from[lane] + part as u64 * 4);
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
    }

    /// Checks lanes that read fewer bytes than they write: the alignment is that of all bytes.
    fn check_parts(
        &self,
        env: &mut Env<'_, '_>,
        from: &[u64; LANES],
        mask: u32,
        lengths: &[u32; LANES],
        shape: Shape,
    ) -> Result<(), AccessFault> {
        for lane in lanes(mask) {
            let aligned = from[lane].is_multiple_of(u64::from(self.bytes));
            let inside = env.global.find(from[lane]).is_some_and(|found| {
                from[lane] - found.base + u64::from(lengths[lane]) <= found.bytes
            });
            if !aligned || !inside {
                let lane = Lanes::new::<Portable>(from, 1 << lane, self.bytes);
                check::<Portable>(env, Region::Global, &lane, shape)?;
            }
        }
        Ok(())
    }
}
