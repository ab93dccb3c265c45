//! Initializers: the bytes of a variable when the program starts (PTX ISA §5.4.4).

use super::ModuleMemory;
use crate::code::{InitialAddress, ModuleVariable};
use crate::error::LowerError;
use crate::memory::CONST_WINDOW;
use ptx::ast::{Init, Number, Space, Variable};
use ptx::opcode::type_bytes;

/// The maximum distance in bytes of an initial value from the variable's start. All initial bytes are stored, so
/// without this limit, a short text with a value at the end of a large array could use gigabytes.
const MAX_INIT: u64 = 1 << 28;

/// Returns the variable with its initial values.
pub(super) fn fill(
    mut placed: ModuleVariable,
    variable: &Variable<'_>,
    module: &ModuleMemory<'_>,
) -> Result<ModuleVariable, LowerError> {
    if let Some(init) = &variable.init {
        let mut writer =
            Writer { variable, element: u64::from(type_bytes(variable.ty).unwrap_or(1)), memory: &mut placed, module };
        // The stride of each dimension in bytes. If a list has fewer elements than its dimension, the remaining bytes
        // stay zero.
        let mut strides = Vec::new();
        let mut stride = writer.element * u64::from(variable.vector);
        if variable.vector > 1 {
            strides.push(writer.element);
        }
        for dim in variable.dims.iter().rev() {
            strides.push(stride);
            stride = stride.saturating_mul(dim.unwrap_or(1));
        }
        strides.reverse();
        writer.write(init, 0, &strides)?;
    }
    Ok(placed)
}

struct Writer<'w, 'm> {
    variable: &'w Variable<'w>,
    element: u64,
    memory: &'w mut ModuleVariable,
    module: &'w ModuleMemory<'m>,
}

impl Writer<'_, '_> {
    fn unsupported(&self, what: impl std::fmt::Display) -> LowerError {
        LowerError::unsupported(what, self.variable.at)
    }

    fn write(&mut self, init: &Init<'_>, at: u64, strides: &[u64]) -> Result<(), LowerError> {
        self.write_part(init, at, strides, None)
    }

    /// Writes a value, or the byte that a `mask()` selects with a shift.
    fn write_part(&mut self, init: &Init<'_>, at: u64, strides: &[u64], shift: Option<u32>) -> Result<(), LowerError> {
        match init {
            Init::List(items) => {
                let (stride, inner) = match strides {
                    [] => (self.element, strides),
                    [stride, inner @ ..] => (*stride, inner),
                };
                for (index, item) in items.iter().enumerate() {
                    let at = (index as u64).saturating_mul(stride).saturating_add(at);
                    self.write(item, at, inner)?;
                }
                Ok(())
            }
            Init::Number(number) => {
                let bytes = (self.bytes_of(*number) >> shift.unwrap_or(0)).to_le_bytes();
                self.put(at, &bytes[..self.element as usize])
            }
            Init::Address { name, offset, generic } => {
                let module = self.module;
                if let Some(address) = module.functions.get(name) {
                    let address = address.wrapping_add_signed(*offset) >> shift.unwrap_or(0);
                    return match self.element == 8 || shift.is_some() {
                        true => self.put(at, &address.to_le_bytes()[..self.element as usize]),
                        false => Err(self.unsupported(format!(
                            "the address of function `{name}` in an element of {} bytes",
                            self.element
                        ))),
                    };
                }
                let target = module
                    .named(name, self.variable)
                    .ok_or_else(|| LowerError::invalid(format!("there is no variable `{name}`"), self.variable.at))?;
                let number = module.numbers.get(&target.at);
                let is_global = target.space == Space::Global;
                if shift.is_none() && !matches!((self.element, is_global), (8, _) | (4, false)) {
                    let bytes = self.element;
                    let what = format!("the address of `{name}` in an element of {bytes} bytes");
                    return Err(self.unsupported(what));
                }
                // Shared variables do not have an address before a kernel runs (PTX ISA §5.4.4 allows only global and
                // constant variables).
                let Some(number) = number else {
                    let what = format!("the address of `{name}` in an initializer");
                    return Err(self.unsupported(what));
                };
                module.variable(*number)?;
                let window = match *generic && !is_global {
                    true => CONST_WINDOW as i64,
                    false => 0,
                };
                self.memory.addresses.push(InitialAddress {
                    at,
                    bytes: self.element as u32,
                    variable: *number,
                    offset: offset.wrapping_add(window),
                    shift: shift.unwrap_or(0),
                });
                self.put(at, &[0; 8][..self.element as usize])
            }
            Init::Mask { mask, of } => {
                let shift = mask.trailing_zeros() % u64::BITS;
                match *mask == 0xff << shift && self.element == 1 && shift % 8 == 0 {
                    true => self.write_part(of, at, strides, Some(shift)),
                    false => Err(self.unsupported("a mask() in an initializer that is not one byte")),
                }
            }
        }
    }

    /// Returns a number as encoded by the variable's type; excess bits are dropped.
    fn bytes_of(&self, number: Number) -> u128 {
        let is_single = matches!(self.variable.ty, "f32" | "b32");
        u128::from(match number {
            Number::Integer(value) => value,
            // `ptxas` uses the bits of the number, regardless of the type.
            Number::F32(bits) => u64::from(bits),
            Number::F64(bits) if is_single => u64::from((f64::from_bits(bits) as f32).to_bits()),
            Number::F64(bits) => bits,
        })
    }

    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), LowerError> {
        let end = at.saturating_add(bytes.len() as u64);
        if end > self.memory.bytes {
            let message = format!("`{}` has more initial values than elements", self.variable.name);
            return Err(LowerError::invalid(message, self.variable.at));
        }
        if end > MAX_INIT {
            let name = self.variable.name;
            let what = format!("an initial value of `{name}` beyond its first {MAX_INIT} bytes");
            return Err(self.unsupported(what));
        }
        if self.memory.init.len() < end as usize {
            self.memory.init.resize(end as usize, 0);
        }
        self.memory.init[at as usize..end as usize].copy_from_slice(bytes);
        Ok(())
    }
}
