//! Variables: how large they are, where they lie in their state space, and the bytes that they hold when
//! a kernel starts.

mod initial;

use std::collections::HashMap;

use crate::code::Program;
use crate::error::LowerError;
use ptx::ast::{Linkage, Module, Space, Variable};
use ptx::opcode::type_bytes;

/// The size of constant memory: one bank of the hardware's (CUDA C++ Programming Guide, "Technical Specifications").
const MAX_CONSTANT: u32 = 64 * 1024;
/// Static shared memory of a block (CUDA C++ Programming Guide, "Technical Specifications").
const MAX_SHARED: u32 = 48 * 1024;
/// The largest size of a variable in global memory here.
const MAX_GLOBAL: u64 = 1 << 32;

/// The size and alignment of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) bytes: u64,
    pub(crate) align: u32,
}

impl Layout {
    /// The size, of something that has to fit into 32 bits.
    pub(crate) fn small_bytes(self, variable: &Variable<'_>) -> Result<u32, LowerError> {
        u32::try_from(self.bytes).map_err(|_| too_large(variable))
    }

    /// Places the variable in a space of which `used` bytes are taken: its offset, and how many bytes are taken then.
    pub(crate) fn place_behind(
        self,
        used: u32,
        variable: &Variable<'_>,
    ) -> Result<(u32, u32), LowerError> {
        let at = used
            .checked_next_multiple_of(self.align)
            .ok_or_else(|| too_large(variable))?;
        let end = at
            .checked_add(self.small_bytes(variable)?)
            .ok_or_else(|| too_large(variable))?;
        Ok((at, end))
    }
}

fn too_large(variable: &Variable<'_>) -> LowerError {
    let message = format!("`{}` is larger than its state space", variable.name);
    LowerError::invalid(message, variable.at)
}

/// The size and alignment of a declared variable.
pub(crate) fn layout(variable: &Variable<'_>) -> Result<Layout, LowerError> {
    let element = type_bytes(variable.ty).ok_or_else(|| {
        LowerError::unsupported(format!("a variable of type .{}", variable.ty), variable.at)
    })? * variable.vector;
    let mut bytes = u64::from(element);
    for (at, dim) in variable.dims.iter().enumerate() {
        let length = match dim {
            Some(length) => *length,
            // `x[] = {1, 2, 3}` takes its length from its initializer; `extern x[]` has none.
            None if at == 0 => match &variable.init {
                Some(ptx::ast::Init::List(items)) => items.len() as u64,
                _ => 0,
            },
            None => {
                let message = "only the first dimension may be left open";
                return Err(LowerError::invalid(message, variable.at));
            }
        };
        bytes = bytes
            .checked_mul(length)
            .ok_or_else(|| too_large(variable))?;
    }
    let align = variable.align.unwrap_or(element).max(1);
    if !align.is_power_of_two() || align > 1 << 16 {
        let message = format!("an alignment of {align} is no power of two");
        return Err(LowerError::invalid(message, variable.at));
    }
    Ok(Layout { bytes, align })
}

/// The place of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// Offset in shared memory.
    Shared(u32),
    /// Dynamic shared memory, which begins behind the static.
    DynamicShared,
    /// Number among the module's global variables that the kernel uses.
    Global(u32),
    /// Offset in constant memory.
    Constant(u32),
    /// Offset in the frame's local memory.
    Frame(u32),
    /// Offset in the kernel's parameter memory.
    Param(u32),
}

/// The variables of a kernel and of the functions that it can reach.
pub(crate) struct Variables<'m> {
    module_scope: HashMap<&'m str, &'m Variable<'m>>,
    placed: HashMap<&'m str, Location>,
    shared_bytes: u32,
    constant_bytes: u32,
    globals: Vec<&'m Variable<'m>>,
    constants: Vec<(&'m Variable<'m>, u32)>,
}

impl<'m> Variables<'m> {
    pub(crate) fn new(module: &'m Module<'m>) -> Self {
        let mut module_scope = HashMap::new();
        for variable in &module.variables {
            // A definition takes precedence over a declaration of the same name.
            let known = module_scope.entry(variable.name).or_insert(variable);
            if known.linkage == Linkage::Extern {
                *known = variable;
            }
        }
        Self {
            module_scope,
            placed: HashMap::new(),
            shared_bytes: 0,
            constant_bytes: 0,
            globals: Vec::new(),
            constants: Vec::new(),
        }
    }

    pub(crate) fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// The place of the module-scope variable of this name. The variable is placed when it is first asked for.
    pub(crate) fn module_scope(&mut self, name: &str) -> Option<Result<Location, LowerError>> {
        if let Some(place) = self.placed.get(name) {
            return Some(Ok(*place));
        }
        let variable = *self.module_scope.get(name)?;
        let place = self.place(variable);
        if let Ok(place) = place {
            self.placed.insert(variable.name, place);
        }
        Some(place)
    }

    /// Gives a variable in shared, global or constant memory its place.
    pub(crate) fn place(&mut self, variable: &'m Variable<'m>) -> Result<Location, LowerError> {
        let layout = layout(variable)?;
        Ok(match variable.space {
            Space::Shared if variable.linkage == Linkage::Extern => Location::DynamicShared,
            Space::Shared => {
                let (at, end) = layout.place_behind(self.shared_bytes, variable)?;
                if end > MAX_SHARED {
                    let name = variable.name;
                    let message = format!(
                        "with `{name}`, there are {end} bytes of static shared memory: {MAX_SHARED} is the most"
                    );
                    return Err(LowerError::invalid(message, variable.at));
                }
                self.shared_bytes = end;
                Location::Shared(at)
            }
            Space::Global => {
                if variable.linkage == Linkage::Extern {
                    let name = variable.name;
                    let what = format!("`{name}`, declared here and defined in another module,");
                    return Err(LowerError::unsupported(what, variable.at));
                }
                if layout.bytes > MAX_GLOBAL {
                    return Err(too_large(variable));
                }
                self.globals.push(variable);
                Location::Global(self.globals.len() as u32 - 1)
            }
            Space::Const => {
                let (at, end) = layout.place_behind(self.constant_bytes, variable)?;
                if end > MAX_CONSTANT {
                    return Err(too_large(variable));
                }
                self.constant_bytes = end;
                self.constants.push((variable, at));
                Location::Constant(at)
            }
            Space::Reg | Space::Local | Space::Param | Space::Tex => {
                let what = format!(
                    "`{}`, a module-scope variable of this space,",
                    variable.name
                );
                return Err(LowerError::unsupported(what, variable.at));
            }
        })
    }

    /// Gives the program the contents of the placed variables' memory when a kernel starts.
    pub(crate) fn into_memory(mut self, program: &mut Program) -> Result<(), LowerError> {
        let mut constants = 0;
        // An initializer may hold the address of a variable that nothing else mentions.
        loop {
            if let Some(variable) = self.globals.get(program.globals.len()).copied() {
                let memory = initial::memory_of(variable, &mut self)?;
                program.globals.push(memory);
            } else if let Some((variable, at)) = self.constants.get(constants).copied() {
                constants += 1;
                let memory = initial::memory_of(variable, &mut self)?;
                let from = at as usize;
                program.constants.resize(self.constant_bytes as usize, 0);
                program.constants[from..from + memory.init.len()].copy_from_slice(&memory.init);
                let addresses = memory.addresses.iter();
                let addresses =
                    addresses.map(|(byte, of, offset)| (byte + u64::from(at), *of, *offset));
                program.constant_addresses.extend(addresses);
            } else {
                return Ok(());
            }
        }
    }
}
