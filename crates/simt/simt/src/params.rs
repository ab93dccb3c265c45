//! The parameters of kernels, and the checks of arguments against them.

use std::fmt;

pub use ptx::{DataType, Declared, Role};

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// The parameter's name.
    pub name: String,
    /// The PTX type: `u64`, `f32`, or `b8` for a struct.
    pub ty: String,
    /// Offset in parameter memory.
    pub offset: u32,
    /// The size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// The declaration in the source, if the text contains it.
    pub declared: Option<Declared>,
}

/// The properties of an argument that the calling program knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// The address of memory with elements of this type.
    Buffer(DataType),
    /// A value of this type.
    Value(DataType),
    /// The null address, or zero.
    Zero(DataType),
}

/// Writes the declaration from the source if known (`n: u32`), otherwise the declaration from PTX: `add_param_4`
/// (.u32).
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.declared {
            Some(declared) => write!(f, "`{declared}`"),
            None => write!(f, "`{}` (.{})", self.name, self.ty),
        }
    }
}

impl Param {
    /// Returns the type of the parameter's value, if it is known from the source or from PTX.
    fn value(&self) -> Option<DataType> {
        match &self.declared {
            Some(Declared { role: Role::Value(ty), .. }) => Some(ty.clone()),
            Some(Declared { role: Role::Length, .. }) => Some(DataType::named("usize")),
            Some(_) => None,
            // PTX's `.s32` is Rust's `i32`. A `.b32` can hold a number of any type.
            None => Some(DataType::named(&self.ty.replace('s', "i"))),
        }
    }
}

/// Checks that a kernel with these parameters accepts these arguments.
///
/// # Errors
/// Returns the reason as a message when the numbers of arguments and parameters differ. Also returns a reason when the
/// size of an argument differs from its parameter's, when the argument is a float but the parameter is an integer, or
/// when only one of the two is a buffer.
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
/// Returns the reason as a message, as [`check`] does for all arguments.
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
            Err(format!("has {given} bytes (`{}`), but the parameter {param} has {}{hint}", ty.name, param.bytes))
        }
        (_, Argument::Buffer(_)) if param.bytes != 8 => {
            Err(format!("is the address of a buffer, which has 8 bytes, but the parameter {param} has {}", param.bytes))
        }
        // A buffer of bytes is valid for any raw pointer, but not for a slice of another type.
        (Some(Role::Pointer(_)), Argument::Buffer(given)) if given.number == Some((false, 1)) => Ok(()),
        (Some(Role::Pointer(element)), Argument::Buffer(given)) if element.number == given.number => Ok(()),
        (Some(Role::Slice(element) | Role::Pointer(element)), Argument::Buffer(given)) => {
            match element.accepts(given) {
                true => Ok(()),
                false => Err(format!("is a buffer of `{}`, but the parameter is {param}", given.name)),
            }
        }
        (Some(Role::Pointer(_)), Argument::Zero(_)) => Ok(()),
        (Some(Role::Slice(_) | Role::Pointer(_)), Argument::Value(given) | Argument::Zero(given)) => {
            Err(format!("is a number (`{}`), but the parameter {param} is an address{hint}", given.name))
        }
        (Some(Role::Value(_) | Role::Length), Argument::Buffer(given)) => {
            Err(format!("is a buffer of `{}`, but the parameter is {param}{hint}", given.name))
        }
        (_, Argument::Value(given) | Argument::Zero(given)) => match param.value().is_none_or(|ty| ty.accepts(given)) {
            true => Ok(()),
            false => Err(format!("is `{}`, but the parameter is {param}{hint}", given.name)),
        },
        (None, Argument::Buffer(_)) => Ok(()),
    }
}

/// Describes the slice parameters of a kernel. A caller passes two arguments for each slice.
fn slices(params: &[Param]) -> String {
    let is_slice = |declared: &&Declared| matches!(declared.role, Role::Slice(_));
    let declared = params.iter().filter_map(|param| param.declared.as_ref());
    let names: Vec<String> = declared.filter(is_slice).map(|slice| format!("`{slice}`")).collect();
    match &names[..] {
        [] => String::new(),
        [name] => format!("; {name} counts twice, as a pointer and a length"),
        names => format!("; {} count twice each, as a pointer and a length", names.join(" and ")),
    }
}
