//! Branches and calls: where they go.

use std::collections::HashMap;

use super::{Body, Jump, Target};
use crate::code::{Call, Copy, Op, R32};
use crate::error::LowerError;
use crate::layout::{Location, layout};
use ptx::ast::{Instruction, Operand};

impl<'m> Body<'_, 'm> {
    fn label<'x>(&self, operand: Option<&Operand<'x>>) -> Result<&'x str, LowerError> {
        match operand {
            Some(Operand::Name(name)) => Ok(name),
            _ => Err(self.invalid("a label is expected here")),
        }
    }

    fn jump(&mut self, labels: Vec<&'m str>) {
        let depth = self.labels.len();
        self.jumps.push(Jump {
            pc: self.cx.func.code.len(),
            labels,
            depth,
            at: self.cx.at,
        });
    }

    pub(super) fn branch(&mut self, inst: &'m Instruction<'m>) -> Result<Op, LowerError> {
        self.is_uniform_or_plain(inst)?;
        let [label] = &inst.operands[..] else {
            return Err(self.invalid("a branch has one label"));
        };
        let label = self.label(Some(label))?;
        self.jump(vec![label]);
        Ok(Op::Branch {
            target: 0,
            reconverge: 0,
        })
    }

    pub(super) fn branch_indexed(&mut self, inst: &'m Instruction<'m>) -> Result<Op, LowerError> {
        if !inst.opcode.starts_with("brx.idx") {
            return Err(self.unsupported(format!("instruction `{}`", inst.opcode)));
        }
        let [index, list] = &inst.operands[..] else {
            return Err(self.invalid("brx.idx takes an index and a list of targets"));
        };
        let index: R32 = self.cx.src(index, "u32")?;
        let list = self.label(Some(list))?;
        let targets = self
            .labels
            .iter()
            .rev()
            .find_map(|labels| match labels.get(list) {
                Some(Target::List(targets)) => Some(targets.clone()),
                _ => None,
            })
            .ok_or_else(|| self.invalid(format!("`{list}` is no list of branch targets")))?;
        let op = Op::BranchIndexed {
            index,
            targets: vec![0; targets.len()].into(),
            reconverge: 0,
        };
        self.jump(targets);
        Ok(op)
    }

    /// Refuses modifiers of branches and calls but `.uni`.
    fn is_uniform_or_plain(&self, inst: &Instruction<'_>) -> Result<(), LowerError> {
        match inst.modifiers().all(|modifier| modifier == "uni") {
            true => Ok(()),
            false => Err(self.unsupported(format!("instruction `{}`", inst.opcode))),
        }
    }

    /// `call (ret), f, (a, b);` with parameters that are `.param` variables of this body.
    pub(super) fn call(&mut self, inst: &'m Instruction<'m>) -> Result<Op, LowerError> {
        self.is_uniform_or_plain(inst)?;
        let mut operands = inst.operands.iter().peekable();
        let results: &[Operand<'_>] = match operands.peek() {
            Some(Operand::List(results)) => {
                operands.next();
                results
            }
            _ => &[],
        };
        let name = match operands.next() {
            Some(Operand::Name(name)) if self.cx.register(name).is_none() => *name,
            _ => {
                return Err(self.unsupported(
                    "a call through a register (with .callprototype or .calltargets): only direct calls are; it",
                ));
            }
        };
        let arguments: &[Operand<'_>] = match operands.next() {
            Some(Operand::List(arguments)) => arguments,
            None => &[],
            Some(_) => return Err(self.invalid("a call's arguments stand in parentheses")),
        };
        let number = self.functions.number(name, inst.at)?;
        let callee = self.functions.order[number as usize];
        if callee.entry {
            return Err(self.invalid(format!("`{name}` is a kernel: it is launched, not called")));
        }
        if callee.params.len() != arguments.len() || callee.returns.len() != results.len() {
            return Err(self.invalid(format!(
                "`{name}` takes {} and returns {}, the call has {} and {}",
                callee.params.len(),
                callee.returns.len(),
                arguments.len(),
                results.len()
            )));
        }
        // The callee's frame begins with its results, then its parameters, as `lower` lays them out.
        let mut call = Call {
            function: number,
            arguments: Vec::new(),
            results: Vec::new(),
        };
        let mut offset = 0u32;
        let declared = callee.returns.iter().chain(&callee.params);
        for (at, (variable, operand)) in declared.zip(results.iter().chain(arguments)).enumerate() {
            let shape = layout(variable)?;
            let bytes = shape.small_bytes(variable)?;
            let (there, end) = shape.place_behind(offset, variable)?;
            offset = end;
            let here = self.frame_place(operand)?;
            if let Operand::Name(name) = operand
                && let Some(own) = self.cx.variable_declared(name)
                && layout(own)?.bytes != shape.bytes
            {
                let wanted = variable.name;
                return Err(self.invalid(format!(
                    "`{name}` is not as large as the parameter `{wanted}`"
                )));
            }
            let (copies, from, to) = match at < results.len() {
                true => (&mut call.results, there, here),
                false => (&mut call.arguments, here, there),
            };
            copies.push(Copy { from, to, bytes });
        }
        Ok(Op::Call(Box::new(call)))
    }

    /// The frame offset of a call's operand: a `.param` variable, or a register or number that is put
    /// into one.
    fn frame_place(&mut self, operand: &Operand<'_>) -> Result<u32, LowerError> {
        if let Operand::Name(name) = operand
            && self.cx.register(name).is_none()
            && let Some(place) = self.cx.variable(name)
            && let Location::Frame(at) = place?
        {
            return Ok(at);
        }
        Err(self.unsupported("a call's operand that is no .param variable"))
    }

    /// Resolves the jumps from number `from` on that name a label of this scope.
    pub(super) fn resolve(
        &mut self,
        from: usize,
        labels: &HashMap<&'m str, Target<'m>>,
    ) -> Result<(), LowerError> {
        let mut left = Vec::new();
        for jump in self.jumps.drain(from..) {
            let mut found = Vec::new();
            for label in &jump.labels {
                match labels.get(label) {
                    Some(Target::Pc(pc)) => found.push(*pc),
                    _ => break,
                }
            }
            if found.len() < jump.labels.len() {
                if jump.depth > 1 {
                    let mut jump = jump;
                    jump.depth -= 1;
                    left.push(jump);
                    continue;
                }
                let missing = jump.labels[found.len()];
                return Err(LowerError::invalid(
                    format!("there is no label `{missing}`"),
                    jump.at,
                ));
            }
            match &mut self.cx.func.code[jump.pc].op {
                Op::Branch { target, .. } => *target = found[0],
                Op::BranchIndexed { targets, .. } => *targets = found.into(),
                _ => {}
            }
        }
        self.jumps.extend(left);
        Ok(())
    }
}
