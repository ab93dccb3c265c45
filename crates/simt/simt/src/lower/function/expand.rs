//! Instructions that become several operations: calls with register parameters, `mov` of vectors, operands that add a
//! number to a register, and the `shfl` and `vote` instructions used before Volta.
//!
//! This module generates instructions and decodes them. Generated names begin with `#`, which no PTX name does.

use ptx::ast::{AddressBase, Function, Guard as NamedGuard, Instruction, Number, Operand, Space, Span, Variable};

use super::Body;
use crate::code::{Guard, Reg, RegisterNames};
use crate::error::LowerError;
use crate::layout::Location;

/// The special registers that are vectors. Their fourth element is zero (PTX ISA §10.1 to §10.7).
const SPECIAL_VECTORS: [(&str, [&str; 3]); 4] = [
    ("%tid", ["%tid.x", "%tid.y", "%tid.z"]),
    ("%ntid", ["%ntid.x", "%ntid.y", "%ntid.z"]),
    ("%ctaid", ["%ctaid.x", "%ctaid.y", "%ctaid.z"]),
    ("%nctaid", ["%nctaid.x", "%nctaid.y", "%nctaid.z"]),
];

/// A parameter or result of a call that is not in a `.param` variable, and its location in the frame.
pub(super) struct RegisterParameter<'i> {
    ty: &'i str,
    vector: u32,
    /// The name of the location.
    place: String,
    /// The register or the number.
    operand: Operand<'i>,
}

impl<'m> Body<'_, 'm> {
    /// Declares the results and parameters of a `.func`, which are in the frame. Register parameters are loaded when
    /// the function begins; register results are stored when the function returns.
    pub(super) fn declare_parameters(&mut self, function: &'m Function<'m>) -> Result<(), LowerError> {
        let mut parameters = Vec::new();
        for (number, variable) in function.returns.iter().chain(&function.params).enumerate() {
            self.cx.at = variable.at;
            if variable.space != Space::Reg {
                self.in_frame(variable)?;
                continue;
            }
            self.is_new(variable.name, None)?;
            let declared = self.cx.declare(variable.ty, variable.vector, 1)?;
            let names = RegisterNames::of(variable.name, None, declared.vector, declared.reg);
            self.cx.func.register_names.extend(names);
            self.cx.scope().registers.insert(variable.name, declared);
            let (parameter, _) = self.parameter_in_frame(variable, Operand::Name(variable.name))?;
            match number < function.returns.len() {
                true => self.results.push(parameter),
                false => parameters.push(parameter),
            }
        }
        parameters.iter().try_for_each(|parameter| self.load(parameter, None))
    }

    /// Allocates a parameter in the frame, and returns it with its offset.
    pub(super) fn parameter_in_frame<'i>(
        &mut self,
        variable: &Variable<'i>,
        operand: Operand<'i>,
    ) -> Result<(RegisterParameter<'i>, u32), LowerError> {
        if !variable.dims.is_empty() {
            return Err(self
                .cx
                .invalid(format!("the parameter `{}` is an array and cannot be in a register", variable.name)));
        }
        let at = self.frame_offset(variable)?;
        let place = self.cx.hidden_variable(Location::Frame(at));
        Ok((RegisterParameter { ty: variable.ty, vector: variable.vector, place, operand }, at))
    }

    /// Stores the results that are in registers, before the function returns.
    pub(super) fn store_results(&mut self, guard: Option<Guard>) -> Result<(), LowerError> {
        let results = std::mem::take(&mut self.results);
        results.iter().try_for_each(|result| self.store(result, guard))?;
        self.results = results;
        Ok(())
    }

    /// Stores a parameter in the frame.
    pub(super) fn store(&mut self, parameter: &RegisterParameter<'_>, guard: Option<Guard>) -> Result<(), LowerError> {
        let place = Operand::Address { base: AddressBase::Name(&parameter.place), offset: 0 };
        if parameter.ty != "pred" {
            let opcode = format!("st.local{}", parameter.type_words());
            return self.generate(&opcode, vec![place, parameter.operand.clone()], guard);
        }
        let number = self.cx.hidden_register("u32")?;
        let [one, zero] = [1, 0].map(|value| Operand::Number(Number::Integer(value)));
        self.generate("selp.u32", vec![Operand::Name(&number), one, zero, parameter.operand.clone()], guard)?;
        self.generate("st.local.u8", vec![place, Operand::Name(&number)], guard)
    }

    /// Loads a parameter from the frame.
    pub(super) fn load(&mut self, parameter: &RegisterParameter<'_>, guard: Option<Guard>) -> Result<(), LowerError> {
        if self.cx.is_sink(&parameter.operand) {
            return Ok(());
        }
        let place = Operand::Address { base: AddressBase::Name(&parameter.place), offset: 0 };
        if parameter.ty != "pred" {
            let opcode = format!("ld.local{}", parameter.type_words());
            return self.generate(&opcode, vec![parameter.operand.clone(), place], guard);
        }
        let number = self.cx.hidden_register("u32")?;
        self.generate("ld.local.u8", vec![Operand::Name(&number), place], guard)?;
        let zero = Operand::Number(Number::Integer(0));
        self.generate("setp.ne.u32", vec![parameter.operand.clone(), Operand::Name(&number), zero], guard)
    }

    /// Copies the guard to a predicate that no other instruction writes.
    pub(super) fn copy_of_guard(
        &mut self,
        named: Option<NamedGuard<'_>>,
        guard: Option<Guard>,
    ) -> Result<Option<Guard>, LowerError> {
        let (Some(named), Some(guard)) = (named, guard) else { return Ok(None) };
        let copy = self.cx.hidden_register("pred")?;
        self.generate("mov.pred", vec![Operand::Name(&copy), Operand::Name(named.register)], None)?;
        let Some((Reg::Pred(pred), _)) = self.cx.register(&copy) else { return Ok(None) };
        Ok(Some(Guard { pred, ..guard }))
    }

    /// Decodes an instruction that may become several operations.
    pub(super) fn expanded(&mut self, inst: &Instruction<'_>, guard: Option<Guard>) -> Result<(), LowerError> {
        let is_sum =
            |operand: &Operand<'_>| matches!(operand, Operand::NameOffset(name, _) if self.cx.declared(name).is_some());
        if inst.operands.iter().any(is_sum) {
            return self.with_sums(inst, guard);
        }
        match inst.opcode.split_once('.') {
            Some(("mov", words)) if words.starts_with("v2.") || words.starts_with("v4.") => {
                self.vector_move(inst, &words[3..], guard)
            }
            Some((name @ ("shfl" | "vote"), words)) if !words.starts_with("sync") && self.has_no_sync() => {
                self.of_active_lanes(inst, &format!("{name}.sync.{words}"), guard)
            }
            _ => self.decoded(inst, guard),
        }
    }

    /// Returns whether `shfl` and `vote` without `.sync` exist: they exist up to PTX 6.3, and for GPUs before sm_70.
    fn has_no_sync(&self) -> bool {
        self.cx.module.version < (6, 4) || !self.cx.is_for(70)
    }

    /// Expands operands that add a number to a register, as in `st.global.u32 [%rd1], %r1+4`. `ptxas` computes the sum
    /// in the register's width.
    fn with_sums(&mut self, inst: &Instruction<'_>, guard: Option<Guard>) -> Result<(), LowerError> {
        let mut names = Vec::new();
        for operand in &inst.operands {
            let Operand::NameOffset(name, offset) = operand else { continue };
            let Some(declared) = self.cx.declared(name) else { continue };
            if declared.vector > 1 || declared.ty.starts_with('f') || !matches!(declared.bits, 16 | 32 | 64) {
                return Err(self.cx.unsupported(format!("adding a number to `{name}` (not an integer register)")));
            }
            let sum = self.cx.hidden_register(declared.ty)?;
            let offset = Operand::Number(Number::Integer(offset.cast_unsigned()));
            let operands = vec![Operand::Name(&sum), Operand::Name(name), offset];
            self.generate(&format!("add.u{}", declared.bits), operands, guard)?;
            names.push(sum);
        }
        let mut sums = names.iter();
        let operands = inst.operands.iter().map(|operand| match operand {
            Operand::NameOffset(name, _) if self.cx.declared(name).is_some() => {
                sums.next().map_or_else(|| operand.clone(), |sum| Operand::Name(sum))
            }
            _ => operand.clone(),
        });
        let plain = Instruction { operands: operands.collect(), ..inst.clone() };
        self.expanded(&plain, guard)
    }

    /// `mov.v4.u32 %v, {%r1, %r2, %r3, %r4}`: reads all sources before writing the first register.
    fn vector_move(&mut self, inst: &Instruction<'_>, ty: &str, guard: Option<Guard>) -> Result<(), LowerError> {
        let mut operands = self.cx.plain(inst)?.into_owned();
        if let [_, from] = &mut operands[..]
            && let Some((_, axes)) = SPECIAL_VECTORS.iter().find(|(name, _)| *from == Operand::Name(name))
        {
            let zero = Operand::Number(Number::Integer(0));
            *from = Operand::Vector(axes.map(Operand::Name).into_iter().chain([zero]).collect());
        }
        let elements = usize::from(inst.opcode.as_bytes()[5] - b'0');
        let [Operand::Vector(to), Operand::Vector(from)] = &operands[..] else {
            return Err(self.cx.unsupported(format!("`{}` with operands that are not vectors", inst.opcode)));
        };
        if [to.len(), from.len()] != [elements; 2] {
            return Err(self.cx.invalid(format!("`{}` takes vectors of {elements} elements", inst.opcode)));
        }
        if ty == "pred" {
            return Err(self.cx.invalid("there are no vectors of predicates"));
        }
        let opcode = format!("mov.{ty}");
        let mut values = Vec::new();
        for from in from {
            let value = self.cx.hidden_register(ty)?;
            self.generate(&opcode, vec![Operand::Name(&value), from.clone()], guard)?;
            values.push(value);
        }
        let mut written = to.iter().zip(&values).filter(|(to, _)| !self.cx.is_sink(to)).collect::<Vec<_>>().into_iter();
        written.try_for_each(|(to, value)| self.generate(&opcode, vec![to.clone(), Operand::Name(value)], guard))
    }

    /// `shfl` and `vote` without `.sync`: run on the lanes that execute the instruction together.
    fn of_active_lanes(
        &mut self,
        inst: &Instruction<'_>,
        opcode: &str,
        guard: Option<Guard>,
    ) -> Result<(), LowerError> {
        let mask = self.cx.hidden_register("b32")?;
        self.generate("activemask.b32", vec![Operand::Name(&mask)], guard)?;
        let operands = inst.operands.iter().cloned().chain([Operand::Name(&mask)]);
        self.generate(opcode, operands.collect(), guard)
    }

    /// Decodes a generated instruction.
    fn generate(&mut self, opcode: &str, operands: Vec<Operand<'_>>, guard: Option<Guard>) -> Result<(), LowerError> {
        let at = self.cx.at;
        let span = Span { start: at, end: at };
        self.decoded(&Instruction { guard: None, opcode, at, span, operands }, guard)
    }
}

impl RegisterParameter<'_> {
    /// Returns the type as modifiers of a load or store: `.u32`, `.v4.u16`.
    fn type_words(&self) -> String {
        let vector = if self.vector > 1 { format!(".v{}", self.vector) } else { String::new() };
        format!("{vector}.{}", self.ty)
    }
}
