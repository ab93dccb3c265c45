//! What is asynchronous: `mbarrier`, bulk copies, `st.async` and `red.async`.

use ptx::ast::Operand;

use super::forms::Kind;
use super::{Decoded, Decoder};
use crate::code::{Op, R64};
use crate::memory::atomic::Atomic;
use crate::memory::bulk::{Bulk, BulkSource, reduced_address};
use crate::memory::mbarrier::{Mbarrier, MbarrierOp, Phase};
use crate::memory::tensor::{MapEdit, MapField, Tensor, TensorElement};
use crate::memory::{Address, Group, Memory, Region};
use crate::observe::AsyncGroup;
use crate::regs::Reg;

impl<'d> Decoder<'d, '_, '_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// The modifier that names a space, from the place `from` of the opcode on.
    fn space_word(&self, from: usize) -> Option<&'d str> {
        let spaces = ["global", "shared", "shared::cta", "shared::cluster"];
        let mut words = self.words.iter().skip(from);
        words.find(|word| spaces.contains(*word)).copied()
    }

    /// An address of shared memory, whichever way the opcode names it.
    fn shared_address(&mut self, operand: &Operand<'_>) -> Decoded<Address> {
        let space = self.space_word(1).map(|_| "shared");
        self.address_in(space, operand)
    }

    /// `mbarrier.op ... [address], ...`
    pub(super) fn mbarrier(&mut self) -> Decoded<Memory> {
        let operands = self.operands;
        if let ("pending_count", [to, state]) = (self.words[1], operands) {
            return Ok(Memory::PendingCount { to: self.dst(to)?, state: self.src(state, "b64")? });
        }
        let at = operands.iter().position(|operand| matches!(operand, Operand::Address { .. }));
        let at = at.ok_or_else(|| self.unsupported_form())?;
        let (to, rest) = (operands[..at].first(), &operands[at + 1..]);
        let address = self.shared_address(&operands[at])?;
        let op = match (self.words[1], to, rest) {
            ("init", None, [count]) => MbarrierOp::Init { count: self.src(count, "u32")? },
            ("inval", None, []) => MbarrierOp::Inval,
            ("expect_tx", None, [bytes]) => MbarrierOp::ExpectTx { bytes: self.src(bytes, "u32")? },
            ("complete_tx", None, [bytes]) => MbarrierOp::CompleteTx { bytes: self.src(bytes, "u32")? },
            (name @ ("arrive" | "arrive_drop"), Some(to), rest) => {
                let to: Option<R64> = match self.is_sink(to) {
                    true => None,
                    false => Some(self.dst(to)?),
                };
                let number = rest.first().map(|number| self.src(number, "u32")).transpose()?;
                let (count, bytes) = match self.has("expect_tx") {
                    true => (None, number),
                    false => (number, None),
                };
                MbarrierOp::Arrive { to, count, bytes, drop: name == "arrive_drop", complete: !self.has("noComplete") }
            }
            ("test_wait" | "try_wait", Some(to), [phase, ..]) => MbarrierOp::Wait {
                to: self.dst(to)?,
                phase: match self.has("parity") {
                    true => Phase::Parity(self.src(phase, "u32")?),
                    false => Phase::State(self.src(phase, "b64")?),
                },
            },
            _ => return Err(self.unsupported_form()),
        };
        Ok(Memory::Mbarrier(Box::new(Mbarrier { address, op })))
    }

    /// `cp.async.mbarrier.arrive{.noinc} [address]`
    pub(super) fn copies_arrive(&mut self) -> Decoded<Memory> {
        let [address] = self.exactly()?;
        Ok(Memory::Mbarrier(Box::new(Mbarrier {
            address: self.shared_address(address)?,
            op: MbarrierOp::CopiesArrive { noinc: self.has("noinc") },
        })))
    }

    /// How `cp.reduce.async.bulk` and `red.async` change the destination.
    fn reduction(&self, to: &Address) -> Decoded<Option<Atomic>> {
        let names = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];
        let Some(name) = self.words.iter().find(|word| names.contains(word)) else {
            return Ok(None);
        };
        let ty = self.words.last().copied().unwrap_or_default();
        let found = atomic_of(name, ty, to.region);
        found.map(Some).ok_or_else(|| self.unsupported_form())
    }

    /// `cp.async.bulk.dst.src ... [dst], [src], size{, [mbarrier]}{, ctaMask}{, policy}`, `cp.reduce.async.bulk` alike;
    /// and the groups of bulk copies.
    pub(super) fn bulk(&mut self) -> Decoded<Op> {
        let group = |op| Ok(Op::Memory(Memory::AsyncGroup(Group::Bulk, op)));
        if self.has("tensor") {
            return self.tensor();
        }
        if self.has("prefetch") {
            return Ok(Op::Nothing);
        }
        if self.has("commit_group") {
            return group(AsyncGroup::Commit);
        }
        if self.has("wait_group") {
            let [count] = self.exactly()?;
            return group(AsyncGroup::Wait(self.number(count)?));
        }
        let [to, from, size, rest @ ..] = self.operands else {
            return Err(self.unsupported_form());
        };
        let spaces: Vec<&str> = self
            .words
            .iter()
            .filter(|word| matches!(**word, "global" | "shared::cta" | "shared::cluster"))
            .copied()
            .collect();
        let [to_space, from_space] = spaces[..] else {
            return Err(self.unsupported_form());
        };
        let to = self.address_in(Some(to_space), to)?;
        let mut rest = rest.iter();
        let mbarrier = match self.has("mbarrier::complete_tx::bytes") {
            true => {
                let operand = rest.next().ok_or_else(|| self.unsupported_form())?;
                Some(self.address_in(Some("shared"), operand)?)
            }
            false => None,
        };
        let multicast = match self.has("multicast::cluster") {
            true => {
                let operand = rest.next().ok_or_else(|| self.unsupported_form())?;
                Some(self.src(operand, "b16")?)
            }
            false => None,
        };
        Ok(Op::Memory(Memory::Bulk(Box::new(Bulk {
            reduce: self.reduction(&to)?,
            to,
            from: BulkSource::Memory(self.address_in(Some(from_space), from)?, self.src(size, "u32")?),
            mbarrier,
            multicast,
        }))))
    }

    /// `cp.async.bulk.tensor.dim.dst.src ... [dst], [map, {c}], [mbarrier]{, ctaMask}{, policy}`, and from shared memory
    /// `[map, {c}], [src]{, policy}`
    pub(super) fn tensor(&mut self) -> Decoded<Op> {
        if self.has("prefetch") {
            return Ok(Op::Nothing);
        }
        let loads = self.has("mbarrier::complete_tx::bytes");
        let (tile, map, rest) = match (loads, self.operands) {
            (true, [tile, map, mbarrier, rest @ ..]) => (tile, map, Some((mbarrier, rest))),
            (false, [map, tile, ..]) => (tile, map, None),
            _ => return Err(self.unsupported_form()),
        };
        let Operand::Tuple(parts) = map else {
            return Err(self.invalid("a tensor map and coordinates are expected here"));
        };
        let [map, Operand::Vector(coordinates)] = &parts[..] else {
            return Err(self.invalid("a tensor map and coordinates are expected here"));
        };
        let dimensions = self.words.iter().find_map(|word| word.strip_suffix('d')?.parse().ok());
        if dimensions != Some(coordinates.len()) {
            let found = coordinates.len();
            return Err(self.invalid(format!("`{}` does not take {found} coordinates", self.opcode)));
        }
        let coordinates = coordinates.iter().map(|own| self.src(own, "s32"));
        let coordinates: Box<[_]> = coordinates.collect::<Decoded<_>>()?;
        let mbarrier = rest.map(|(mbarrier, _)| self.address_in(Some("shared"), mbarrier));
        let (im2col, rest) = match rest {
            Some((mbarrier, [Operand::Vector(offsets), rest @ ..])) if self.has("im2col") => {
                if offsets.len() + 2 != coordinates.len() {
                    let found = offsets.len();
                    return Err(self.invalid(format!("`{}` does not take {found} offsets", self.opcode)));
                }
                let offsets = offsets.iter().map(|own| {
                    self.check(Kind::new("t"), Some("u16"), own)?;
                    self.src(own, "u16")
                });
                (Some(offsets.collect::<Decoded<_>>()?), Some((mbarrier, rest)))
            }
            _ if self.has("im2col") => return Err(self.invalid("offsets in braces are expected here")),
            rest => (self.has("im2col_no_offs").then(Box::default), rest),
        };
        let multicast = match (self.has("multicast::cluster"), rest) {
            (true, Some((_, [ranks, ..]))) => Some(self.src(ranks, "b16")?),
            _ => None,
        };
        let shared = self.address_in(Some("shared"), tile)?;
        let names = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];
        let name = self.words.iter().find(|word| names.contains(word));
        let reduce = name.map(|name| {
            let all = TensorElement::ALL.iter();
            let rows = all.filter_map(|element| {
                let ty = match *name {
                    "and" | "or" | "xor" if element.bytes() == 4 => "b32",
                    "and" | "or" | "xor" if element.bytes() == 8 => "b64",
                    _ => element.name()?,
                };
                Some((*element, atomic_of(name, ty, Region::Global)?))
            });
            rows.collect()
        });
        Ok(Op::Memory(Memory::Tensor(Box::new(Tensor {
            map: self.src(map, "u64")?,
            coordinates,
            im2col,
            shared,
            loads,
            reduce,
            mbarrier: mbarrier.transpose()?,
            multicast,
        }))))
    }

    /// `tensormap.replace.tile.field...type [map], {number, }value`, `tensormap.cp_fenceproxy... [to], [from], 128`
    pub(super) fn edit_map(&mut self) -> Decoded<Memory> {
        let edit = match (self.words, self.operands) {
            (["tensormap", "replace", ..], _) if !self.module.target.contains(&"sm_90a") && !self.is_for(100) => {
                return Err(self.invalid(format!("`{}` is for sm_90a", self.opcode)));
            }
            (["tensormap", "replace", _, field, ..], [map, number @ .., value]) => {
                let number = number.first().map(|number| self.number(number)).transpose()?.unwrap_or(0);
                let least = if *field == "global_stride" { 4 } else { 5 };
                let number = u8::try_from(number).ok().filter(|own| *own < least);
                let number = number.ok_or_else(|| self.invalid(format!("`{}` has no such dimension", self.opcode)))?;
                let field = match *field {
                    "global_address" => MapField::GlobalAddress,
                    "rank" => MapField::Rank,
                    "box_dim" => MapField::BoxDim(number),
                    "global_dim" => MapField::GlobalDim(number),
                    "global_stride" => MapField::GlobalStride(number),
                    "element_stride" => MapField::ElementStride(number),
                    "elemtype" => MapField::Elemtype,
                    "swizzle_mode" => MapField::SwizzleMode,
                    "fill_mode" => MapField::FillMode,
                    _ if self.number(value)? == 0 => MapField::Nothing,
                    word => return Err(self.unsupported(format!("a tensor map with {word}"))),
                };
                let value = match self.words.last() {
                    Some(&"b64") => self.src_of(value, "b64", 64)?,
                    _ => self.src_of(value, "b32", 32)?,
                };
                MapEdit::Replace { map: self.address_in(self.space_word(1), map)?, field, value }
            }
            (_, [to, from, size]) => {
                if self.number(size)? != 128 {
                    return Err(self.invalid("a tensor map has 128 bytes"));
                }
                MapEdit::Copy { to: self.address_in(Some("global"), to)?, from: self.address_in(Some("shared"), from)? }
            }
            _ => return Err(self.unsupported_form()),
        };
        Ok(Memory::MapEdit(Box::new(edit)))
    }

    /// `st.async...type [a], b, [mbarrier]`, `red.async...op.type [a], b, [mbarrier]`
    pub(super) fn store_async(&mut self) -> Decoded<Memory> {
        let [to, from, mbarrier] = self.exactly()?;
        let space = self.space_word(1);
        let to = self.address_in(space, to)?;
        let (bytes, from) = self.async_values(from)?;
        Ok(Memory::Bulk(Box::new(Bulk {
            reduce: self.reduction(&to)?,
            to,
            from: BulkSource::Registers(from, bytes),
            mbarrier: Some(self.address_in(space, mbarrier)?),
            multicast: None,
        })))
    }
}

/// The reduction of this name on values of this type.
fn atomic_of(name: &str, ty: &str, region: Region) -> Option<Atomic> {
    let (op, width) = super::memory::reduction_of(name, ty)?;
    Some(Atomic {
        address: reduced_address(region),
        width,
        op,
        to: Box::default(),
        operand: Box::new([Reg::R64(R64(0))]),
        only_counts: false,
        new: None,
    })
}
