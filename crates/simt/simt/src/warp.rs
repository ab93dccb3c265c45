//! Instructions that the lanes of a warp execute together: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`,
//! `bar.warp.sync` (PTX ISA §9.7.9.6, §9.7.13).
//!
//! An instruction waits until all live lanes that its `membermask` names have reached it. [`run`](crate::run)
//! implements this wait; this module implements the operation that follows.

use crate::observe::Mistake;
use crate::regs::{ALL, LANES, Lanes32, Lanes64, Pred, R32, Reg, Regs, lanes};

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields are the instruction's operands")]
pub enum Warp {
    Shuffle {
        mode: ShuffleMode,
        to: R32,
        found: Option<Pred>,
        value: R32,
        lane: R32,
        clamp: R32,
        mask: R32,
    },
    Vote {
        mode: VoteMode,
        to: Reg,
        value: Pred,
        negated: bool,
        mask: R32,
    },
    Match {
        value: Reg,
        to: R32,
        /// For `.all`: the predicate, if any, that receives whether all lanes have the same value.
        all: Option<Option<Pred>>,
        mask: R32,
    },
    Reduce {
        op: ReduxOp,
        to: R32,
        value: R32,
        mask: R32,
    },
    ActiveMask {
        to: R32,
    },
    Elect {
        to: R32,
        elected: Pred,
        mask: R32,
    },
    Sync {
        mask: R32,
    },
}

/// How a shuffle selects its source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// The result of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// `redux.sync`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum ReduxOp {
    Add,
    MinU,
    MaxU,
    MinS,
    MaxS,
    And,
    Or,
    Xor,
}

/// The result of comparing the `membermask`s of the lanes that execute an instruction with these lanes.
pub(crate) struct Named {
    /// Whether a mask names a live lane that does not execute the instruction.
    pub(crate) missing: bool,
    /// The executing lanes that are missing from their `membermask`, which is undefined behavior in PTX.
    pub(crate) unnamed: u32,
    /// Whether a GPU ignores the masks. If all live lanes execute the instruction together with the same mask, all of
    /// them take part on an H100. Otherwise the H100 reports an illegal instruction if a lane is unnamed.
    pub(crate) is_ignored: bool,
}

impl Warp {
    /// Returns the register of the `membermask`.
    pub(crate) fn members(&self) -> Option<R32> {
        match self {
            Warp::ActiveMask { .. } => None,
            Warp::Shuffle { mask, .. }
            | Warp::Vote { mask, .. }
            | Warp::Match { mask, .. }
            | Warp::Reduce { mask, .. }
            | Warp::Elect { mask, .. }
            | Warp::Sync { mask } => Some(*mask),
        }
    }

    /// Compares the `membermask`s of the lanes of `mask` with these lanes and with the `alive` lanes.
    pub(crate) fn named(&self, regs: &Regs<'_>, mask: u32, alive: u32) -> Named {
        let Some(members) = self.members() else {
            return Named { missing: false, unnamed: 0, is_ignored: false };
        };
        let members = regs.get32(members);
        let (mut named, mut unnamed) = (0, 0);
        for lane in lanes(mask) {
            unnamed |= !members[lane] & 1 << lane;
            named |= members[lane];
        }
        Named {
            missing: named & alive & !mask != 0,
            unnamed,
            is_ignored: mask == alive && lanes(mask).all(|lane| members[lane] == named),
        }
    }

    /// Returns the lanes that take part in the operation with each lane of `mask`.
    fn participants(&self, regs: &Regs<'_>, mask: u32, alive: u32) -> Lanes32 {
        match self.members() {
            Some(members) if !self.named(regs, mask, alive).is_ignored => {
                regs.get32(members).map(|members| members & alive)
            }
            _ => [mask; LANES],
        }
    }

    /// Returns two lanes of `mask` that have different `membermask`s, if the first lane's mask names the second. Masks
    /// that differ only in exited lanes count as equal.
    pub(crate) fn different_masks(&self, regs: &Regs<'_>, mask: u32, alive: u32) -> Option<Mistake> {
        let members = regs.get32(self.members()?);
        let first = members[mask.trailing_zeros() as usize];
        if lanes(mask).all(|lane| members[lane] == first) {
            return None;
        }
        lanes(mask).find_map(|lane| {
            let named = lanes(members[lane] & alive & mask);
            let other = named.into_iter().find(|named| (members[*named] ^ members[lane]) & alive != 0)?;
            let with_mask = |lane: usize| (lane as u32, members[lane]);
            Some(Mistake::DifferentMasks { lane: with_mask(lane), other: with_mask(other) })
        })
    }

    /// Returns the lanes of `mask` that shuffle from an exited lane, or from a lane that their `membermask` does not
    /// name.
    pub(crate) fn absent_sources(&self, regs: &Regs<'_>, mask: u32, alive: u32) -> u32 {
        let Warp::Shuffle { mode, lane, clamp, mask: members, .. } = self else {
            return 0;
        };
        let members = regs.get32(*members);
        if alive == ALL && members == &[ALL; LANES] {
            return 0;
        }
        let (sources, _) = mode.sources(regs.get32(*lane), regs.get32(*clamp));
        let is_absent = |lane: &usize| (members[*lane] & alive) >> sources[*lane] & 1 == 0;
        lanes(mask).filter(is_absent).fold(0, |all, lane| all | 1 << lane)
    }

    /// Returns whether lanes that execute `self` wait for lanes that execute `other`.
    pub(crate) fn is_alike(&self, other: &Warp) -> bool {
        use std::mem::discriminant;
        match (self, other) {
            (Warp::Shuffle { mode: a, .. }, Warp::Shuffle { mode: b, .. }) => a == b,
            (Warp::Vote { mode: a, .. }, Warp::Vote { mode: b, .. }) => a == b,
            (Warp::Reduce { op: a, .. }, Warp::Reduce { op: b, .. }) => a == b,
            (Warp::Match { all: a, .. }, Warp::Match { all: b, .. }) => a.is_some() == b.is_some(),
            _ => discriminant(self) == discriminant(other),
        }
    }

    /// Stores the values that the lanes of `mask` provide to other lanes.
    pub(crate) fn contribute(&self, regs: &Regs<'_>, mask: u32, values: &mut Lanes64) {
        for lane in lanes(mask) {
            values[lane] = match self {
                Warp::Vote { value, negated, .. } => u64::from((regs.pred(*value) >> lane & 1 != 0) != *negated),
                Warp::Shuffle { value, .. } | Warp::Reduce { value, .. } => u64::from(regs.get32(*value)[lane]),
                Warp::Match { value, .. } => wide(*value, regs)[lane],
                Warp::ActiveMask { .. } | Warp::Elect { .. } | Warp::Sync { .. } => 0,
            };
        }
    }

    /// Runs the instruction on the lanes of `mask`. Lanes that are not `alive` take no part, and shuffles read zero
    /// from them. If lanes reached the instruction at different program counters, `values` holds the values that they
    /// provide.
    pub fn execute(&self, regs: &mut Regs<'_>, mask: u32, alive: u32, values: Option<&Lanes64>) {
        match self {
            Warp::ActiveMask { to } => regs.set32(*to, mask, &[mask; LANES]),
            Warp::Sync { .. } => {}
            Warp::Shuffle { mode, to, found, value, lane, clamp, .. } => {
                let narrowed = match values {
                    Some(values) => Some(narrow(values)),
                    None if mask == ALL => None,
                    None => Some(in_lanes(mask, |lane| regs.get32(*value)[lane])),
                };
                let value = narrowed.as_ref().unwrap_or_else(|| regs.get32(*value));
                let (result, sources) = shuffle(*mode, value, regs.get32(*lane), regs.get32(*clamp));
                regs.set32(*to, mask, &result);
                if let Some(found) = found {
                    regs.set_pred(*found, mask, sources);
                }
            }
            Warp::Vote { mode, to, value, negated, .. } => {
                let yes = match values {
                    None => regs.pred(*value) ^ if *negated { ALL } else { 0 },
                    Some(values) => truth(&narrow(values)),
                };
                let members = self.participants(regs, mask, alive);
                let result = in_lanes(mask, |lane| {
                    let votes = yes & members[lane];
                    match mode {
                        VoteMode::Ballot => votes,
                        VoteMode::All => u32::from(votes == members[lane]),
                        VoteMode::Any => u32::from(votes != 0),
                        VoteMode::Uni => u32::from(votes == 0 || votes == members[lane]),
                    }
                });
                match to {
                    Reg::R32(to) => regs.set32(*to, mask, &result),
                    Reg::Pred(to) => regs.set_pred(*to, mask, truth(&result)),
                    Reg::R64(_) => unreachable!("a vote writes a 32-bit register or a predicate"),
                }
            }
            Warp::Match { value, to, all, .. } => {
                let values = values.copied().unwrap_or_else(|| wide(*value, regs));
                let members = self.participants(regs, mask, alive);
                let mut result = [0; LANES];
                let mut same = 0;
                for lane in lanes(mask) {
                    let equal = lanes(members[lane])
                        .filter(|other| values[*other] == values[lane])
                        .fold(0, |equal, other| equal | 1 << other);
                    let everywhere = equal == members[lane];
                    same |= u32::from(everywhere) << lane;
                    result[lane] = if all.is_some() && !everywhere { 0 } else { equal };
                }
                regs.set32(*to, mask, &result);
                if let Some(Some(pred)) = all {
                    regs.set_pred(*pred, mask, same);
                }
            }
            Warp::Reduce { op, to, value, .. } => {
                let values = values.map_or_else(|| *regs.get32(*value), narrow);
                let members = self.participants(regs, mask, alive);
                let result = in_lanes(mask, |lane| {
                    let all = lanes(members[lane]).map(|other| values[other]);
                    all.reduce(|a, b| op.apply(a, b)).unwrap_or(0)
                });
                regs.set32(*to, mask, &result);
            }
            Warp::Elect { to, elected, .. } => {
                let leaders = self.participants(regs, mask, alive).map(u32::trailing_zeros);
                let mut chosen = 0;
                for lane in lanes(mask) {
                    chosen |= u32::from(leaders[lane] == lane as u32) << lane;
                }
                regs.set32(*to, mask, &leaders);
                regs.set_pred(*elected, mask, chosen);
            }
        }
    }
}

impl ShuffleMode {
    /// Returns the lane that each lane reads from, and the lanes whose requested source is in range. Lanes whose
    /// requested source is out of range read from themselves. `lane` and `clamp` are the instruction's last operands
    /// before the mask.
    pub fn sources(self, lane: &Lanes32, clamp: &Lanes32) -> (Lanes32, u32) {
        // Shuffle the lanes' numbers.
        let numbers = std::array::from_fn(|lane| lane as u32);
        shuffle(self, &numbers, lane, clamp)
    }
}

impl ReduxOp {
    fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            ReduxOp::Add => a.wrapping_add(b),
            ReduxOp::MinU => a.min(b),
            ReduxOp::MaxU => a.max(b),
            ReduxOp::MinS => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
            ReduxOp::MaxS => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
            ReduxOp::And => a & b,
            ReduxOp::Or => a | b,
            ReduxOp::Xor => a ^ b,
        }
    }
}

/// Returns a result for each lane of `mask`, and zero for the other lanes.
#[inline(always)]
fn in_lanes(mask: u32, result: impl Fn(usize) -> u32) -> Lanes32 {
    let mut results = [0; LANES];
    for lane in lanes(mask) {
        results[lane] = result(lane);
    }
    results
}

fn narrow(values: &Lanes64) -> Lanes32 {
    values.map(|value| value as u32)
}

/// Returns the values of a 32-bit or 64-bit register.
fn wide(value: Reg, regs: &Regs<'_>) -> Lanes64 {
    match value {
        Reg::R64(value) => *regs.get64(value),
        Reg::R32(value) => regs.get32(value).map(u64::from),
        Reg::Pred(_) => unreachable!("a match reads a 32-bit or 64-bit register"),
    }
}

/// Computes the pseudocode of PTX ISA §9.7.9.6 for all lanes. Returns the results, and the lanes whose sources are in
/// range.
fn shuffle(mode: ShuffleMode, values: &Lanes32, b: &Lanes32, c: &Lanes32) -> (Lanes32, u32) {
    let mut result = [0; LANES];
    let mut in_range = 0;
    for lane in 0..LANES as u32 {
        let at = lane as usize;
        let (bval, cval, segment) = (b[at] & 31, c[at] & 31, c[at] >> 8 & 31);
        let max_lane = lane & segment | cval & !segment;
        let min_lane = lane & segment;
        let (from, found) = match mode {
            ShuffleMode::Up => {
                let from = lane.wrapping_sub(bval);
                (from, from.cast_signed() >= max_lane.cast_signed())
            }
            ShuffleMode::Down => (lane + bval, lane + bval <= max_lane),
            ShuffleMode::Bfly => (lane ^ bval, lane ^ bval <= max_lane),
            ShuffleMode::Idx => {
                let from = min_lane | bval & !segment;
                (from, from <= max_lane)
            }
        };
        let from = if found { from } else { lane };
        result[at] = values[(from & 31) as usize];
        in_range |= u32::from(found) << lane;
    }
    (result, in_range)
}

fn truth(values: &Lanes32) -> u32 {
    values.iter().enumerate().fold(0, |all, (lane, value)| all | u32::from(*value != 0) << lane)
}
