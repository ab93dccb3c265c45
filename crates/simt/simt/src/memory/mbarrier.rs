//! `mbarrier`: barriers that are objects in shared memory and count arrivals and bytes (PTX ISA §9.7.13.15).
//!
//! The bits of an object are opaque to programs. In the simulator they are, from the lowest:
//! - 20 bits for the expected arrivals of a phase,
//! - 20 bits for the pending arrivals,
//! - 21 bits for the pending bytes (signed),
//! - 1 bit for the phase's parity,
//! - 2 bits for a tag that distinguishes an object from other bytes.

use super::address::Address;
use super::cluster::{Cluster, Place, Reach};
use super::in_flight::{Group, Job, Signal};
use super::storage::Storage;
use super::{AccessFault, Accessed};
use crate::observe::{MbarrierEvent, MbarrierUse};
use crate::regs::{LANES, Pred, R32, R64, lanes};

/// The largest number of arrivals, and the largest number of bytes, that an object can count.
const MOST: u32 = (1 << 20) - 1;
/// The tag bits of every object.
const TAG: u64 = 0b10 << 62;
/// The mask of the tag bits.
const TAG_BITS: u64 = 0b11 << 62;

/// Returns `word` with its tag changed, if necessary, so that it is not a valid mbarrier.
pub(super) fn not_an_object(word: u64) -> u64 {
    if word & TAG_BITS == TAG { word | TAG_BITS } else { word }
}

/// An `mbarrier` instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mbarrier {
    /// The address of the object.
    pub address: Address,
    /// The operation on the object.
    pub op: MbarrierOp,
    /// Whether the instruction is `.relaxed`, so that it does not order other accesses.
    pub relaxed: bool,
}

/// An operation on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the instruction's operands")]
pub enum MbarrierOp {
    Init {
        count: R32,
    },
    Inval,
    ExpectTx {
        bytes: R32,
    },
    CompleteTx {
        bytes: R32,
    },
    /// `arrive`, `arrive_drop`; the default count is 1.
    Arrive {
        to: Option<R64>,
        count: Option<R32>,
        /// `.expect_tx`
        bytes: Option<R32>,
        drop: bool,
        /// Whether the instruction lacks `.noComplete`.
        complete: bool,
    },
    /// `test_wait`, `try_wait`
    Wait {
        to: Pred,
        phase: Phase,
    },
    /// `cp.async.mbarrier.arrive`
    CopiesArrive {
        noinc: bool,
    },
}

/// The phase to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The phase in which `arrive` returned this state.
    State(R64),
    /// The previous or the current phase, whichever has this parity.
    Parity(R32),
}

/// The state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    expected: u32,
    pending: u32,
    bytes: i32,
    parity: u32,
}

impl State {
    fn of(bits: u64) -> Option<Self> {
        let field = |at: u32| (bits >> at) as u32 & MOST;
        let state = Self {
            expected: field(0),
            pending: field(20),
            bytes: ((bits >> 40 << 11) as i32) >> 11,
            parity: (bits >> 61) as u32 & 1,
        };
        let is_object = bits >> 62 == TAG >> 62 && state.expected.max(state.pending) > 0;
        is_object.then_some(state)
    }

    fn bits(self) -> u64 {
        let bytes = u64::from(self.bytes.cast_unsigned() & ((1 << 21) - 1));
        TAG | u64::from(self.expected) | u64::from(self.pending) << 20 | bytes << 40 | u64::from(self.parity) << 61
    }

    /// Ends the phase if no arrivals or bytes are pending.
    fn end_phase(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.parity ^= 1;
            self.pending = self.expected;
        }
    }

    fn add_bytes(&mut self, bytes: i64) -> Result<(), String> {
        let sum = i64::from(self.bytes) + bytes;
        if sum.unsigned_abs() > u64::from(MOST) {
            return Err(format!("{sum} bytes would be pending; the limit is {MOST}"));
        }
        self.bytes = sum as i32;
        Ok(())
    }

    fn complete(&mut self, bytes: u32) -> Result<(), String> {
        self.add_bytes(-i64::from(bytes))?;
        self.end_phase();
        Ok(())
    }

    fn arrive(&mut self, count: u32) -> Result<(), String> {
        if count == 0 || count > self.pending {
            let Self { pending, expected, .. } = self;
            let words =
                "initialize the mbarrier with the number of arrivals per phase, or let threads wait for the phase";
            return Err(format!("{count} arrivals, but its phase waits for {pending} more of {expected}; {words}"));
        }
        self.pending -= count;
        self.end_phase();
        Ok(())
    }
}

/// Returns the number of pending arrivals in a state (`mbarrier.pending_count`).
pub(super) fn pending_count(state: u64) -> u32 {
    (state >> 20) as u32 & MOST
}

impl Cluster {
    /// Applies `change` to an object.
    fn change<T>(
        &mut self,
        (rank, at): (u32, u64),
        change: impl FnOnce(&mut State) -> Result<T, String>,
    ) -> Result<T, String> {
        let whose = |words: String| format!("mbarrier at {at:#x} of shared memory: {words}");
        let state = State::of(self.shared[rank as usize].get(0, at));
        let mut state = state.ok_or_else(|| {
            whose("it is not initialized; let all threads wait until mbarrier.init is done".to_owned())
        })?;
        let before = state;
        let result = change(&mut state).map_err(whose)?;
        if state.parity != before.parity {
            self.record(rank, at, 0, MbarrierUse::PhaseEnds);
        }
        if state != before {
            let memory = &mut self.shared[rank as usize];
            memory.set(0, at, state.bits());
            self.in_flight.changes += 1;
        }
        Ok(result)
    }

    /// Records an event of an object, if an observer requests mbarrier events.
    fn record(&mut self, rank: u32, at: u64, lanes: u32, what: MbarrierUse) {
        if self.watched {
            self.mbarrier_events.push(MbarrierEvent { rank, at, what, lanes });
        }
    }

    /// Checks that a word is an object.
    pub(super) fn check_initialized(&mut self, object: (u32, u64)) -> Result<(), String> {
        self.change(object, |_| Ok(()))
    }

    /// Signals to an object that an asynchronous operation has completed.
    pub(super) fn signal(&mut self, signal: &Signal) -> Result<(), String> {
        if self.exited >> signal.rank & 1 != 0 {
            return Err("an asynchronous operation completes after the block of its mbarrier has exited".to_owned());
        }
        self.change((signal.rank, signal.at), |state| match signal.bytes {
            None => state.arrive(1),
            Some(bytes) => state.complete(bytes),
        })
    }

    /// Describes what a warp waits for, if it waits for an object.
    pub(crate) fn awaited(&self, warp: usize) -> Option<String> {
        let (rank, at) = self.in_flight.awaited[warp]?;
        let state = State::of(self.shared[rank as usize].get(0, at))?;
        let State { expected, pending, bytes, parity } = state;
        Some(format!(
            "waits for the mbarrier at {at:#x} of shared memory, whose phase of parity {parity} has {pending} of \
             {expected} arrivals and {bytes} bytes of transactions pending"
        ))
    }
}

impl Mbarrier {
    pub(super) fn execute(&self, reach: &mut Reach<'_, '_, '_>, mask: u32) -> Accessed {
        let mut done = 0;
        let mut signals = Vec::new();
        for lane in lanes(mask) {
            let (rank, at) = reach.object(&self.address, lane)?;
            reach.check(lane, Place::Shared(rank, at), 8, 8, true)?;
            let over = self.execute_lane(reach, lane, (rank, at))?;
            done |= u32::from(over) << lane;
            if reach.cluster.watched
                && let Some(what) = self.observed_use(over)
            {
                reach.cluster.record(rank, at, 1 << lane, what);
            }
            signals.push(Signal { lane: lane as u8, rank, at, bytes: None });
        }
        match &self.op {
            MbarrierOp::Wait { to, .. } => {
                reach.regs.set_pred(*to, mask, done);
                reach.cluster.in_flight.yields = done != mask;
            }
            MbarrierOp::CopiesArrive { .. } => reach.cluster.issue(Job { signals, ..Job::new(mask, Group::None) }),
            _ => {}
        }
        Ok(())
    }

    /// Returns the event for observers. For a wait, `over` states whether the phase was over.
    fn observed_use(&self, over: bool) -> Option<MbarrierUse> {
        match &self.op {
            MbarrierOp::Init { .. } => Some(MbarrierUse::Init),
            MbarrierOp::Inval => Some(MbarrierUse::Inval),
            MbarrierOp::Arrive { .. } => Some(MbarrierUse::Arrive),
            MbarrierOp::Wait { phase, .. } => {
                Some(MbarrierUse::Wait { over, by_parity: matches!(phase, Phase::Parity(_)) })
            }
            MbarrierOp::CopiesArrive { .. } => Some(MbarrierUse::CopiesArrive),
            MbarrierOp::ExpectTx { .. } | MbarrierOp::CompleteTx { .. } => Some(MbarrierUse::Bytes),
        }
    }

    /// Executes the instruction for one lane. Returns whether the requested phase is over.
    fn execute_lane(&self, reach: &mut Reach<'_, '_, '_>, lane: usize, object: (u32, u64)) -> Accessed<bool> {
        let value = |reg: R32| reach.regs.get32(reg)[lane];
        let (rank, at) = object;
        let cluster = &mut *reach.cluster;
        let mut over = false;
        let result = match &self.op {
            MbarrierOp::Init { count } => match value(*count) {
                count @ 1..=MOST => {
                    let state = State { expected: count, pending: count, bytes: 0, parity: 0 };
                    cluster.shared[rank as usize].set(lane, at, state.bits());
                    cluster.in_flight.changes += 1;
                    Ok(())
                }
                count => Err(format!("mbarrier of {count} arrivals; the number must be 1 to {MOST}")),
            },
            MbarrierOp::Inval => {
                let checked = cluster.check_initialized(object);
                cluster.shared[rank as usize].set(lane, at, 0u64);
                checked
            }
            MbarrierOp::ExpectTx { bytes } => {
                let bytes = value(*bytes);
                cluster.change(object, |state| state.add_bytes(bytes.into()))
            }
            MbarrierOp::CompleteTx { bytes } => {
                let bytes = value(*bytes);
                cluster.change(object, |state| state.complete(bytes))
            }
            MbarrierOp::Arrive { to, count, bytes, drop, complete } => {
                let (count, bytes) = (count.map_or(1, value), bytes.map_or(0, value));
                let arrived = cluster.change(object, |state| {
                    state.add_bytes(bytes.into())?;
                    if !complete && count >= state.pending {
                        return Err(format!("{count} arrivals with .noComplete would complete the phase"));
                    }
                    if *drop {
                        state.expected = state.expected.saturating_sub(count);
                    }
                    let before = *state;
                    state.arrive(count)?;
                    Ok(before.bits())
                });
                arrived.map(|before| {
                    if let Some(to) = to {
                        reach.regs.set64(*to, 1 << lane, &[before; LANES]);
                    }
                })
            }
            MbarrierOp::Wait { phase, .. } => {
                let parity = match phase {
                    Phase::State(state) => (reach.regs.get64(*state)[lane] >> 61) as u32 & 1,
                    Phase::Parity(parity) => value(*parity) & 1,
                };
                let done = cluster.finish_signals(reach.global, object);
                let current = done.and_then(|()| cluster.change(object, |state| Ok(state.parity)));
                current.map(|current| {
                    over = current != parity;
                    cluster.in_flight.awaited[cluster.warp as usize] = (!over).then_some(object);
                })
            }
            MbarrierOp::CopiesArrive { noinc } => cluster.change(object, |state| {
                state.pending += u32::from(!noinc);
                match state.pending > MOST {
                    true => Err(format!("more than {MOST} arrivals are pending")),
                    false => Ok(()),
                }
            }),
        };
        result.map(|()| over).map_err(|words| AccessFault::of_synchronization(lane, words))
    }
}
