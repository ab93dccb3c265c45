//! Which class an instruction is counted in.

use crate::alu::Alu;
use crate::code::{Inst, Op};

/// A class of PTX instructions. Each instruction is of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "the variants are explained where their counters are"
)]
pub(super) enum Class {
    Integer,
    Float,
    Convert,
    Compare,
    Logic,
    Global,
    Shared,
    Local,
    Param,
    Const,
    Generic,
    Fence,
    Control,
    Barrier,
    Warp,
    Other,
}

/// How many classes there are.
pub(super) const CLASSES: usize = Class::Other as usize + 1;

/// The class of an instruction with this opcode in the text.
pub(super) fn class(inst: &Inst, opcode: &str) -> Class {
    match &inst.op {
        Op::Alu(Alu::Int(_)) => Class::Integer,
        Op::Alu(Alu::Logic(_)) => Class::Logic,
        Op::Alu(Alu::Float(_)) => Class::Float,
        Op::Alu(Alu::Convert(_)) | Op::Clock { .. } => Class::Convert,
        Op::Alu(Alu::Compare(_)) => Class::Compare,
        Op::Memory(_) => memory(opcode),
        Op::Warp(_) => Class::Warp,
        Op::Branch { .. }
        | Op::BranchIndexed { .. }
        | Op::Call(_)
        | Op::Return
        | Op::Exit
        | Op::Trap => Class::Control,
        Op::Barrier(_) => Class::Barrier,
        Op::Nothing => Class::Other,
    }
}

/// The class of an instruction that reaches memory, by the space that its opcode names.
fn memory(opcode: &str) -> Class {
    let mut words = opcode
        .split('.')
        .map(|word| word.split("::").next().unwrap_or(""));
    match words.next().unwrap_or("") {
        "membar" | "fence" => return Class::Fence,
        "cvta" | "isspacep" | "mapa" | "getctarank" => return Class::Convert,
        // Which way it goes: from global memory, or to it.
        "cp" => return Class::Global,
        _ => {}
    }
    words
        .find_map(|word| match word {
            "global" => Some(Class::Global),
            "shared" => Some(Class::Shared),
            "local" => Some(Class::Local),
            "param" => Some(Class::Param),
            "const" => Some(Class::Const),
            _ => None,
        })
        .unwrap_or(Class::Generic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opcode_says_the_space() {
        for (opcode, expected) in [
            ("ld.global.nc.v4.u32", Class::Global),
            ("ld.volatile.shared::cta.f32", Class::Shared),
            ("st.local.b64", Class::Local),
            ("ld.param.u64", Class::Param),
            ("ld.const.f32", Class::Const),
            ("ld.u32", Class::Generic),
            ("atom.global.add.u32", Class::Global),
            ("red.shared.max.s32", Class::Shared),
            ("cp.async.ca.shared.global", Class::Global),
            ("membar.gl", Class::Fence),
            ("fence.acq_rel.gpu", Class::Fence),
            ("cvta.to.global.u64", Class::Convert),
        ] {
            assert_eq!(memory(opcode), expected, "{opcode}");
        }
    }
}
