//! Branches and calls: resolves their targets.

use std::collections::HashMap;

use super::expand::RegisterParameter;
use super::slots;
use super::{Body, Jump, Target};
use crate::code::{Call, Callee, Guard, Op, R32, R64, Reg, Runtime, Signature, Slot};
use crate::error::LowerError;
use crate::layout::{Location, layout};
use ptx::ast::{Function, Instruction, Operand, Variable};

/// A called function, its results and its parameters.
type Shape<'m> = (Callee, &'m [Variable<'m>], &'m [Variable<'m>]);

/// The functions of CUDA's device runtime: the name, and the sizes of the parameters and results in bytes.
const RUNTIME: [(&str, Runtime, &[u32], &[u32]); 5] = [
    ("vprintf", Runtime::Print, &[8, 8], &[4]),
    ("__assertfail", Runtime::Assert, &[8, 8, 4, 8, 8], &[]),
    ("__assert_fail", Runtime::Assert, &[8, 8, 4, 8], &[]),
    ("malloc", Runtime::Allocate, &[8], &[8]),
    ("free", Runtime::Free, &[8], &[]),
];

/// Takes the next operand if it is a list in parentheses; otherwise returns an empty list.
fn list<'o, 'i>(operands: &mut std::slice::Iter<'o, Operand<'i>>) -> &'o [Operand<'i>] {
    let [Operand::List(all), rest @ ..] = operands.as_slice() else { return &[] };
    *operands = rest.iter();
    all
}

impl<'m> Body<'_, 'm> {
    fn label<'x>(&self, operand: Option<&Operand<'x>>) -> Result<&'x str, LowerError> {
        match operand {
            Some(Operand::Name(name)) => Ok(name),
            _ => Err(self.cx.invalid("a label is expected here")),
        }
    }

    fn jump(&mut self, labels: Vec<&'m str>) {
        let depth = self.labels.len();
        self.jumps.push(Jump { pc: self.cx.func.code.len(), labels, depth, at: self.cx.at });
    }

    pub(super) fn branch(&mut self, inst: &'m Instruction<'m>) -> Result<Op, LowerError> {
        self.is_uniform_or_plain(inst)?;
        let [label] = &inst.operands[..] else {
            return Err(self.cx.invalid("a branch needs exactly one label"));
        };
        let label = self.label(Some(label))?;
        self.jump(vec![label]);
        Ok(Op::Branch { target: 0, reconverge: 0 })
    }

    pub(super) fn branch_indexed(&mut self, inst: &'m Instruction<'m>) -> Result<Op, LowerError> {
        if !inst.opcode.starts_with("brx.idx") {
            return Err(self.cx.unsupported(format!("instruction `{}`", inst.opcode)));
        }
        let [index, list] = &inst.operands[..] else {
            return Err(self.cx.invalid("brx.idx takes an index and a list of targets"));
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
            .ok_or_else(|| self.cx.invalid(format!("`{list}` is not a list of branch targets")))?;
        let op = Op::BranchIndexed { index, targets: vec![0; targets.len()].into(), reconverge: 0 };
        self.jump(targets);
        Ok(op)
    }

    /// Rejects all modifiers of branches and calls except `.uni`.
    fn is_uniform_or_plain(&self, inst: &Instruction<'_>) -> Result<(), LowerError> {
        match inst.modifiers().all(|modifier| modifier == "uni") {
            true => Ok(()),
            false => Err(self.cx.unsupported(format!("instruction `{}`", inst.opcode))),
        }
    }

    /// `call (ret), f, (a, b);` with `.param` variables of this body, registers, or numbers as arguments.
    pub(super) fn call(&mut self, inst: &'m Instruction<'m>, guard: Option<Guard>) -> Result<(), LowerError> {
        self.is_uniform_or_plain(inst)?;
        let mut operands = inst.operands.iter();
        let results = list(&mut operands);
        let Some(Operand::Name(name)) = operands.next() else {
            return Err(self.cx.invalid("a call needs a function or a register with an address"));
        };
        let arguments = list(&mut operands);
        let (callee, returns, params) = match self.cx.register(name) {
            Some((Reg::R64(address), _)) => self.pointer(address, operands.next())?,
            Some(_) => return Err(self.cx.invalid(format!("`{name}` is not a 64-bit address"))),
            None => match self.runtime(name)? {
                Some(found) => found,
                None => {
                    let number = self.functions.number(name, inst.at)?;
                    let callee = self.functions.order[number as usize];
                    if callee.entry {
                        return Err(self.cx.invalid(format!("`{name}` is a kernel: it is launched, not called")));
                    }
                    let callee_of = Callee::Function(number);
                    (callee_of, &callee.returns[..], &callee.params[..])
                }
            },
        };
        if operands.next().is_some() {
            return Err(self.cx.invalid("a call's arguments must be in parentheses"));
        }
        if params.len() != arguments.len() || returns.len() != results.len() {
            return Err(self.cx.invalid(format!(
                "`{name}` takes {} arguments and returns {} results, but the call has {} arguments and {} results",
                params.len(),
                returns.len(),
                arguments.len(),
                results.len()
            )));
        }
        let mut copies = Vec::new();
        let parameters = self.slots(arguments, params, &mut copies)?;
        for copy in std::mem::take(&mut copies) {
            self.store(&copy, guard)?;
        }
        let slots = Signature { results: self.slots(results, returns, &mut copies)?, parameters };
        // A result may overwrite the guard itself.
        let guard = if copies.is_empty() { guard } else { self.copy_of_guard(inst.guard, guard)? };
        if let Callee::Pointer { .. } = &callee
            && !self.pointers.iter().any(|known| known.fits(&slots))
        {
            self.pointers.push(slots.clone());
        }
        if let Callee::Pointer { address, .. } = &callee {
            self.cx.found.reads.push(Reg::R64(*address));
        }
        self.add(inst, guard, Op::Call(Box::new(Call { callee, slots })));
        copies.iter().try_for_each(|copy| self.load(copy, guard))
    }

    /// Returns a function of CUDA's device runtime that the module declares and the simulator implements.
    fn runtime(&self, name: &str) -> Result<Option<Shape<'m>>, LowerError> {
        let Some(runtime) = RUNTIME.iter().find(|row| row.0 == name) else {
            return Ok(None);
        };
        let of_name = |function: &&'m Function<'m>| function.name == name;
        let all = self.cx.module.functions.iter();
        let declared = all.clone().find(of_name);
        match declared {
            Some(function) if !all.filter(of_name).any(|function| function.body.is_some()) => {
                let (slots, _) = slots(&function.returns, &function.params)?;
                let bytes = |slots: &[Slot]| slots.iter().map(|slot| slot.bytes).collect::<Vec<_>>();
                let (_, runtime, parameters, results) = *runtime;
                if bytes(&slots.parameters) != parameters || bytes(&slots.results) != results {
                    return Err(self.cx.invalid(format!("the declaration of `{name}` does not match CUDA's runtime")));
                }
                let callee = Callee::Runtime(runtime);
                Ok(Some((callee, &function.returns, &function.params)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the callee of an indirect call. The label that follows its arguments is a `.callprototype` or
    /// `.calltargets`.
    fn pointer(&self, address: R64, label: Option<&Operand<'_>>) -> Result<Shape<'m>, LowerError> {
        let label = self.label(label)?;
        let mut scopes = self.labels.iter().rev();
        let (listed, returns, params) = match scopes.find_map(|labels| labels.get(label)) {
            Some(Target::Prototype(returns, params)) => (None, *returns, *params),
            Some(Target::Functions(names)) => {
                let unknown = |name: &str| self.cx.invalid(format!("there is no function `{name}`"));
                let address = |name: &&str| {
                    let address = self.cx.module_variables.function(name);
                    address.ok_or_else(|| unknown(name))
                };
                let listed: Box<[u64]> = names.iter().map(address).collect::<Result<_, _>>()?;
                let mut all = self.cx.module.functions.iter();
                let first = all.find(|function| Some(&function.name) == names.first());
                let first = first.ok_or_else(|| self.cx.invalid("the list of functions is empty"))?;
                (Some(listed), &first.returns[..], &first.params[..])
            }
            _ => {
                return Err(self.cx.invalid(format!("`{label}` is not a .callprototype or a list of .calltargets")));
            }
        };
        Ok((Callee::Pointer { address, listed }, returns, params))
    }

    /// Returns the frame slots of a call's operands. An operand that is not a `.param` variable gets a new slot and is
    /// added to `copies`.
    fn slots<'i>(
        &mut self,
        operands: &'i [Operand<'m>],
        wanted: &'m [Variable<'m>],
        copies: &mut Vec<RegisterParameter<'i>>,
    ) -> Result<Vec<Slot>, LowerError>
    where
        'm: 'i,
    {
        let mut found = Vec::new();
        for (operand, variable) in operands.iter().zip(wanted) {
            let bytes = layout(variable)?.small_bytes(variable)?;
            if let Some(at) = self.place_of(operand)? {
                if let Operand::Name(name) = operand
                    && let Some(argument) = self.cx.variable_declared(name)
                    && layout(argument)?.bytes != u64::from(bytes)
                {
                    let wanted = variable.name;
                    return Err(self.cx.invalid(format!("`{name}` and the parameter `{wanted}` differ in size")));
                }
                found.push(Slot { at, bytes });
                continue;
            }
            let (copy, at) = self.parameter_in_frame(variable, operand.clone())?;
            copies.push(copy);
            found.push(Slot { at, bytes });
        }
        Ok(found)
    }

    /// Returns the frame offset of a call's operand, if the operand is a `.param` variable.
    fn place_of(&mut self, operand: &Operand<'_>) -> Result<Option<u32>, LowerError> {
        if let Operand::Name(name) = operand
            && self.cx.register(name).is_none()
            && let Some(place) = self.cx.variable(name)
            && let Location::Frame(at) = place?
        {
            return Ok(Some(at));
        }
        Ok(None)
    }

    /// Resolves the jumps with index `from` or higher whose labels are in this scope.
    pub(super) fn resolve(&mut self, from: usize, labels: &HashMap<&'m str, Target<'m>>) -> Result<(), LowerError> {
        let mut unresolved = Vec::new();
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
                    unresolved.push(jump);
                    continue;
                }
                let missing = jump.labels[found.len()];
                return Err(LowerError::invalid(format!("there is no label `{missing}`"), jump.at));
            }
            match &mut self.cx.func.code[jump.pc].op {
                Op::Branch { target, .. } => *target = found[0],
                Op::BranchIndexed { targets, .. } => *targets = found.into(),
                _ => {}
            }
        }
        self.jumps.extend(unresolved);
        Ok(())
    }
}
