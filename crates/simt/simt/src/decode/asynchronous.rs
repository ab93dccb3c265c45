//! Asynchronous instructions: `mbarrier`, bulk copies, `st.async` and `red.async`.

use ptx::ast::{Number, Operand};
use simt_isa::{Expected, Kind};

use super::{Decoded, Decoder};
use crate::code::{Op, R32, R64};
use crate::memory::atomic::Atomic;
use crate::memory::bulk::{Bulk, BulkSource, Recipients, reduced_address};
use crate::memory::mbarrier::{Mbarrier, MbarrierOp, Phase};
use crate::memory::tensor::{MapEdit, MapField, Tensor, TensorElement};
use crate::memory::{Address, Group, Memory, Region};
use crate::observe::{AsyncGroup, Order};
use crate::regs::Reg;

/// The modifier of copies that complete on an mbarrier.
const COMPLETES: &str = "mbarrier::complete_tx::bytes";

impl<'d> Decoder<'d, '_, '_> {
    /// Returns the modifiers that name a state space.
    pub(super) fn space_words(&self) -> impl Iterator<Item = &'d str> + use<'d> {
        const SPACES: [&str; 9] = [
            "global",
            "shared",
            "shared::cta",
            "shared::cluster",
            "local",
            "const",
            "param",
            "param::entry",
            "param::func",
        ];
        let words = self.words;
        words[1..].iter().copied().filter(|word| SPACES.contains(word))
    }

    /// Returns an address in the state space that the opcode names, or a generic address if the opcode does not name a
    /// state space.
    pub(super) fn space_address(&mut self, operand: &Operand<'_>) -> Decoded<Address> {
        self.address_in(self.space_words().next(), operand)
    }

    /// Returns an address in shared memory, regardless of how the opcode names that state space.
    pub(super) fn shared_address(&mut self, operand: &Operand<'_>) -> Decoded<Address> {
        let space = self.space_words().next().map(|_| "shared");
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
        if !matches!(address.region, Region::Shared | Region::Generic) {
            return Err(self.invalid("an mbarrier must be in shared memory"));
        }
        let op = match (self.words[1], to, rest) {
            ("init", None, [count]) => MbarrierOp::Init { count: self.src(count, "u32")? },
            ("inval", None, []) => MbarrierOp::Inval,
            ("expect_tx", None, [bytes]) => MbarrierOp::ExpectTx { bytes: self.src(bytes, "u32")? },
            ("complete_tx", None, [bytes]) => MbarrierOp::CompleteTx { bytes: self.src(bytes, "u32")? },
            (name @ ("arrive" | "arrive_drop"), Some(to), rest) => {
                let to = if self.is_sink(to) { None } else { Some(self.dst(to)?) };
                let number = rest.first().map(|number| self.src(number, "u32")).transpose()?;
                let (count, bytes) = if self.has("expect_tx") { (None, number) } else { (number, None) };
                if let (Some(_), Some(Operand::Number(Number::Integer(threads)))) = (count, rest.first())
                    && threads.cast_signed() <= 0
                {
                    return Err(self.invalid(format!("{} threads cannot arrive", threads.cast_signed())));
                }
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
        Ok(Memory::Mbarrier(Box::new(Mbarrier { address, op, relaxed: self.has("relaxed") })))
    }

    /// `cp.async.mbarrier.arrive{.noinc} [address]`
    pub(super) fn copies_arrive(&mut self) -> Decoded<Memory> {
        let [address] = self.exactly()?;
        let op = MbarrierOp::CopiesArrive { noinc: self.has("noinc") };
        Ok(Memory::Mbarrier(Box::new(Mbarrier { address: self.shared_address(address)?, op, relaxed: false })))
    }

    /// Returns the reduction that `cp.reduce.async.bulk` or `red.async` performs at the destination.
    fn reduction(&self, to: &Address) -> Decoded<Option<Atomic>> {
        let found = self.operation().map(|name| atomic_of(name, self.last(), to.region));
        found.map(|found| found.ok_or_else(|| self.unsupported_form())).transpose()
    }

    /// Returns the mbarrier and the destination blocks of a copy, if the instruction names them. `rest` yields the
    /// operands after the copy's addresses.
    fn recipients(&mut self, mut rest: impl Iterator<Item = &'d Operand<'d>>) -> Decoded<Recipients> {
        let mbarrier = if self.has(COMPLETES) { rest.next() } else { None };
        let multicast = if self.has("multicast::cluster") { rest.next() } else { None };
        Ok(Recipients {
            mbarrier: mbarrier.map(|operand| self.address_in(Some("shared"), operand)).transpose()?,
            multicast: multicast.map(|operand| self.src(operand, "b16")).transpose()?,
        })
    }

    /// `cp.async.bulk.dst.src ... [dst], [src], size{, [mbarrier]}{, ctaMask}{, policy}`, `cp.reduce.async.bulk` with
    /// the same operands, and the instructions that commit groups of bulk copies or wait for them.
    pub(super) fn bulk(&mut self) -> Decoded<Op> {
        let reads = self.has("read");
        let group = |op| Ok(Op::Memory(Memory::AsyncGroup(Group::Bulk, op, reads)));
        match (self.has("tensor"), self.has("prefetch")) {
            (true, true) => {
                let ([map], rest) = self.first()?;
                let (_, coordinates) = self.tile_in_map(map)?;
                return self.offsets_of(rest.first(), coordinates.len()).map(|_| Op::Nothing);
            }
            (true, false) => return self.tensor(),
            (false, true) => return Ok(Op::Nothing),
            (false, false) => {}
        }
        if self.has("commit_group") {
            return group(AsyncGroup::Commit);
        }
        if self.has("wait_group") {
            let [count] = self.exactly()?;
            return group(AsyncGroup::Wait(self.number(count)?));
        }
        let ([to, from, size], rest) = self.first()?;
        let mut spaces = self.space_words();
        let to = self.address_in(spaces.next(), to)?;
        Ok(Op::Memory(Memory::Bulk(Box::new(Bulk {
            reduce: self.reduction(&to)?,
            to,
            recipients: self.recipients(rest.iter())?,
            from: BulkSource::Memory(self.address_in(spaces.next(), from)?, self.src(size, "u32")?),
        }))))
    }

    /// `cp.async.bulk.tensor.dim.dst.src ... [dst], [map, {c}], [mbarrier]{, ctaMask}{, policy}`. For a copy from
    /// shared memory, the operands are `[map, {c}], [src]{, policy}`.
    fn tensor(&mut self) -> Decoded<Op> {
        let loads = self.has(COMPLETES);
        let ([first, second], rest) = self.first()?;
        let (tile, map) = if loads { (first, second) } else { (second, first) };
        let (mbarrier, rest) = rest.split_at(usize::from(loads).min(rest.len()));
        let (map, coordinates) = self.tile_in_map(map)?;
        let im2col = self.offsets_of(rest.first(), coordinates.len())?;
        let multicast = rest.iter().skip(usize::from(self.has("im2col")));
        let recipients = self.recipients(mbarrier.iter().chain(multicast))?;
        let reduce = self.operation().map(|name| {
            let all = TensorElement::ALL.iter();
            let rows = all.filter_map(|element| {
                let ty = match name {
                    "and" | "or" | "xor" if element.bytes() == 4 => "b32",
                    "and" | "or" | "xor" if element.bytes() == 8 => "b64",
                    _ => element.name()?,
                };
                Some((*element, atomic_of(name, ty, Region::Global)?))
            });
            rows.collect()
        });
        Ok(Op::Memory(Memory::Tensor(Box::new(Tensor {
            shared: self.address_in(Some("shared"), tile)?,
            map,
            coordinates,
            im2col,
            loads,
            reduce,
            recipients,
        }))))
    }

    /// Returns the map and the coordinates of `[map, {c}]`.
    fn tile_in_map(&mut self, operand: &Operand<'_>) -> Decoded<(R64, Box<[R32]>)> {
        let parts = if let Operand::Tuple(parts) = operand { &parts[..] } else { &[] };
        let [map, Operand::Vector(coordinates)] = parts else {
            return Err(self.invalid("a tensor map and coordinates are expected here"));
        };
        let dimensions = self.words.iter().find_map(|word| word.strip_suffix('d')?.parse().ok());
        if dimensions != Some(coordinates.len()) {
            return Err(self.invalid(format!("`{}` does not take {} coordinates", self.opcode, coordinates.len())));
        }
        let coordinates = coordinates.iter().map(|operand| self.src(operand, "s32")).collect::<Decoded<_>>()?;
        Ok((self.src(map, "u64")?, coordinates))
    }

    /// Returns the offsets in braces of an `.im2col` copy with `sides` dimensions; empty with `.im2col_no_offs`.
    fn offsets_of(&mut self, operand: Option<&Operand<'_>>, sides: usize) -> Decoded<Option<Box<[R32]>>> {
        match operand {
            Some(Operand::Vector(offsets)) if self.has("im2col") => {
                if offsets.len() + 2 != sides {
                    return Err(self.invalid(format!("`{}` does not take {} offsets", self.opcode, offsets.len())));
                }
                let offsets = offsets.iter().map(|operand| {
                    self.check(Expected::read(Kind::Last), Some("u16"), operand)?;
                    self.src(operand, "u16")
                });
                Ok(Some(offsets.collect::<Decoded<_>>()?))
            }
            _ if self.has("im2col") => Err(self.invalid("offsets in braces are expected here")),
            _ => Ok(self.has("im2col_no_offs").then(Box::default)),
        }
    }

    /// `tensormap.replace.tile.field...type [map], {number, }value`, `tensormap.cp_fenceproxy... [to], [from], 128`
    pub(super) fn edit_map(&mut self) -> Decoded<Memory> {
        let edit = match (self.words, self.operands) {
            (["tensormap", "replace", _, field, ..], [map, number @ .., value]) => {
                let number = number.first().map(|number| self.number(number)).transpose()?.unwrap_or(0);
                let least = if *field == "global_stride" { 4 } else { 5 };
                let number = u8::try_from(number).ok().filter(|number| *number < least);
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
                let ty = self.last();
                let value = self.src_of(value, ty, if ty == "b64" { 64 } else { 32 })?;
                MapEdit::Replace { map: self.space_address(map)?, field, value }
            }
            (_, [to, from, size]) => {
                if self.number(size)? != 128 {
                    return Err(self.invalid("the size of a tensor map must be 128 bytes"));
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
        let to = self.space_address(to)?;
        let (ty, width) = self.element()?;
        let from = self.values(from, ty)?;
        Ok(Memory::Bulk(Box::new(Bulk {
            reduce: self.reduction(&to)?,
            to,
            from: BulkSource::Registers(from, width.bytes()),
            recipients: Recipients { mbarrier: Some(self.space_address(mbarrier)?), multicast: None },
        })))
    }
}

/// Returns the reduction with this name on values of this type.
fn atomic_of(name: &str, ty: &str, region: Region) -> Option<Atomic> {
    let (op, width) = super::memory::reduction_of(name, ty)?;
    Some(Atomic {
        address: reduced_address(region),
        order: Order::WEAK,
        width,
        op,
        to: Box::default(),
        operand: Box::new([Reg::R64(R64(0))]),
        only_counts: false,
        new: None,
    })
}
