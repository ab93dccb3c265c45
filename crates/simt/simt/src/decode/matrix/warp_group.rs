//! Products of warp groups (four warps).

use ptx::ast::Operand;
use simt_isa::{Expected, Kind};

use super::A;
use crate::decode::{Decoded, Decoder};
use crate::matrix::layout::Layout;
use crate::matrix::number::Element;
use crate::matrix::warp_group::{GroupMultiply, Operand as GroupOperand, SharedOperand};

impl Decoder<'_, '_, '_> {
    /// `wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b-desc, scale-d{, imm-scale-a, imm-scale-b{,
    /// imm-trans-a}{, imm-trans-b}}`; for `.sp`, the metadata and its selector follow `b-desc`.
    pub(super) fn wgmma(&mut self) -> Decoded<GroupMultiply> {
        let [m, n, k] = self.sides()?;
        let [d, a, b]: [Element; 3] = self.types().try_into().map_err(|_| self.unsupported_form())?;
        let is_sparse = self.has("sp");
        let k = if is_sparse { k / 2 } else { k };
        let ([to, from_a, from_b], rest) = self.first()?;
        let (sparse, rest) = match rest {
            [metadata, selector, rest @ ..] if is_sparse => (Some(self.metadata([metadata, selector], a, k)?), rest),
            rest => (None, rest),
        };
        let [scale, rest @ ..] = rest else {
            return Err(self.operand_count(4));
        };
        let in_registers = matches!(from_a, Operand::Vector(_));
        let is_float = !matches!(d, Element::Signed(_));
        let transposes = match a {
            Element::F16 | Element::Bf16 if in_registers => 1,
            Element::F16 | Element::Bf16 => 2,
            _ => 0,
        };
        let wanted = if is_float { 2 + transposes } else { 0 };
        if rest.len() != wanted {
            return Err(self.operand_count(self.operands.len() - rest.len() + wanted));
        }
        let rest: Vec<u64> = rest.iter().map(|operand| self.number(operand)).collect::<Decoded<_>>()?;
        let mut negated = [false; 2];
        for (at, value) in rest.iter().enumerate() {
            match (at, *value) {
                (0 | 1, 1 | u64::MAX) => negated[at] = *value != 1,
                (2.., 0 | 1) => {}
                _ => {
                    let found = value.cast_signed();
                    let opcode = self.opcode;
                    return Err(self.invalid(format!("`{opcode}` does not take {found} here")));
                }
            }
        }
        let transposed = |from_last: usize| transposes > from_last && rest[rest.len() - 1 - from_last] == 1;
        let mut descriptor = |operand, transposed| {
            self.check(Expected::read(Kind::Of("b64")), Some("b64"), operand)?;
            Ok(SharedOperand { descriptor: self.src(operand, "b64")?, transposed })
        };
        let shared_b = descriptor(from_b, transposed(0))?;
        let a_operand = match in_registers {
            false => GroupOperand::Shared(descriptor(from_a, transposed(1))?),
            true => GroupOperand::Registers(self.fragment(from_a, A, a, [m / 4, k, 1])?),
        };
        self.check(Expected::read(Kind::Of("pred")), Some("pred"), scale)?;
        let sums = self.result(to, Layout::Sum, d, [m / 4, n, 1])?;
        // The products are added to the destination, so the instruction also reads the destination registers.
        self.found.reads.extend(&sums.registers);
        Ok(GroupMultiply {
            product: self.product([m / 4, n, k], [d, a, b, d]),
            a: a_operand,
            b: shared_b,
            d: sums,
            scale_d: self.src_pred(scale)?,
            negated,
            sparse,
        })
    }
}
