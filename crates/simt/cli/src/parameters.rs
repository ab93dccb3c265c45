//! Compares arguments with the parameters of the kernel.

use super::spec::Spec;
use super::values::Type;
use simt::params::{self, Argument, DataType, Declared, Param, Role};

/// Checks the arguments of a launch, each with its index on the command line.
///
/// # Errors
/// Returns a message with a suggestion when the number, a size or a type of the arguments does not match the
/// parameters.
pub(super) fn check(params: &[Param], args: &[(usize, &Spec)]) -> Result<(), String> {
    if params.len() != args.len() {
        return Err(wrong_count(params, args));
    }
    params.iter().zip(args).try_for_each(|(param, (number, spec))| check_one(param, *number, spec))
}

fn check_one(param: &Param, number: usize, spec: &Spec) -> Result<(), String> {
    if let Some((element, argument)) = buffer(param, spec) {
        let checked = params::check_one(param, &argument);
        return checked.map_err(|why| format!("argument {number} {why}; write {element}[…]"));
    }
    let Param { ty, bytes, .. } = param;
    let name = param.declared.as_ref().map_or_else(|| param.name.clone(), ToString::to_string);
    let (given, size) = match spec {
        Spec::Scalar { ty: Some(scalar_type), bytes } => (format!("has type {}", scalar_type.name()), bytes.len()),
        Spec::Scalar { ty: None, bytes } => ("is written as bytes".to_owned(), bytes.len()),
        Spec::Buffer { .. } => ("is a buffer".to_owned(), 8),
    };
    let problem = if size != *bytes as usize {
        format!("argument {number} has {size} bytes, parameter `{name}` has {bytes} (.{ty})")
    } else if is_of_other_kind(param, spec) {
        format!("argument {number} {given}, parameter `{name}` has type .{ty}")
    } else {
        return Ok(());
    };
    Err(format!("{problem}; write {}", what_to_write(param, spec)))
}

/// Returns the element type that the source declares for a buffer, and the argument to compare with that type, if both
/// are numbers.
fn buffer<'p>(param: &'p Param, spec: &Spec) -> Option<(&'p str, Argument)> {
    let Some(Declared { role: Role::Slice(element) | Role::Pointer(element), .. }) = &param.declared else {
        return None;
    };
    let Spec::Buffer { ty, .. } = spec else { return None };
    element.number.map(|_| (&*element.name, Argument::Buffer(DataType::named(ty.name()))))
}

/// Returns whether the argument is a floating-point number and the parameter an integer, or vice versa.
fn is_of_other_kind(param: &Param, spec: &Spec) -> bool {
    let is_float = match spec {
        Spec::Scalar { ty: Some(scalar_type), .. } => scalar_type.name().starts_with('f'),
        Spec::Scalar { ty: None, .. } => return false,
        Spec::Buffer { .. } => false,
    };
    let has_kind = is_single(param) && !param.ty.starts_with('b');
    has_kind && is_float != param.ty.starts_with('f')
}

/// Returns the number of bits of the parameter's type, or of its elements.
fn bits(param: &Param) -> u32 {
    param.ty.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).parse().unwrap_or(0)
}

/// Returns whether the parameter is a single number, not an array or a struct.
fn is_single(param: &Param) -> bool {
    bits(param) == param.bytes * 8 && param.bytes <= 8
}

/// Suggests an argument that fits the parameter, with the given value if that value is possible.
fn what_to_write(param: &Param, spec: &Spec) -> String {
    if !is_single(param) {
        return format!("its {} bytes as bytes:0a00… or bytes:file:PATH", param.bytes);
    }
    let bits = bits(param);
    let types = match param.ty.starts_with('f') {
        true => vec![format!("f{bits}")],
        false => vec![format!("u{bits}"), format!("i{bits}")],
    };
    let value = match spec {
        Spec::Scalar { ty: Some(scalar_type), bytes } => scalar_type.text(bytes, false),
        _ => String::new(),
    };
    let value = value.strip_suffix(".0").unwrap_or(&value);
    let has_value = |ty: &&String| Type::from_name(ty).is_some_and(|ty| ty.parse(value).is_ok());
    let number = match types.iter().find(has_value) {
        Some(ty) => format!("{ty}:{value}"),
        None => format!("a number such as {}:1", types[0]),
    };
    match types.len() == 2 && bits == 64 {
        true => format!("{number}, or a buffer such as f32[1024]"),
        false => number,
    }
}

/// Describes a wrong number of arguments.
fn wrong_count(params: &[Param], args: &[(usize, &Spec)]) -> String {
    let list: Vec<String> = params.iter().map(ToString::to_string).collect();
    let problem = format!("{} arguments for {} parameters", args.len(), params.len());
    let problem = match list.is_empty() {
        true => problem,
        false => format!("{problem}; note: the parameters are {}", list.join(", ")),
    };
    match slices(params, args) {
        Some(lengths) => {
            format!("{problem}; note: a Rust slice is two parameters, its address and its length; write {lengths}")
        }
        None => problem,
    }
}

/// Suggests the missing lengths, if the parameters come from slices and the arguments contain only the buffers.
fn slices(params: &[Param], args: &[(usize, &Spec)]) -> Option<String> {
    let is_word = |param: &Param| param.bytes == 8 && is_single(param) && !param.ty.starts_with('f');
    let mut missing = params.len().checked_sub(args.len())?;
    let mut lengths = Vec::new();
    let mut params = params;
    for (number, spec) in args {
        match (spec, params) {
            (Spec::Buffer { count, .. }, [address, length, rest @ ..])
                if missing > 0 && is_word(address) && is_word(length) =>
            {
                lengths.push(format!("u64:{count} after argument {number}"));
                (missing, params) = (missing - 1, rest);
            }
            (spec, [param, rest @ ..]) if check_one(param, *number, spec).is_ok() => params = rest,
            _ => return None,
        }
    }
    (missing == 0).then(|| lengths.join(", "))
}
