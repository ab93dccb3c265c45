//! One function: its registers and variables, then its instructions in a row.

mod jump;

use std::collections::HashMap;

use super::context::Context;
use super::flow;
use super::variables::{Place, layout};
use super::{Lowering, Refusal};
use crate::code::{Func, Inst, Op};
use crate::{alu, control, memory, warp};
use ptx::ast::{At, Function, Instruction, Loc, Space, Statement, Variable};

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
        cx: Context::new(lowering, function),
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
            // An address that stays as it is is a register's copy.
            return Ok(match op.copies() {
                Some((to, from)) => Op::Alu(alu::copy64(to, from)),
                None => Op::Memory(op),
            });
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

    fn finish(mut self) -> Result<Func, Refusal> {
        let labels = self.labels.pop().expect("the function's own scope");
        self.resolve(0, &labels)?;
        let mut func = self.cx.func;
        func.frame_bytes = func.frame_bytes.next_multiple_of(16);
        flow::reconverge(&mut func.code);
        Ok(func)
    }
}
