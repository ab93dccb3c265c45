//! Lowers one function: its registers and variables, then its instructions in order.

mod expand;
mod jump;

use std::collections::HashMap;

use ptx::ast::{At, Function, Instruction, Loc, Space, Statement, Variable};
use simt_isa::{Class, class};

use super::{Functions, Lowering, declarations, flow};
use crate::code::{Func, Guard, Inst, Op, Origin, Reg, RegisterNames, Signature, Slot};
use crate::decode::context::Scope;
use crate::decode::{Context, decode};
use crate::error::LowerError;
use crate::layout::{Location, layout};

/// The maximum local memory of a frame in bytes (CUDA C++ Programming Guide, "Technical Specifications").
const MAX_FRAME: u32 = 512 * 1024;

/// Lowers one function.
pub(super) fn lower<'m>(lowering: &mut Lowering<'m>, function: &'m Function<'m>) -> Result<Func, LowerError> {
    let Lowering { module, program, functions, variables, pointers } = lowering;
    let mut body = Body {
        cx: Context::new(module, variables, function),
        functions,
        pointers,
        labels: vec![HashMap::new()],
        jumps: Vec::new(),
        loc: None,
        results: Vec::new(),
    };
    if function.entry {
        for (param, variable) in program.params.iter().zip(&function.params) {
            body.cx.at = variable.at;
            body.name(variable, Location::Param(param.offset))?;
        }
    } else {
        body.declare_parameters(function)?;
        body.cx.func.slots = slots(&function.returns, &function.params)?.0;
    }
    let Some(statements) = &function.body else {
        return Err(LowerError::invalid(format!("`{}` has no body", function.name), function.at));
    };
    body.scope(statements)?;
    body.cx.at = function.at;
    body.store_results(None)?;
    body.push(None, Op::Return, (function.at, Class::Control));
    body.finish()
}

/// Returns the slots of the results and parameters at the start of a frame, and the offset at which the slots end.
pub(super) fn slots(returns: &[Variable<'_>], params: &[Variable<'_>]) -> Result<(Signature, u32), LowerError> {
    let mut end = 0;
    let mut slots = |variables: &[Variable<'_>]| {
        let slot = |variable| {
            let shape = layout(variable)?;
            let (at, next) = shape.place_after(end, variable)?;
            end = next;
            let bytes = shape.small_bytes(variable)?;
            Ok(Slot { at, bytes })
        };
        variables.iter().map(slot).collect::<Result<_, LowerError>>()
    };
    let (results, parameters) = (slots(returns)?, slots(params)?);
    Ok((Signature { results, parameters }, end))
}

/// A jump whose label may be defined later.
struct Jump<'m> {
    /// The index of the jump instruction.
    pc: usize,
    /// The target labels; exactly one for [`Op::Branch`].
    labels: Vec<&'m str>,
    /// The number of enclosing scopes in which the labels have not been looked up yet.
    depth: usize,
    at: At,
}

struct Body<'l, 'm> {
    cx: Context<'l, 'm>,
    functions: &'l mut Functions<'m>,
    pointers: &'l mut Vec<Signature>,
    /// The labels of each open scope, with their targets.
    labels: Vec<HashMap<&'m str, Target<'m>>>,
    jumps: Vec<Jump<'m>>,
    loc: Option<Loc>,
    /// The function's results that are in registers.
    results: Vec<expand::RegisterParameter<'m>>,
}

#[derive(Clone)]
enum Target<'m> {
    Pc(u32),
    List(Vec<&'m str>),
    /// The call targets of an indirect call: a list of functions, or a prototype with results and parameters.
    Functions(&'m [&'m str]),
    Prototype(&'m [Variable<'m>], &'m [Variable<'m>]),
}

impl<'m> Body<'_, 'm> {
    fn in_frame(&mut self, variable: &'m Variable<'m>) -> Result<(), LowerError> {
        let at = self.frame_offset(variable)?;
        self.name(variable, Location::Frame(at))
    }

    /// Allocates a variable in the frame, and returns its offset.
    fn frame_offset(&mut self, variable: &Variable<'_>) -> Result<u32, LowerError> {
        let (at, end) = layout(variable)?.place_after(self.cx.func.frame_bytes, variable)?;
        if end > MAX_FRAME {
            return Err(LowerError::invalid(
                "the function needs more local memory than a thread can have",
                variable.at,
            ));
        }
        self.cx.func.frame_bytes = end;
        Ok(at)
    }

    /// Declares a variable in the current scope.
    fn name(&mut self, variable: &'m Variable<'m>, place: Location) -> Result<(), LowerError> {
        self.cx.at = variable.at;
        self.is_new(variable.name, None)?;
        let known = &mut self.cx.scope().variables;
        known.insert(variable.name, (place, variable));
        Ok(())
    }

    fn scope(&mut self, statements: &'m [Statement<'m>]) -> Result<(), LowerError> {
        let depth = self.labels.len() - 1;
        // Labels are visible in their whole scope, so jumps resolve to the innermost scope first.
        for statement in statements {
            match statement {
                Statement::BranchTargets { label, targets, .. } => {
                    self.labels[depth].insert(label, Target::List(targets.clone()));
                }
                Statement::CallTargets { label, targets, .. } => {
                    self.labels[depth].insert(label, Target::Functions(targets));
                }
                Statement::CallPrototype { label, returns, params, .. } => {
                    self.labels[depth].insert(label, Target::Prototype(returns, params));
                }
                Statement::Registers { ty, vector, names, at } => {
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

    fn registers(&mut self, ty: &'m str, vector: u32, names: &'m [(&'m str, Option<u32>)]) -> Result<(), LowerError> {
        for (name, count) in names {
            let first = self.cx.declare(ty, vector, count.unwrap_or(1))?;
            self.is_new(name, *count)?;
            let names = RegisterNames::of(name, *count, first.vector, first.reg);
            self.cx.func.register_names.extend(names);
            let scope = self.cx.scope();
            match count {
                Some(count) => scope.ranges.push((name, *count, first)),
                None => {
                    scope.registers.insert(name, first);
                }
            }
        }
        Ok(())
    }

    /// Rejects a name, or any of `count` numbered names, that the scope already declares.
    fn is_new(&mut self, name: &str, count: Option<u32>) -> Result<(), LowerError> {
        let scope = self.cx.scope();
        let twice = match count {
            None => scope.declares(name).then(|| name.to_owned()),
            Some(count) => {
                let mut numbered = scope.registers.keys().chain(scope.variables.keys());
                let same = |known: &&&str| {
                    let number = known.strip_prefix(name).filter(|rest| *rest == "0" || !rest.starts_with('0'));
                    number.and_then(|number| number.parse().ok()).is_some_and(|number: u32| number < count)
                };
                let of_range = scope.ranges.iter().any(|range| range.0 == name);
                let whole = of_range.then(|| format!("{name}<{count}>"));
                whole.or_else(|| numbered.find(same).map(|name| (*name).to_owned()))
            }
        };
        match twice {
            Some(name) => Err(self.cx.invalid(format!("`{name}` is declared twice"))),
            None => Ok(()),
        }
    }

    fn statement(&mut self, statement: &'m Statement<'m>, depth: usize) -> Result<(), LowerError> {
        match statement {
            Statement::Label { name, at } => {
                let pc = self.cx.func.code.len() as u32;
                if self.labels[depth].insert(name, Target::Pc(pc)).is_some() {
                    return Err(LowerError::invalid(format!("label `{name}` is defined twice"), *at));
                }
            }
            Statement::Variable(variable) => match declarations::variable(variable).map(|()| variable.space)? {
                Space::Local | Space::Param => self.in_frame(variable)?,
                Space::Shared | Space::Global | Space::Const => {
                    let place = self.cx.module_variables.place(variable)?;
                    self.name(variable, place)?;
                }
                Space::Reg | Space::Tex => {
                    return Err(LowerError::unsupported("a variable of this space", variable.at));
                }
            },
            Statement::Loc(loc) => self.loc = Some(*loc),
            Statement::Scope(statements) => {
                self.cx.scopes.push(Scope::default());
                self.labels.push(HashMap::new());
                let jumps = self.jumps.len();
                self.scope(statements)?;
                let labels = self.labels.pop().expect("pushed above");
                self.resolve(jumps, &labels)?;
                self.cx.scopes.pop();
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

    fn instruction(&mut self, inst: &'m Instruction<'m>) -> Result<(), LowerError> {
        let guard = self.cx.guard(inst.guard)?;
        let op = match inst.opcode.split('.').next() {
            Some("bra") => self.branch(inst)?,
            Some("brx") => self.branch_indexed(inst)?,
            Some("call") => return self.call(inst, guard),
            Some("ret") => {
                self.store_results(guard)?;
                return self.decoded(inst, guard);
            }
            _ => return self.expanded(inst, guard),
        };
        self.add(inst, guard, op);
        Ok(())
    }

    /// Decodes an instruction that becomes a single operation.
    fn decoded(&mut self, inst: &Instruction<'_>, guard: Option<Guard>) -> Result<(), LowerError> {
        let op = decode(inst, &mut self.cx)?;
        self.add(inst, guard, op);
        Ok(())
    }

    /// Appends the operation of an instruction.
    fn add(&mut self, inst: &Instruction<'_>, guard: Option<Guard>, op: Op) {
        self.push(guard, op, (inst.at, class(inst.opcode).unwrap_or(Class::Other)));
    }

    fn push(&mut self, guard: Option<Guard>, op: Op, (at, class): (At, Class)) {
        let loc = self.loc;
        self.cx.found.reads.extend(guard.map(|guard| Reg::Pred(guard.pred)));
        self.cx.func.operands.push(&mut self.cx.found);
        self.cx.func.code.push(Inst { guard, op });
        self.cx.func.origins.push(Origin { at, loc, class });
    }

    fn finish(mut self) -> Result<Func, LowerError> {
        let labels = self.labels.pop().expect("the function's outermost scope is still open");
        self.resolve(0, &labels)?;
        let mut func = self.cx.func;
        func.frame_bytes = func.frame_bytes.next_multiple_of(16);
        flow::reconverge(&mut func.code);
        Ok(func)
    }
}
