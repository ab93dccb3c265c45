//! Variables: their sizes, their locations in the state spaces, and their initial bytes.

mod initial;
mod module;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::error::LowerError;
use ptx::ast::{At, Linkage, Space, Variable};
use ptx::opcode::type_bytes;

pub(crate) use module::ModuleMemory;

/// The size in bytes of constant memory, which is one bank of the hardware (CUDA C++ Programming Guide, "Technical
/// Specifications").
pub(crate) const MAX_CONSTANT: u32 = 64 * 1024;
/// The maximum size in bytes of a block's static shared memory (CUDA C++ Programming Guide, "Technical
/// Specifications").
const MAX_SHARED: u32 = 48 * 1024;
/// The maximum size in bytes that the simulator allows for a variable in global memory.
const MAX_GLOBAL: u64 = 1 << 32;

/// The size and alignment of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) bytes: u64,
    pub(crate) align: u32,
}

impl Layout {
    /// Returns the size as a `u32`, or an error if the variable is too large.
    pub(crate) fn small_bytes(self, variable: &Variable<'_>) -> Result<u32, LowerError> {
        u32::try_from(self.bytes).map_err(|_| too_large(variable))
    }

    /// Places the variable after the first `used` bytes of a state space. Returns the variable's offset and the new
    /// number of used bytes.
    pub(crate) fn place_after(self, used: u32, variable: &Variable<'_>) -> Result<(u32, u32), LowerError> {
        let at = used.checked_next_multiple_of(self.align).ok_or_else(|| too_large(variable))?;
        let end = at.checked_add(self.small_bytes(variable)?).ok_or_else(|| too_large(variable))?;
        Ok((at, end))
    }
}

fn too_large(variable: &Variable<'_>) -> LowerError {
    let message = format!("`{}` is larger than its state space", variable.name);
    LowerError::invalid(message, variable.at)
}

/// Returns the size and alignment of a declared variable.
pub(crate) fn layout(variable: &Variable<'_>) -> Result<Layout, LowerError> {
    let element = type_bytes(variable.ty)
        .ok_or_else(|| LowerError::unsupported(format!("a variable of type .{}", variable.ty), variable.at))?
        * variable.vector;
    let mut bytes = u64::from(element);
    for (at, dim) in variable.dims.iter().enumerate() {
        let length = match dim {
            Some(length) => *length,
            // `x[] = {1, 2, 3}` gets its length from its initializer; `extern x[]` has length 0.
            None if at == 0 => match &variable.init {
                Some(ptx::ast::Init::List(items)) => items.len() as u64,
                _ => 0,
            },
            None => {
                let message = "only the first dimension may be omitted";
                return Err(LowerError::invalid(message, variable.at));
            }
        };
        bytes = bytes.checked_mul(length).ok_or_else(|| too_large(variable))?;
    }
    let align = variable.align.unwrap_or(element).max(1);
    if !align.is_power_of_two() || align > 1 << 16 {
        let message = format!("the alignment {align} is not a power of two from 1 to 65536");
        return Err(LowerError::invalid(message, variable.at));
    }
    Ok(Layout { bytes, align })
}

/// The location of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// Offset in shared memory.
    Shared(u32),
    /// Dynamic shared memory, which follows the static shared memory.
    DynamicShared,
    /// The number of a module variable in global or constant memory.
    Global(u32),
    /// Offset in constant memory.
    Constant(u32),
    /// Offset in the frame's local memory.
    Frame(u32),
    /// Offset in the kernel's parameter memory.
    Param(u32),
}

/// The variables of a kernel and of the functions that are reachable from it.
pub(crate) struct Variables<'m> {
    memory: &'m ModuleMemory<'m>,
    /// The locations of shared variables, by the position of their declaration.
    shared: HashMap<At, Location>,
    shared_bytes: u32,
    /// The names of shared variables, and their address ranges.
    pub(crate) shared_names: Vec<(String, Range<u64>)>,
    reached: BTreeSet<u32>,
}

impl<'m> Variables<'m> {
    pub(crate) fn new(memory: &'m ModuleMemory<'m>) -> Self {
        Self { memory, shared: HashMap::new(), shared_bytes: 0, shared_names: Vec::new(), reached: BTreeSet::new() }
    }

    pub(crate) fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Returns the numbers of the variables in global and constant memory that are reachable from the kernel.
    pub(crate) fn reached(self) -> Vec<u32> {
        self.reached.into_iter().collect()
    }

    /// Returns the address of the function with this name.
    pub(crate) fn function(&self, name: &str) -> Option<u64> {
        self.memory.functions.get(name).copied()
    }

    /// Returns the location of the module-scope variable with this name.
    pub(crate) fn module_scope(&mut self, name: &str) -> Option<Result<Location, LowerError>> {
        let variable = *self.memory.by_name.get(name)?;
        Some(self.place(variable))
    }

    /// Returns the location of a variable in shared, global or constant memory. A shared variable is placed on first
    /// use.
    pub(crate) fn place(&mut self, variable: &'m Variable<'m>) -> Result<Location, LowerError> {
        if let Some(number) = self.memory.numbers.get(&variable.at) {
            return self.reach(*number);
        }
        if let Some(place) = self.shared.get(&variable.at) {
            return Ok(*place);
        }
        let layout = layout(variable)?;
        let place = match variable.space {
            Space::Shared if variable.linkage == Linkage::Extern => Location::DynamicShared,
            Space::Shared => {
                let (at, end) = layout.place_after(self.shared_bytes, variable)?;
                if end > MAX_SHARED {
                    let name = variable.name;
                    let message =
                        format!("with `{name}`, static shared memory has {end} bytes, but the maximum is {MAX_SHARED}");
                    return Err(LowerError::invalid(message, variable.at));
                }
                self.shared_bytes = end;
                let range = u64::from(at)..u64::from(end);
                self.shared_names.push((variable.name.to_owned(), range));
                Location::Shared(at)
            }
            _ => {
                let what = format!("`{}`, a module-scope variable of this space,", variable.name);
                return Err(LowerError::unsupported(what, variable.at));
            }
        };
        self.shared.insert(variable.at, place);
        Ok(place)
    }

    /// Returns the location of a variable in global or constant memory. Marks the variable as reachable from the
    /// kernel, and also all variables whose addresses the initial value contains.
    fn reach(&mut self, number: u32) -> Result<Location, LowerError> {
        let mut next = vec![number];
        while let Some(number) = next.pop() {
            let variable = self.memory.variable(number)?;
            if self.reached.insert(number) {
                next.extend(variable.addresses.iter().map(|address| address.variable));
            }
        }
        let constant = self.memory.variable(number)?.constant_at;
        Ok(constant.map_or(Location::Global(number), Location::Constant))
    }
}
