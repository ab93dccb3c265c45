//! Decoding: translates an instruction of the syntax tree into the operation that the simulator runs.
//!
//! An instruction is first compared with the [forms] that `ptxas` accepts. A decoder can therefore rely on the number,
//! kinds and types of the operands, and on the order of the modifiers. The opcode's [class](simt_isa::class) selects
//! the decoder. A decoder matches the modifiers, usually with a table, and rejects unsupported modifiers. The decoder
//! turns the operands into registers with the [`Context`] of the function. Branches and calls are not decoded here:
//! their operands are labels and functions, which only the lowering of a whole function can resolve.

mod address;
mod asynchronous;
mod compare;
pub(crate) mod context;
mod control;
mod convert;
mod float;
pub(crate) mod forms;
mod integer;
mod matrix;
mod memory;
mod mov;
mod texture;
mod video;
mod warp;

use std::ops::{Deref, DerefMut};

use ptx::ast::{Instruction, Operand};
use simt_isa::{Class, class, find};

use crate::alu::Alu;
use crate::alu::lanes::{OperandKind, RegisterNumbers};
use crate::code::{Op, R32, R64, Reg};
use crate::error::LowerError;
pub(crate) use context::Context;

/// The result of a decoder: the operation, or the reason why it cannot be decoded.
type Decoded<T> = Result<T, LowerError>;

/// Decodes any instruction except branches and calls.
///
/// # Errors
/// Returns a [`LowerError`] when the simulator does not support the instruction, or the operands do not match it.
pub(crate) fn decode(inst: &Instruction<'_>, cx: &mut Context<'_, '_>) -> Decoded<Op> {
    let operands = cx.plain(inst)?;
    let found = find(inst.opcode, operands.len());
    let (words, form) = found.ok_or_else(|| {
        let what = kind_of(inst.opcode).map_or(String::new(), |kind| format!(", {kind},"));
        let is_valid = class(inst.opcode).is_some() || !what.is_empty();
        LowerError { is_valid, ..cx.unsupported(format!("instruction `{}`{what}", inst.opcode)) }
    })?;
    let ordered = words.join(".");
    let mut decoder = Decoder { cx, opcode: inst.opcode, words: &words, operands: &operands, form: &ordered };
    // Lowering generates instructions that are not in the text. They are valid regardless of the module's version and
    // target.
    if inst.span.start < inst.span.end {
        decoder.check_module(form)?;
    }
    decoder.check_operands(form)?;
    match class(&ordered) {
        Some(Class::Integer) if inst.opcode.starts_with('v') => decoder.video().map(|op| Op::Alu(Alu::Video(op))),
        Some(Class::Integer) => decoder.integer().map(Op::Alu),
        Some(Class::Logic) => decoder.logic().map(Op::Alu),
        Some(Class::Float) => decoder.float().map(Op::Alu),
        Some(Class::Compare) => decoder.compare().map(Op::Alu),
        Some(Class::Convert) => decoder.convert(),
        Some(Class::Memory(_)) if words[0] == "tensormap" => decoder.edit_map().map(Op::Memory),
        Some(Class::Memory(_)) if words.contains(&"bulk") => decoder.bulk(),
        Some(Class::Memory(_) | Class::Fence) => decoder.memory().map(Op::Memory),
        Some(Class::Warp) => decoder.warp().map(Op::Warp),
        Some(Class::Matrix) => decoder.matrix(),
        Some(Class::Barrier) if words[0] == "mbarrier" => decoder.mbarrier().map(Op::Memory),
        Some(Class::Barrier) => decoder.barrier(),
        Some(Class::Control) => decoder.end(),
        Some(Class::Hint) => Ok(Op::Nothing),
        Some(Class::Texture) => decoder.texture().map(Op::Memory),
        Some(Class::Other) | None => Err(decoder.unsupported_form()),
    }
}

/// For an opcode without a form, returns the kind of instruction, if the simulator does not support any instruction of
/// this kind.
pub fn kind_of(opcode: &str) -> Option<&'static str> {
    let words: Vec<&str> = opcode.split('.').collect();
    Some(match words[..] {
        ["tex" | "tld4" | "txq" | "istypep", ..] => "of textures",
        ["suld" | "sust" | "sured" | "suq", ..] => "of surfaces",
        ["shfl" | "vote", next, ..] if next != "sync" => "without .sync, for targets before sm_70",
        ["shfl" | "vote"] => "without .sync, for targets before sm_70",
        ["multimem", ..] => "on memory of several GPUs",
        ["tcgen05" | "clusterlaunchcontrol", ..] | ["st", "bulk", ..] => "of sm_100 and later",
        _ => return None,
    })
}

/// An instruction that is being decoded, and the context of its function.
struct Decoder<'d, 'l, 'm> {
    cx: &'d mut Context<'l, 'm>,
    opcode: &'d str,
    /// The opcode's words: its name, then the modifiers in the order of their [form](forms).
    words: &'d [&'d str],
    /// The words joined with dots.
    form: &'d str,
    operands: &'d [Operand<'d>],
}

impl<'l, 'm> Deref for Decoder<'_, 'l, 'm> {
    type Target = Context<'l, 'm>;

    fn deref(&self) -> &Self::Target {
        self.cx
    }
}

impl DerefMut for Decoder<'_, '_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.cx
    }
}

impl<'d> Decoder<'d, '_, '_> {
    /// Returns the error for an instruction that `ptxas` accepts but the simulator does not support.
    fn unsupported_form(&self) -> LowerError {
        self.unsupported(format!("instruction `{}`", self.opcode))
    }

    /// Returns the error for an instruction with too many or too few operands.
    fn operand_count(&self, wanted: usize) -> LowerError {
        let found = self.operands.len();
        self.invalid(format!("`{}` takes {wanted} operands, not {found}", self.opcode))
    }

    /// Returns whether the opcode has this modifier.
    fn has(&self, word: &str) -> bool {
        self.words[1..].contains(&word)
    }

    /// Returns the last modifier.
    fn last(&self) -> &'d str {
        self.words[self.words.len() - 1]
    }

    /// Returns the table's value for the first modifier that is in the table.
    fn known<T: Copy>(&self, table: &[(&str, T)]) -> Option<T> {
        self.words[1..].iter().find_map(|word| lookup(table, word))
    }

    /// Returns the table's value for the first modifier that is in the table, or an error if there is none.
    fn word<T: Copy>(&self, table: &[(&str, T)]) -> Decoded<T> {
        self.known(table).ok_or_else(|| self.unsupported_form())
    }

    /// Returns the operands, after checking that there are `N`. The check is needed because several [forms] may match
    /// an opcode.
    fn exactly<const N: usize>(&self) -> Decoded<&'d [Operand<'d>; N]> {
        let operands = self.operands.try_into();
        operands.map_err(|_| self.operand_count(N))
    }

    /// Returns the first `N` operands, and the remaining ones.
    fn first<const N: usize>(&self) -> Decoded<(&'d [Operand<'d>; N], &'d [Operand<'d>])> {
        self.operands.split_first_chunk().ok_or_else(|| self.operand_count(N))
    }

    /// Returns a destination register with 64 bits or, if `bits` is less, with 32 bits.
    fn dst_of(&mut self, operand: &Operand<'_>, bits: u32) -> Decoded<Reg> {
        Ok(match bits {
            64 => Reg::R64(self.dst(operand)?),
            _ => Reg::R32(self.dst(operand)?),
        })
    }

    /// Returns the number of a destination register.
    fn to(&mut self, kind: OperandKind, operand: &Operand<'_>) -> Decoded<u32> {
        Ok(match kind.wide {
            true => self.dst::<R64>(operand)?.0,
            false => self.dst::<R32>(operand)?.0,
        })
    }

    /// Returns the number of a source register.
    fn from(&mut self, kind: OperandKind, operand: &Operand<'_>) -> Decoded<u32> {
        Ok(match kind.wide {
            true => self.src::<R64>(operand, kind.ty)?.0,
            false => self.src::<R32>(operand, kind.ty)?.0,
        })
    }

    /// Returns the registers of an instruction with a destination and sources of these kinds.
    fn registers(&mut self, kinds: &[OperandKind]) -> Decoded<RegisterNumbers> {
        if self.operands.len() != kinds.len() {
            return Err(self.operand_count(kinds.len()));
        }
        let mut numbers = RegisterNumbers::default();
        for (at, (operand, kind)) in self.operands.iter().zip(kinds).enumerate() {
            numbers[at] = match at {
                0 => self.to(*kind, operand)?,
                _ => self.from(*kind, operand)?,
            };
        }
        Ok(numbers)
    }
}

/// Looks up a word in a table.
fn lookup<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    let mut rows = table.iter();
    rows.find(|(name, _)| *name == word).map(|(_, found)| *found)
}
