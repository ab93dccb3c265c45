//! Instructions that the lanes of a warp execute together.

use ptx::ast::Operand;

use super::{Decoded, Decoder, lookup};
use crate::code::{Pred, R32, Reg};
use crate::warp::{ReduxOp, ShuffleMode, VoteMode, Warp};

const SHUFFLES: [(&str, ShuffleMode); 4] =
    [("up", ShuffleMode::Up), ("down", ShuffleMode::Down), ("bfly", ShuffleMode::Bfly), ("idx", ShuffleMode::Idx)];

const VOTES: [(&str, VoteMode); 4] =
    [("all", VoteMode::All), ("any", VoteMode::Any), ("uni", VoteMode::Uni), ("ballot", VoteMode::Ballot)];

const REDUCTIONS: [(&str, ReduxOp); 9] = [
    ("redux.sync.add.u32", ReduxOp::Add),
    ("redux.sync.add.s32", ReduxOp::Add),
    ("redux.sync.min.u32", ReduxOp::MinU),
    ("redux.sync.max.u32", ReduxOp::MaxU),
    ("redux.sync.min.s32", ReduxOp::MinS),
    ("redux.sync.max.s32", ReduxOp::MaxS),
    ("redux.sync.and.b32", ReduxOp::And),
    ("redux.sync.or.b32", ReduxOp::Or),
    ("redux.sync.xor.b32", ReduxOp::Xor),
];

impl Decoder<'_, '_, '_> {
    pub(super) fn warp(&mut self) -> Decoded<Warp> {
        match (self.words, self.operands) {
            (["shfl", "sync", mode, "b32"], [to, value, lane, clamp, mask]) => {
                let mode = lookup(&SHUFFLES, mode).ok_or_else(|| self.unsupported_form())?;
                let (to, found) = self.register_and_predicate(to)?;
                Ok(Warp::Shuffle {
                    mode,
                    to,
                    found,
                    value: self.src(value, "b32")?,
                    lane: self.src(lane, "b32")?,
                    clamp: self.src(clamp, "b32")?,
                    mask: self.src(mask, "b32")?,
                })
            }
            (["vote", "sync", mode, _], [to, value, mask]) => {
                let mode = lookup(&VOTES, mode).ok_or_else(|| self.unsupported_form())?;
                let to = match mode {
                    VoteMode::Ballot => Reg::R32(self.dst(to)?),
                    _ => Reg::Pred(self.dst(to)?),
                };
                let (value, negated) = self.src_pred(value)?;
                Ok(Warp::Vote { mode, to, value, negated, mask: self.src(mask, "b32")? })
            }
            (["match", mode, "sync", ty], [to, value, mask]) => {
                let (to, same) = self.register_and_predicate(to)?;
                let bits = if *ty == "b64" { 64 } else { 32 };
                Ok(Warp::Match {
                    value: self.src_of(value, ty, bits)?,
                    to,
                    all: (*mode == "all").then_some(same),
                    mask: self.src(mask, "b32")?,
                })
            }
            (["redux", .., ty], [to, value, mask]) => {
                let op = lookup(&REDUCTIONS, self.form);
                Ok(Warp::Reduce {
                    op: op.ok_or_else(|| self.unsupported_form())?,
                    to: self.dst(to)?,
                    value: self.src(value, ty)?,
                    mask: self.src(mask, "b32")?,
                })
            }
            (["activemask", "b32"], [to]) => Ok(Warp::ActiveMask { to: self.dst(to)? }),
            (["elect", "sync"], [Operand::Pair(to, elected), mask]) => Ok(Warp::Elect {
                to: self.dst(&Operand::Name(to))?,
                elected: self.dst(&Operand::Name(elected))?,
                mask: self.src(mask, "b32")?,
            }),
            (["bar", "warp", "sync"], [mask]) => Ok(Warp::Sync { mask: self.src(mask, "b32")? }),
            _ => Err(self.unsupported_form()),
        }
    }

    /// `%r1` or `%r1|%p1`
    fn register_and_predicate(&mut self, operand: &Operand<'_>) -> Decoded<(R32, Option<Pred>)> {
        match operand {
            Operand::Pair(to, pred) => {
                let to = self.dst(&Operand::Name(to))?;
                Ok((to, Some(self.dst(&Operand::Name(pred))?)))
            }
            _ => Ok((self.dst(operand)?, None)),
        }
    }
}
