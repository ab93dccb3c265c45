//! Refusing accesses to shared memory that stayed generic.
//!
//! After optimization a use of a shared static is an access in its own space, or its address has gone
//! where LLVM cannot follow: into memory, into a function that was not inlined, into `asm!`. In the
//! second case the kernel still works, but through slower generic loads and stores, and nothing would
//! report it.
//!
//! Writes to constant memory are refused here too.

use std::collections::HashSet;

use super::LowerError;
use super::ir::{define, demangled, function_at, global_name};
use super::place::Place;
use super::spaces::Space;

/// Reads optimized IR and finds the first access that lost its address space.
///
/// # Errors
/// [`LowerError::StaysGeneric`] when such an access is found. It names the static, the function and the
/// instruction.
pub fn verify(ir: &str) -> Result<(), LowerError> {
    let mut function = "";
    let mut body: Vec<&str> = Vec::new();
    for line in ir.lines() {
        if let Some(define) = define(line) {
            function = define.name;
            body.clear();
        }
        body.push(line);
        // Only in a function's body; elsewhere it can stand in a string.
        if !line.starts_with(' ') || !line.contains("addrspacecast") {
            continue;
        }
        for space in [Space::Shared, Space::Constant] {
            if let Some(source) = cast_source(line, space) {
                let user = user_of(line, ir).unwrap_or(line);
                return Err(LowerError::StaysGeneric {
                    space: space.name(),
                    name: origin(source, &body).map_or_else(|| source.to_owned(), demangled),
                    function: demangled(function),
                    line: user.trim().to_owned(),
                    place: Place::of(ir, user),
                });
            }
        }
    }
    Ok(())
}

/// The IR with the constants in memory that can be written, if a kernel could try: LLVM removes stores to constants.
pub fn with_writable_constants(lowered: &str) -> Option<String> {
    let marked = format!(" addrspace({}) global ", Space::Constant.number());
    let is_variable = |line: &str| line.starts_with('@') && line.contains(&marked);
    if !lowered.lines().any(is_variable) {
        return None;
    }
    // The functions of memory are named for the address spaces of their pointers.
    let number = format!("addrspace({})", Space::Constant.number());
    let writable = |line: &str| {
        // A variable that others see is one whose stores stay.
        let line = if is_variable(line) { line.replacen("= internal ", "= ", 1) } else { line.to_owned() };
        line.replace(&number, "addrspace(1)") + "\n"
    };
    Some(lowered.lines().map(writable).collect())
}

/// Reads such IR after its optimization, and finds the first write to a constant.
///
/// # Errors
/// [`LowerError::WritesConstant`] when there is one. It names the static, the function and the instruction.
pub fn refuse_writes(optimized: &str, lowered: &str) -> Result<(), LowerError> {
    let marked = format!(" addrspace({}) ", Space::Constant.number());
    let declarations = lowered.lines().filter(|line| line.starts_with('@') && line.contains(&marked));
    let constants: HashSet<&str> = declarations.filter_map(|line| Some(global_name(line)?.0)).collect();
    let mut body: Vec<&str> = Vec::new();
    for line in optimized.lines() {
        if define(line).is_some() {
            body.clear();
        }
        body.push(line);
        let written = written(line).and_then(|pointer| origin(pointer, &body));
        if let Some(name) = written.filter(|name| constants.contains(name)) {
            return Err(LowerError::WritesConstant {
                name: demangled(name),
                function: demangled(function_at(optimized, line).map_or("", |it| it.name)),
                line: line.trim().to_owned(),
                place: Place::of(optimized, line),
            });
        }
    }
    Ok(())
}

/// The pointer through which an instruction writes.
fn written(line: &str) -> Option<&str> {
    let code = line.strip_prefix("  ")?;
    let (_, instruction) = code.split_once(" = ").filter(|_| code.starts_with('%')).unwrap_or(("", code));
    let instruction = instruction.trim_start_matches("tail ");
    let pointers = instruction.match_indices("ptr addrspace(1) ");
    let (at, pointer) = match instruction.split(' ').next()? {
        // Behind the value, which may be a pointer too.
        "store" => pointers.last()?,
        "atomicrmw" | "cmpxchg" => pointers.into_iter().next()?,
        "call" if instruction.contains("@llvm.mem") => pointers.into_iter().next()?,
        _ => return None,
    };
    // Attributes of an argument can stand before it.
    let rest = &instruction[at + pointer.len()..];
    let rest = &rest[rest.find(['@', '%'])?..];
    // A constant expression's one global is what is written.
    rest.split([' ', ',', ')']).next()
}

/// The operand of a cast to a generic pointer on this line: `@TILE`, or a value such as `%12`.
fn cast_source(line: &str, space: Space) -> Option<&str> {
    // Debug records describe values; they access nothing.
    if line.trim_start().starts_with("#dbg_") {
        return None;
    }
    let pattern = format!("ptr addrspace({}) ", space.number());
    for cast in ["addrspacecast (", "addrspacecast "] {
        if let Some(from) = line.find(&format!("{cast}{pattern}")) {
            let value = &line[from + cast.len() + pattern.len()..];
            // A constant expression may stand between: its one global is what is cast.
            let value = match value.find('@') {
                Some(at) if !value.starts_with('%') => &value[at..],
                _ => value,
            };
            return value.split([' ', ',', ')']).next();
        }
    }
    None
}

/// Follows a value back to the static that it points into.
fn origin<'a>(value: &'a str, body: &[&'a str]) -> Option<&'a str> {
    let mut value = value;
    for _ in 0..64 {
        if let Some((name, _)) = global_name(value) {
            return Some(name);
        }
        let assigned = format!("{value} = ");
        let line = body.iter().rev().find(|line| line.trim_start().starts_with(&assigned))?;
        let right = line.split_once(" = ")?.1;
        let at = right.find("ptr addrspace(").or_else(|| right.find('@'))?;
        let next = right[at..].find(['@', '%']).map(|found| at + found)?;
        value = right[next..].split([' ', ',', ')', ']']).next()?;
    }
    None
}

/// The instruction that uses the value assigned on this line. It says more to the reader than the cast
/// itself.
fn user_of<'a>(line: &'a str, ir: &'a str) -> Option<&'a str> {
    let (value, _) = line.trim_start().split_once(" = addrspacecast ")?;
    let after = &ir[line.as_ptr() as usize - ir.as_ptr() as usize + line.len()..];
    after.lines().take_while(|line| *line != "}").find(|line| {
        line.match_indices(value)
            .any(|(at, _)| !line[at + value.len()..].starts_with(|c: char| c.is_alphanumeric() || "._".contains(c)))
    })
}

#[cfg(test)]
mod tests;
