//! `cp.async`: copies from global to shared memory that bypass the registers (PTX ISA §9.7.9.25.3).
//!
//! The addresses are checked and the instruction is counted when it is issued; the copy is performed later.

use super::access::{Shape, check};
use super::address::{Address, Region};
use super::cluster::Place;
use super::in_flight::{Group, Job, Piece, Source};
use super::storage::Lanes;
use super::{Accessed, Env, Observe};
use crate::observe::AccessKind;
use crate::regs::{LANES, Pred, R32, lanes};
use crate::vectors::Portable;
use ptx::ast::Space;

/// A `cp.async` instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsyncCopy {
    /// The destination, in shared memory.
    pub to: Address,
    /// The source, in global memory.
    pub from: Address,
    /// The number of bytes written: 4, 8 or 16.
    pub bytes: u32,
    /// The number of bytes read, or `None` for all bytes. The bytes that are written but not read become zero.
    pub read: Option<R32>,
    /// The predicate `ignore-src`, which disables reading, and whether it is negated.
    pub ignore: Option<(Pred, bool)>,
}

impl AsyncCopy {
    pub(super) fn execute(&self, env: &mut Env<'_, '_>, mask: u32, observe: &mut Observe<'_>) -> Accessed {
        let [to, from] = [self.to, self.from].map(|address| address.of_lanes(&env.regs));
        let ignored = self.ignore.map_or(0, |(pred, negated)| env.regs.pred(pred) ^ if negated { u32::MAX } else { 0 });
        let lengths =
            self.read.map_or([self.bytes; LANES], |read| env.regs.get32(read).map(|read| read.min(self.bytes)));
        let reads =
            lanes(mask & !ignored).filter(|lane| lengths[*lane] > 0).fold(0, |reads, lane| reads | 1u32 << lane);

        let shape = |write| Shape { bytes: self.bytes, kind: AccessKind::AsyncCopy, write, strong: true };
        let lanes_of = |at, mask| Lanes::new(Portable, at, mask, self.bytes);
        check(Portable, env, Region::Shared, &lanes_of(&to, mask), shape(true))?;
        if reads != 0 {
            match lanes(reads).all(|lane| lengths[lane] == self.bytes) {
                true => {
                    check(Portable, env, Region::Global, &lanes_of(&from, reads), shape(false))?;
                }
                // Only the bytes that are read have to be allocated.
                false => lanes(reads).try_for_each(|lane| {
                    let (place, bytes) = (Place::Global(from[lane]), lengths[lane].into());
                    let checked = env.cluster.check(env.global, place, bytes, self.bytes.into());
                    checked.map_err(|what| shape(false).fault(lane, from[lane], what, (Space::Global, 0)))
                })?,
            }
            observe(&shape(false).access(Region::Global, reads, &from, None));
        }
        observe(&shape(true).access(Region::Shared, mask, &to, None));
        let rank = env.cluster.rank;
        let mut pieces = env.cluster.in_flight.pieces();
        for lane in lanes(mask) {
            let read = if reads >> lane & 1 == 0 { 0 } else { lengths[lane] };
            let to = Place::Shared(rank, to[lane]);
            let piece = |bytes, from, to| Piece { lane: lane as u8, bytes, from, to };
            if read > 0 {
                pieces.push(piece(read, Source::Memory(Place::Global(from[lane])), to));
            }
            if read < self.bytes {
                let to = to.offset_by(u64::from(read));
                pieces.push(piece(self.bytes - read, Source::Value(0), to));
            }
        }
        env.cluster.issue(Job { pieces, ..Job::new(mask, Group::Copies) });
        Ok(())
    }
}
