//! `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async` and `red.async` (PTX ISA §9.7.9.27). Each lane's copy is checked
//! when it is issued; the copy is performed later.

use super::address::Address;
use super::atomic::Atomic;
use super::cluster::{Place, Reach};
use super::in_flight::{Group, Job, Piece, Signal, Source};
use super::{AccessFault, Accessed, Region};
use crate::observe::Issue;
use crate::regs::{R32, Reg, lanes};

/// A bulk copy, bulk reduction, or asynchronous store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulk {
    /// The destination.
    pub to: Address,
    /// The source.
    pub from: BulkSource,
    /// The reduction with the old value of the destination; `None` if the copy replaces the old value.
    pub reduce: Option<Atomic>,
    /// The destination blocks and the mbarrier that signals completion.
    pub recipients: Recipients,
}

/// The destination blocks of a copy, and the mbarrier that signals its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipients {
    /// The mbarrier that counts the completed bytes; without an mbarrier, the copy belongs to a group.
    pub mbarrier: Option<Address>,
    /// `.multicast::cluster`: the ranks of the destination blocks.
    pub multicast: Option<R32>,
}

/// The source of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkSource {
    /// Memory, and the register that holds the number of bytes.
    Memory(Address, R32),
    /// Registers, and the number of bytes that each register holds.
    Registers(Box<[Reg]>, u32),
}

impl Bulk {
    pub(super) fn execute(&self, reach: &mut Reach<'_, '_, '_>, mask: u32) -> Accessed {
        for lane in lanes(mask) {
            let to = reach.place(&self.to, lane);
            let mut pieces = Vec::new();
            match &self.from {
                BulkSource::Memory(from, bytes) => {
                    let bytes = reach.regs.get32(*bytes)[lane];
                    if !bytes.is_multiple_of(16) {
                        let words = format!("bulk copy of {bytes} bytes; the size must be a multiple of 16");
                        return Err(reach.refuse(lane, words));
                    }
                    let from = reach.place(from, lane);
                    reach.check(lane, from, u64::from(bytes), 16, false)?;
                    pieces.push(Piece { lane: lane as u8, bytes, from: Source::Memory(from), to });
                }
                BulkSource::Registers(registers, bytes) => {
                    for (index, register) in registers.iter().enumerate() {
                        pieces.push(Piece {
                            lane: lane as u8,
                            bytes: *bytes,
                            from: Source::Value(reach.regs.lane(*register, lane)),
                            to: to.offset_by(index as u64 * u64::from(*bytes)),
                        });
                    }
                }
            }
            let align = match &self.from {
                BulkSource::Memory(..) => 16,
                BulkSource::Registers(all, bytes) => u64::from(*bytes) * all.len() as u64,
            };
            reach.issue(lane, align, pieces, self.reduce.as_ref(), &self.recipients)?;
        }
        Ok(())
    }
}

impl Reach<'_, '_, '_> {
    /// Issues a lane's copy, which consists of several pieces whose sources have been checked.
    pub(super) fn issue(
        &mut self,
        lane: usize,
        align: u64,
        mut pieces: Vec<Piece>,
        reduce: Option<&Atomic>,
        Recipients { mbarrier, multicast }: &Recipients,
    ) -> Accessed {
        let mut objects = Vec::from_iter(mbarrier.as_ref().map(|mbarrier| self.object(mbarrier, lane)).transpose()?);
        let bytes = pieces.iter().map(|piece| piece.bytes).sum();
        if let Some(ranks) = multicast.map(|ranks| self.regs.get32(ranks)[lane]) {
            // The offset of the data is the same in every destination block, and so is the offset of the mbarrier.
            let all = || (0..32).filter(|rank| ranks >> rank & 1 != 0);
            let copies = all().flat_map(|rank| {
                pieces.iter().map(move |piece| Piece { to: Place::Shared(rank, piece.to.at()), ..*piece })
            });
            pieces = copies.collect();
            let at = objects.first().map_or(0, |object| object.1);
            objects = all().map(|rank| (rank, at)).collect();
        }
        for (index, piece) in pieces.iter().enumerate() {
            let align = if index == 0 { align } else { 1 };
            self.check(lane, piece.to, u64::from(piece.bytes), align, true)?;
        }
        for (rank, at) in &objects {
            self.check(lane, Place::Shared(*rank, *at), 8, 8, true)?;
            let checked = self.cluster.check_initialized((*rank, *at));
            checked.map_err(|words| AccessFault::of_synchronization(lane, words))?;
        }
        if self.cluster.watched {
            self.cluster.issued.extend(pieces.iter().map(|piece| {
                let there = |object: &&(u32, u64)| matches!(piece.to, Place::Shared(rank, _) if rank == object.0);
                let from = match piece.from {
                    Source::Memory(place) => Some(place),
                    Source::Value(_) => None,
                };
                let mbarrier = objects.iter().find(there).or(objects.first()).copied();
                Issue { lane: lane as u32, from, to: Some(piece.to), bytes: piece.bytes, mbarrier, tensor: None }
            }));
        }
        let signals = objects.into_iter().map(|(rank, at)| Signal { lane: lane as u8, rank, at, bytes: Some(bytes) });
        let group = match mbarrier {
            Some(_) => Group::None,
            None => Group::Bulk,
        };
        self.cluster.issue(Job {
            pieces,
            signals: signals.collect(),
            reduce: reduce.cloned(),
            ..Job::new(1 << lane, group)
        });
        Ok(())
    }
}

/// Returns the address operand that [reductions](Atomic) of pieces use: a register that holds an address in the space
/// of the destination.
pub(crate) fn reduced_address(region: Region) -> Address {
    Address { base: Reg::R64(crate::regs::R64(1)), offset: 0, region, fixed: false }
}
