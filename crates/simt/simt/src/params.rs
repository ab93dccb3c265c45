//! The parameters of kernels, and whether arguments fit them.

use std::fmt;

pub use ptx::{DataType, Declared, Role};

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its PTX type: `u64`, `f32`, `b8` for a struct.
    pub ty: String,
    /// Offset in parameter memory.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// What the source says of it, if the text has that.
    pub declared: Option<Declared>,
}

/// What a program knows of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// The address of memory with elements of this type.
    Buffer(DataType),
    /// A value of this type.
    Value(DataType),
    /// The null address, or zero.
    Zero(DataType),
}

/// As the source has it, or else as PTX has it: `n: u32`, or `add_param_4` (.u32).
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.declared {
            Some(declared) => write!(f, "`{declared}`"),
            None => write!(f, "`{}` (.{})", self.name, self.ty),
        }
    }
}

impl Param {
    /// The type of its value, if the source or the PTX says it.
    fn value(&self) -> Option<DataType> {
        match &self.declared {
            Some(Declared { role: Role::Value(ty), .. }) => Some(ty.clone()),
            Some(Declared { role: Role::Length, .. }) => Some(DataType::named("usize")),
            Some(_) => None,
            // In PTX an integer is `.s32` where Rust has `i32`. `.b32` is any number.
            None => Some(DataType::named(&self.ty.replace('s', "i"))),
        }
    }
}

/// Checks that a kernel with these parameters accepts arguments of these kinds.
///
/// # Errors
/// The reason, in words, when there are more or fewer arguments than parameters, and when an argument has another size, is a
/// float in place of an integer, or is a buffer in place of a number, or the other way around.
pub fn check(params: &[Param], arguments: &[Argument]) -> Result<(), String> {
    if params.len() != arguments.len() {
        return Err(format!("{} arguments for {} parameters{}", arguments.len(), params.len(), slices(params)));
    }
    params.iter().zip(arguments).enumerate().try_for_each(|(index, (param, argument))| {
        check_one(param, argument).map_err(|why| format!("argument {index} {why}"))
    })
}

/// Checks one argument against its parameter.
///
/// # Errors
/// Returns the reason in words, as [`check`] does for all arguments.
pub fn check_one(param: &Param, argument: &Argument) -> Result<(), String> {
    let role = param.declared.as_ref().map(|declared| &declared.role);
    let hint = match role {
        Some(Role::Slice(_) | Role::Length) => "; a slice takes two arguments: its pointer and its length",
        _ => "",
    };
    match (role, argument) {
        (_, Argument::Value(ty) | Argument::Zero(ty))
            if ty.bytes.is_some_and(|bytes| bytes != u64::from(param.bytes)) =>
        {
            let given = ty.bytes.unwrap_or_default();
            Err(format!("has {given} bytes (`{}`), the parameter {param} has {}{hint}", ty.name, param.bytes))
        }
        (_, Argument::Buffer(_)) if param.bytes != 8 => {
            Err(format!("is the address of a buffer, which has 8 bytes; the parameter {param} has {}", param.bytes))
        }
        // A buffer of bytes fits any raw pointer, but not a slice of another type.
        (Some(Role::Pointer(_)), Argument::Buffer(given)) if given.number == Some((false, 1)) => Ok(()),
        (Some(Role::Pointer(element)), Argument::Buffer(given)) if element.number == given.number => Ok(()),
        (Some(Role::Slice(element) | Role::Pointer(element)), Argument::Buffer(given)) => {
            match element.accepts(given) {
                true => Ok(()),
                false => Err(format!("is a buffer of `{}`, the parameter is {param}", given.name)),
            }
        }
        (Some(Role::Pointer(_)), Argument::Zero(_)) => Ok(()),
        (Some(Role::Slice(_) | Role::Pointer(_)), Argument::Value(given) | Argument::Zero(given)) => {
            Err(format!("is a number (`{}`), the parameter {param} is an address of memory{hint}", given.name))
        }
        (Some(Role::Value(_) | Role::Length), Argument::Buffer(given)) => {
            Err(format!("is a buffer of `{}`, the parameter is {param}{hint}", given.name))
        }
        (_, Argument::Value(given) | Argument::Zero(given)) => match param.value().is_none_or(|ty| ty.accepts(given)) {
            true => Ok(()),
            false => Err(format!("is `{}`, the parameter is {param}{hint}", given.name)),
        },
        (None, Argument::Buffer(_)) => Ok(()),
    }
}

/// Names the slices of a kernel, which take two arguments each.
fn slices(params: &[Param]) -> String {
    let is_slice = |own: &&Declared| matches!(own.role, Role::Slice(_));
    let declared = params.iter().filter_map(|param| param.declared.as_ref());
    let names: Vec<String> = declared.filter(is_slice).map(|own| format!("`{own}`")).collect();
    match &names[..] {
        [] => String::new(),
        [name] => format!("; {name} counts twice, as a pointer and a length"),
        names => format!("; {} count twice each, as a pointer and a length", names.join(" and ")),
    }
}
