//! One function: its registers and variables, then its instructions in a row.

use std::collections::HashMap;

use super::context::Context;
use super::flow;
use super::variables::{Place, layout};
use super::{Lowering, Refusal};
use crate::code::{Call, Copy, Func, Inst, Op, R32};
use crate::parse::ast::{At, Function, Instruction, Loc, Operand, Space, Statement, Variable};
use crate::{alu, control, memory, warp};

/// Local memory that one frame may take (CUDA C++ Programming Guide, "Technical Specifications").
const MAX_FRAME: u32 = 512 * 1024;

/// Lowers one function.
pub(super) fn lower<'m>(
    lowering: &mut Lowering<'m>,
    function: &'m Function<'m>,
) -> Result<Func, Refusal> {
    let params: Vec<(&'m str, u32)> = lowering
        .program
        .params
        .iter()
        .zip(&function.params)
        .map(|(param, variable)| (variable.name, param.offset))
        .collect();
    let mut body = Body {
        cx: Context::new(lowering, function.name),
        labels: vec![HashMap::new()],
        jumps: Vec::new(),
        loc: None,
    };
    if function.entry {
        for (name, offset) in params {
            body.cx.variables[0].insert(name, Place::Param(offset));
        }
    } else {
        for variable in function.returns.iter().chain(&function.params) {
            body.declare_parameter(variable)?;
        }
    }
    let Some(statements) = &function.body else {
        return Err(Refusal::invalid(
            format!("`{}` has no body", function.name),
            function.at,
        ));
    };
    body.scope(statements)?;
    body.push(None, Op::Return, function.at);
    body.finish()
}

/// A jump whose target is a label that may come later.
struct Jump<'m> {
    /// The instruction.
    pc: usize,
    /// The labels, one for [`Op::Branch`].
    labels: Vec<&'m str>,
    /// How many scopes it stands in whose labels have not been asked yet.
    depth: usize,
    at: At,
}

struct Body<'l, 'm> {
    cx: Context<'l, 'm>,
    /// Labels by scope; `None` until the label is reached.
    labels: Vec<HashMap<&'m str, Target<'m>>>,
    jumps: Vec<Jump<'m>>,
    loc: Option<Loc>,
}

#[derive(Clone)]
enum Target<'m> {
    Pc(u32),
    List(Vec<&'m str>),
}

impl<'m> Body<'_, 'm> {
    /// A parameter of a `.func`: in the frame, or a register.
    fn declare_parameter(&mut self, variable: &'m Variable<'m>) -> Result<(), Refusal> {
        self.cx.at = variable.at;
        if variable.space == Space::Reg {
            return Err(self.cx.unsupported("a parameter in a register (.reg)"));
        }
        self.in_frame(variable)
    }

    fn in_frame(&mut self, variable: &'m Variable<'m>) -> Result<(), Refusal> {
        let (at, end) = layout(variable)?.place_behind(self.cx.func.frame_bytes, variable)?;
        if end > MAX_FRAME {
            return Err(Refusal::invalid(
                "more local memory than a thread can have",
                variable.at,
            ));
        }
        self.cx.func.frame_bytes = end;
        self.innermost().insert(variable.name, Place::Frame(at));
        Ok(())
    }

    fn innermost(&mut self) -> &mut HashMap<&'m str, Place> {
        self.cx
            .variables
            .last_mut()
            .expect("scopes are pushed before they are used")
    }

    fn scope(&mut self, statements: &'m [Statement<'m>]) -> Result<(), Refusal> {
        let depth = self.labels.len() - 1;
        // Labels of the scope are known to all of it, so that jumps resolve innermost first.
        for statement in statements {
            match statement {
                Statement::BranchTargets { label, targets, .. } => {
                    self.labels[depth].insert(label, Target::List(targets.clone()));
                }
                Statement::Registers {
                    ty,
                    vector,
                    names,
                    at,
                } => {
                    self.cx.at = *at;
                    self.registers(ty, *vector, names)?;
                }
                _ => {}
            }
        }
        for statement in statements {
            self.statement(statement, depth)?;
        }
        Ok(())
    }

    fn registers(
        &mut self,
        ty: &str,
        vector: u32,
        names: &'m [(&'m str, Option<u32>)],
    ) -> Result<(), Refusal> {
        if vector != 1 {
            return Err(self.cx.unsupported("a register of vector type"));
        }
        for (name, count) in names {
            let first = self.cx.declare(ty, count.unwrap_or(1))?;
            let scope = self.cx.registers.len() - 1;
            match count {
                Some(count) => self.cx.ranges[scope].push((name, *count, first)),
                None => {
                    self.cx.registers[scope].insert(name, first);
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'m Statement<'m>, depth: usize) -> Result<(), Refusal> {
        match statement {
            Statement::Label { name, at } => {
                let pc = self.cx.func.code.len() as u32;
                if self.labels[depth].insert(name, Target::Pc(pc)).is_some() {
                    return Err(Refusal::invalid(
                        format!("label `{name}` stands twice"),
                        *at,
                    ));
                }
            }
            Statement::Variable(variable) => match variable.space {
                Space::Local | Space::Param => self.in_frame(variable)?,
                Space::Shared | Space::Global | Space::Const => {
                    let place = self.cx.lowering.variables.place(variable)?;
                    self.innermost().insert(variable.name, place);
                }
                Space::Reg | Space::Tex => {
                    return Err(Refusal::unsupported(
                        "a variable of this space",
                        variable.at,
                    ));
                }
            },
            Statement::Loc(loc) => self.loc = Some(*loc),
            Statement::Scope(statements) => {
                self.cx.registers.push(HashMap::new());
                self.cx.ranges.push(Vec::new());
                self.cx.variables.push(HashMap::new());
                self.labels.push(HashMap::new());
                let jumps = self.jumps.len();
                self.scope(statements)?;
                let labels = self.labels.pop().expect("pushed above");
                self.resolve(jumps, &labels)?;
                self.cx.variables.pop();
                self.cx.ranges.pop();
                self.cx.registers.pop();
            }
            Statement::Instruction(instruction) => {
                self.cx.at = instruction.at;
                self.instruction(instruction)?;
            }
            Statement::CallPrototype { .. }
            | Statement::CallTargets { .. }
            | Statement::BranchTargets { .. }
            | Statement::Registers { .. }
            | Statement::Ignored => {}
        }
        Ok(())
    }

    fn instruction(&mut self, inst: &'m Instruction<'m>) -> Result<(), Refusal> {
        let guard = self.cx.guard(inst.guard)?;
        let words: Vec<&str> = inst.opcode.split('.').collect();
        let op = match words[0] {
            "bra" => self.branch(inst)?,
            "brx" => self.branch_indexed(inst, &words)?,
            "call" => self.call(inst)?,
            _ => self.decode(inst, &words)?,
        };
        self.push(guard, op, inst.at);
        Ok(())
    }

    fn decode(&mut self, inst: &Instruction<'_>, words: &[&str]) -> Result<Op, Refusal> {
        let cx = &mut self.cx;
        if let Some(op) = control::decode(inst, words, cx)? {
            return Ok(op);
        }
        if let Some(op) = warp::decode(inst, words, cx)? {
            return Ok(Op::Warp(op));
        }
        if let Some(op) = memory::decode(inst, words, cx)? {
            return Ok(Op::Memory(op));
        }
        if let Some(op) = alu::decode(inst, words, cx)? {
            return Ok(op);
        }
        Err(cx.unsupported(format!("instruction `{}`", inst.opcode)))
    }

    fn push(&mut self, guard: Option<crate::code::Guard>, op: Op, at: At) {
        self.cx.func.code.push(Inst { guard, op });
        self.cx.func.places.push((at, self.loc));
    }

    fn label<'x>(&self, operand: Option<&Operand<'x>>) -> Result<&'x str, Refusal> {
        match operand {
            Some(Operand::Name(name)) => Ok(name),
            _ => Err(self.cx.invalid("a label is expected here")),
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

    fn branch(&mut self, inst: &'m Instruction<'m>) -> Result<Op, Refusal> {
        let label = self.label(inst.operands.first())?;
        self.jump(vec![label]);
        Ok(Op::Branch {
            target: 0,
            reconverge: 0,
        })
    }

    fn branch_indexed(&mut self, inst: &'m Instruction<'m>, words: &[&str]) -> Result<Op, Refusal> {
        if words.get(1) != Some(&"idx") {
            return Err(self
                .cx
                .unsupported(format!("instruction `{}`", inst.opcode)));
        }
        let [index, list] = &inst.operands[..] else {
            return Err(self
                .cx
                .invalid("brx.idx takes an index and a list of targets"));
        };
        let index: R32 = self.cx.src32(index, "u32")?;
        let list = self.label(Some(list))?;
        let targets = self
            .labels
            .iter()
            .rev()
            .find_map(|labels| match labels.get(list) {
                Some(Target::List(targets)) => Some(targets.clone()),
                _ => None,
            })
            .ok_or_else(|| {
                self.cx
                    .invalid(format!("`{list}` is no list of branch targets"))
            })?;
        let op = Op::BranchIndexed {
            index,
            targets: vec![0; targets.len()].into(),
            reconverge: 0,
        };
        self.jump(targets);
        Ok(op)
    }

    /// `call (ret), f, (a, b);` with parameters that are `.param` variables of this body.
    fn call(&mut self, inst: &'m Instruction<'m>) -> Result<Op, Refusal> {
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
                return Err(self.cx.unsupported(
                    "a call through a register (with .callprototype or .calltargets): only direct calls are; it",
                ));
            }
        };
        let arguments: &[Operand<'_>] = match operands.next() {
            Some(Operand::List(arguments)) => arguments,
            None => &[],
            Some(_) => return Err(self.cx.invalid("a call's arguments stand in parentheses")),
        };
        let number = self.cx.lowering.number(name, inst.at)?;
        let callee = self.cx.lowering.function(number);
        if callee.entry {
            return Err(self
                .cx
                .invalid(format!("`{name}` is a kernel: it is launched, not called")));
        }
        if callee.params.len() != arguments.len() || callee.returns.len() != results.len() {
            return Err(self.cx.invalid(format!(
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
            if at < results.len() {
                call.results.push(Copy {
                    from: there,
                    to: here,
                    bytes,
                });
            } else {
                call.arguments.push(Copy {
                    from: here,
                    to: there,
                    bytes,
                });
            }
        }
        Ok(Op::Call(Box::new(call)))
    }

    /// The frame offset of a call's operand: a `.param` variable, or a register or number that is put
    /// into one.
    fn frame_place(&mut self, operand: &Operand<'_>) -> Result<u32, Refusal> {
        if let Operand::Name(name) = operand
            && self.cx.register(name).is_none()
            && let Some(place) = self.cx.variable(name)
            && let Place::Frame(at) = place?
        {
            return Ok(at);
        }
        Err(self
            .cx
            .unsupported("a call's operand that is no .param variable"))
    }

    /// Resolves the jumps from number `from` on that name a label of this scope.
    fn resolve(
        &mut self,
        from: usize,
        labels: &HashMap<&'m str, Target<'m>>,
    ) -> Result<(), Refusal> {
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
                return Err(Refusal::invalid(
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

    fn finish(mut self) -> Result<Func, Refusal> {
        let labels = self.labels.pop().expect("the function's own scope");
        self.resolve(0, &labels)?;
        let mut func = self.cx.func;
        func.frame_bytes = func.frame_bytes.next_multiple_of(16);
        flow::reconverge(&mut func.code);
        Ok(func)
    }
}
