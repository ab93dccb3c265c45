//! Instructions that the lanes of a warp execute together: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`,
//! `bar.warp.sync` (PTX ISA §9.7.9.6, §9.7.13).
//!
//! All lanes that an instruction's `membermask` names must execute the instruction at the same time. A GPU would wait
//! for a lane that is elsewhere; here that is a fault.

use crate::regs::{ALL, LANES, Lanes32, Pred, R32, Reg, Regs, lanes};

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
        /// For `.all`: whether all have one value.
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

/// How a shuffle finds its source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// The result that a vote computes.
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

/// A `membermask` names lanes that do not execute the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsentLanes {
    /// A lane that executes the instruction.
    pub lane: u32,
    /// The lanes that are named but do not execute the instruction; or the lane itself, if its own mask does not name
    /// it.
    pub lanes: u32,
}

impl Warp {
    /// The register of the `membermask`.
    fn members(&self) -> Option<R32> {
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

    /// Runs it on the lanes of `mask`.
    ///
    /// # Errors
    /// [`AbsentLanes`] when a `membermask` names a lane that does not execute this instruction now.
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) -> Result<(), AbsentLanes> {
        if let Some(members) = self.members() {
            check_members(regs.get32(members), mask)?;
        }
        match self {
            Warp::ActiveMask { to } => regs.set32(*to, mask, &[mask; LANES]),
            Warp::Sync { .. } => {}
            Warp::Shuffle {
                mode,
                to,
                found,
                value,
                lane,
                clamp,
                ..
            } => {
                let (result, sources) = shuffle(
                    *mode,
                    regs.get32(*value),
                    regs.get32(*lane),
                    regs.get32(*clamp),
                );
                regs.set32(*to, mask, &result);
                if let Some(found) = found {
                    regs.set_pred(*found, mask, sources);
                }
            }
            Warp::Vote {
                mode,
                to,
                value,
                negated,
                mask: members,
            } => {
                let yes = regs.pred(*value) ^ if *negated { ALL } else { 0 };
                let members = *regs.get32(*members);
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
                    Reg::R64(_) => unreachable!("decoding gives votes 32 bits or a predicate"),
                }
            }
            Warp::Match {
                value,
                to,
                all,
                mask: members,
            } => {
                let values: [u64; LANES] = match value {
                    Reg::R64(value) => *regs.get64(*value),
                    Reg::R32(value) => regs.get32(*value).map(u64::from),
                    Reg::Pred(_) => unreachable!("decoding gives a match 32 or 64 bits"),
                };
                let members = *regs.get32(*members);
                let mut result = [0; LANES];
                let mut same = 0;
                for lane in lanes(mask) {
                    let equal = lanes(members[lane])
                        .filter(|other| values[*other] == values[lane])
                        .fold(0, |equal, other| equal | 1 << other);
                    let everywhere = equal == members[lane];
                    same |= u32::from(everywhere) << lane;
                    result[lane] = if all.is_some() && !everywhere {
                        0
                    } else {
                        equal
                    };
                }
                regs.set32(*to, mask, &result);
                if let Some(Some(pred)) = all {
                    regs.set_pred(*pred, mask, same);
                }
            }
            Warp::Reduce {
                op,
                to,
                value,
                mask: members,
            } => {
                let (values, members) = (*regs.get32(*value), *regs.get32(*members));
                let result = in_lanes(mask, |lane| {
                    let all = lanes(members[lane]).map(|other| values[other]);
                    all.reduce(|a, b| op.apply(a, b)).unwrap_or(0)
                });
                regs.set32(*to, mask, &result);
            }
            Warp::Elect {
                to,
                elected,
                mask: members,
            } => {
                let leaders = regs.get32(*members).map(u32::trailing_zeros);
                let mut chosen = 0;
                for lane in lanes(mask) {
                    chosen |= u32::from(leaders[lane] == lane as u32) << lane;
                }
                regs.set32(*to, mask, &leaders);
                regs.set_pred(*elected, mask, chosen);
            }
        }
        Ok(())
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

/// A result for each lane of `mask`, zero for the others.
#[inline(always)]
fn in_lanes(mask: u32, result: impl Fn(usize) -> u32) -> Lanes32 {
    let mut results = [0; LANES];
    for lane in lanes(mask) {
        results[lane] = result(lane);
    }
    results
}

/// Checks that every lane of `mask` is named by its own `membermask`, which names only lanes of `mask`.
fn check_members(members: &Lanes32, mask: u32) -> Result<(), AbsentLanes> {
    for lane in lanes(mask) {
        let absent = members[lane] & !mask;
        let unnamed = !members[lane] & 1 << lane;
        if absent | unnamed != 0 {
            return Err(AbsentLanes {
                lane: lane as u32,
                lanes: absent | unnamed,
            });
        }
    }
    Ok(())
}

/// The pseudo-code of PTX ISA §9.7.9.6 for all lanes: the results, and which lanes' sources are in range.
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
    values
        .iter()
        .enumerate()
        .fold(0, |all, (lane, value)| all | u32::from(*value != 0) << lane)
}
