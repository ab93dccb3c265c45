//! What the lanes of a warp do together: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`,
//! `bar.warp.sync` (PTX ISA §9.7.9.6, §9.7.13).
//!
//! The lanes that an instruction's `membermask` names must be here. Those that run the instruction now
//! are; one that is named and is elsewhere would be waited for on a GPU, and is a fault here.

use crate::code::{Pred, R32, Reg};
use crate::lower::{Context, Refusal};
use crate::regs::{ALL, LANES, Lanes32, Regs};
use ptx::ast::{Instruction, Operand};

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields are the instruction's operands")]
pub enum Warp {
    Shuffle {
        mode: Mode,
        to: R32,
        found: Option<Pred>,
        value: R32,
        lane: R32,
        clamp: R32,
        mask: R32,
    },
    Vote {
        mode: Vote,
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
        op: Redux,
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
pub enum Mode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// What a vote tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Vote {
    All,
    Any,
    Uni,
    Ballot,
}

/// `redux.sync`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Redux {
    Add,
    MinU,
    MaxU,
    MinS,
    MaxS,
    And,
    Or,
    Xor,
}

/// Lanes that a `membermask` names are not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absent {
    /// A lane that runs the instruction.
    pub lane: u32,
    /// The lanes that are named and not here; or the lane itself, if it is here and not named.
    pub lanes: u32,
}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Warp>, Refusal> {
    let unsupported = |cx: &Context<'_, '_>| {
        cx.unsupported(format!("instruction `{}` with these operands", inst.opcode))
    };
    let op = match (words, &inst.operands[..]) {
        (["shfl", "sync", mode, "b32"], [to, value, lane, clamp, mask]) => {
            let mode = match *mode {
                "up" => Mode::Up,
                "down" => Mode::Down,
                "bfly" => Mode::Bfly,
                "idx" => Mode::Idx,
                _ => return Err(unsupported(cx)),
            };
            let (to, found) = destination(to, cx)?;
            Warp::Shuffle {
                mode,
                to,
                found,
                value: cx.src32(value, "b32")?,
                lane: cx.src32(lane, "b32")?,
                clamp: cx.src32(clamp, "b32")?,
                mask: cx.src32(mask, "b32")?,
            }
        }
        (["vote", "sync", mode, "pred" | "b32"], [to, value, mask]) => {
            let mode = match *mode {
                "all" => Vote::All,
                "any" => Vote::Any,
                "uni" => Vote::Uni,
                "ballot" => Vote::Ballot,
                _ => return Err(unsupported(cx)),
            };
            let to = match mode {
                Vote::Ballot => Reg::R32(cx.dst32(to)?),
                _ => Reg::Pred(cx.dst_pred(to)?),
            };
            let (value, negated) = cx.src_pred(value)?;
            Warp::Vote {
                mode,
                to,
                value,
                negated,
                mask: cx.src32(mask, "b32")?,
            }
        }
        (
            [
                "match",
                mode @ ("any" | "all"),
                "sync",
                ty @ ("b32" | "b64"),
            ],
            [to, value, mask],
        ) => {
            let (to, same) = destination(to, cx)?;
            let value = match *ty {
                "b64" => Reg::R64(cx.src64(value, ty)?),
                _ => Reg::R32(cx.src32(value, ty)?),
            };
            Warp::Match {
                value,
                to,
                all: (*mode == "all").then_some(same),
                mask: cx.src32(mask, "b32")?,
            }
        }
        (["redux", "sync", op, ty @ ("u32" | "s32" | "b32")], [to, value, mask]) => {
            let op = match (*op, *ty) {
                ("add", "u32" | "s32") => Redux::Add,
                ("min", "u32") => Redux::MinU,
                ("max", "u32") => Redux::MaxU,
                ("min", "s32") => Redux::MinS,
                ("max", "s32") => Redux::MaxS,
                ("and", "b32") => Redux::And,
                ("or", "b32") => Redux::Or,
                ("xor", "b32") => Redux::Xor,
                _ => return Err(unsupported(cx)),
            };
            Warp::Reduce {
                op,
                to: cx.dst32(to)?,
                value: cx.src32(value, ty)?,
                mask: cx.src32(mask, "b32")?,
            }
        }
        (["activemask", "b32"], [to]) => Warp::ActiveMask { to: cx.dst32(to)? },
        (["elect", "sync"], [Operand::Pair(to, elected), mask]) => Warp::Elect {
            to: cx.dst32(&Operand::Name(to))?,
            elected: cx.dst_pred(&Operand::Name(elected))?,
            mask: cx.src32(mask, "b32")?,
        },
        (["bar", "warp", "sync"], [mask]) => Warp::Sync {
            mask: cx.src32(mask, "b32")?,
        },
        (
            [
                "shfl" | "vote" | "match" | "redux" | "activemask" | "elect",
                ..,
            ],
            _,
        ) => {
            return Err(unsupported(cx));
        }
        (["bar", "warp", ..], _) => return Err(unsupported(cx)),
        _ => return Ok(None),
    };
    Ok(Some(op))
}

/// `%r1` or `%r1|%p1`
fn destination(
    operand: &Operand<'_>,
    cx: &mut Context<'_, '_>,
) -> Result<(R32, Option<Pred>), Refusal> {
    match operand {
        Operand::Pair(to, pred) => Ok((
            cx.dst32(&Operand::Name(to))?,
            Some(cx.dst_pred(&Operand::Name(pred))?),
        )),
        _ => Ok((cx.dst32(operand)?, None)),
    }
}

/// Lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

impl Warp {
    /// Runs it on the lanes of `mask`.
    ///
    /// # Errors
    /// [`Absent`] where a `membermask` names a lane that is not here.
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) -> Result<(), Absent> {
        match self {
            Warp::ActiveMask { to } => regs.set32(*to, mask, &[mask; LANES]),
            Warp::Sync { mask: members } => present(regs.get32(*members), mask)?,
            Warp::Shuffle {
                mode,
                to,
                found,
                value,
                lane,
                clamp,
                mask: members,
            } => {
                present(regs.get32(*members), mask)?;
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
                present(regs.get32(*members), mask)?;
                let yes = regs.pred(*value) ^ if *negated { ALL } else { 0 };
                let members = *regs.get32(*members);
                let mut result = [0; LANES];
                for lane in lanes(mask) {
                    let votes = yes & members[lane];
                    result[lane] = match mode {
                        Vote::Ballot => votes,
                        Vote::All => u32::from(votes == members[lane]),
                        Vote::Any => u32::from(votes != 0),
                        Vote::Uni => u32::from(votes == 0 || votes == members[lane]),
                    };
                }
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
                present(regs.get32(*members), mask)?;
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
                present(regs.get32(*members), mask)?;
                let (values, members) = (*regs.get32(*value), *regs.get32(*members));
                let mut result = [0; LANES];
                for lane in lanes(mask) {
                    result[lane] = lanes(members[lane])
                        .map(|other| values[other])
                        .reduce(|a, b| op.apply(a, b))
                        .unwrap_or(0);
                }
                regs.set32(*to, mask, &result);
            }
            Warp::Elect {
                to,
                elected,
                mask: members,
            } => {
                present(regs.get32(*members), mask)?;
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

impl Redux {
    fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Redux::Add => a.wrapping_add(b),
            Redux::MinU => a.min(b),
            Redux::MaxU => a.max(b),
            Redux::MinS => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
            Redux::MaxS => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
            Redux::And => a & b,
            Redux::Or => a | b,
            Redux::Xor => a ^ b,
        }
    }
}

/// Whether every lane of `mask` is named by its own mask, and names none that is elsewhere.
fn present(members: &Lanes32, mask: u32) -> Result<(), Absent> {
    for lane in lanes(mask) {
        let absent = members[lane] & !mask;
        let unnamed = !members[lane] & 1 << lane;
        if absent | unnamed != 0 {
            return Err(Absent {
                lane: lane as u32,
                lanes: absent | unnamed,
            });
        }
    }
    Ok(())
}

/// The pseudo-code of PTX ISA §9.7.9.6 for all lanes: the results, and which lanes' sources are in range.
fn shuffle(mode: Mode, values: &Lanes32, b: &Lanes32, c: &Lanes32) -> (Lanes32, u32) {
    let mut result = [0; LANES];
    let mut in_range = 0;
    for lane in 0..LANES as u32 {
        let at = lane as usize;
        let (bval, cval, segment) = (b[at] & 31, c[at] & 31, c[at] >> 8 & 31);
        let max_lane = lane & segment | cval & !segment;
        let min_lane = lane & segment;
        let (from, found) = match mode {
            Mode::Up => {
                let from = lane.wrapping_sub(bval);
                (from, from.cast_signed() >= max_lane.cast_signed())
            }
            Mode::Down => (lane + bval, lane + bval <= max_lane),
            Mode::Bfly => (lane ^ bval, lane ^ bval <= max_lane),
            Mode::Idx => {
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
