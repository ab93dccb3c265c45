//! The variables of a module in global and constant memory, which exist while the module is loaded.

use std::collections::HashMap;

use ptx::ast::{At, Linkage, Module, Space, Span, Statement, Variable};

use super::{MAX_CONSTANT, MAX_GLOBAL, initial, layout, too_large};
use crate::code::{FUNCTION_BYTES, FUNCTIONS, ModuleVariable};
use crate::error::LowerError;

/// The variables of a module in global and constant memory, including the variables declared in functions.
pub(crate) struct ModuleMemory<'m> {
    /// The variables at module scope, in all state spaces.
    pub(super) by_name: HashMap<&'m str, &'m Variable<'m>>,
    /// The variables that functions declare, each with the range of its function in the text.
    locals: Vec<(Span, &'m Variable<'m>)>,
    /// The numbers of variables, by the position of their declaration.
    pub(super) numbers: HashMap<At, u32>,
    /// The addresses of functions, by name and alias.
    pub(crate) functions: HashMap<&'m str, u64>,
    /// The variables by number; an error for a variable that kernels cannot use.
    pub(crate) variables: Vec<Result<ModuleVariable, LowerError>>,
}

impl<'m> ModuleMemory<'m> {
    pub(crate) fn new(module: &'m Module<'m>) -> Self {
        let mut by_name = HashMap::new();
        for variable in &module.variables {
            // A definition takes precedence over a declaration of the same name.
            let known = by_name.entry(variable.name).or_insert(variable);
            if known.linkage == Linkage::Extern {
                *known = variable;
            }
        }
        let mut locals = Vec::new();
        for function in &module.functions {
            variables_in(function.body.as_deref().unwrap_or_default(), function.span, &mut locals);
        }
        let mut declared: Vec<_> = module.variables.iter().collect();
        declared.retain(|variable| std::ptr::eq(by_name[variable.name], *variable));
        declared.extend(locals.iter().map(|(_, variable)| *variable));
        declared.retain(|variable| matches!(variable.space, Space::Global | Space::Const));

        let mut constant_bytes = 0;
        let place = |variable: &&Variable<'_>| place(variable, &mut constant_bytes);
        let numbers = declared.iter().map(|variable| variable.at).zip(0..);
        let mut functions = HashMap::new();
        let functions_of = module.functions.iter().zip(0..);
        for (function, number) in functions_of.filter(|(function, _)| !function.entry) {
            let address = FUNCTIONS + FUNCTION_BYTES * number;
            functions.entry(function.name).or_insert(address);
        }
        for (alias, function) in &module.aliases {
            if let Some(address) = functions.get(function) {
                functions.insert(alias, *address);
            }
        }
        let mut memory = Self {
            by_name,
            locals,
            functions,
            numbers: numbers.collect(),
            variables: declared.iter().map(place).collect(),
        };
        for (number, variable) in declared.iter().enumerate() {
            if let Ok(placed) = &memory.variables[number] {
                memory.variables[number] = initial::fill(placed.clone(), variable, &memory);
            }
        }
        memory
    }

    /// Returns the variable that `name` refers to in the initializer of the variable `of`.
    pub(super) fn named(&self, name: &str, of: &Variable<'_>) -> Option<&'m Variable<'m>> {
        let mut locals = self.locals.iter();
        let local =
            locals.find(|(function, local)| local.name == name && (function.start..function.end).contains(&of.at));
        local.map(|(_, local)| *local).or_else(|| self.by_name.get(name).copied())
    }

    /// Returns a variable by its number.
    pub(super) fn variable(&self, number: u32) -> Result<&ModuleVariable, LowerError> {
        self.variables[number as usize].as_ref().map_err(Clone::clone)
    }
}

/// Collects the variables declared in a function's body.
fn variables_in<'m>(statements: &'m [Statement<'m>], function: Span, found: &mut Vec<(Span, &'m Variable<'m>)>) {
    for statement in statements {
        match statement {
            Statement::Variable(variable) => found.push((function, variable)),
            Statement::Scope(statements) => variables_in(statements, function, found),
            _ => {}
        }
    }
}

/// Places a variable, without its initial values.
fn place(variable: &Variable<'_>, constant_bytes: &mut u32) -> Result<ModuleVariable, LowerError> {
    if variable.linkage == Linkage::Extern {
        let name = variable.name;
        let what = format!("`{name}`, which is declared here and defined in another module,");
        return Err(LowerError::unsupported(what, variable.at));
    }
    let layout = layout(variable)?;
    let mut constant_at = None;
    if variable.space == Space::Const {
        let (at, end) = layout.place_after(*constant_bytes, variable)?;
        if end > MAX_CONSTANT {
            return Err(too_large(variable));
        }
        *constant_bytes = end;
        constant_at = Some(at);
    } else if layout.bytes > MAX_GLOBAL {
        return Err(too_large(variable));
    }
    Ok(ModuleVariable {
        name: variable.name.to_owned(),
        bytes: layout.bytes,
        align: layout.align,
        constant_at,
        is_visible: variable.linkage != Linkage::Internal,
        is_managed: variable.is_managed,
        init: Vec::new(),
        addresses: Vec::new(),
    })
}
