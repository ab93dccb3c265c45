//! Refusing accesses to shared memory that stayed generic.
//!
//! After optimization a use of a shared static is an access in its own space, or its address has gone
//! where LLVM cannot follow: into memory, into a function that was not inlined, into `asm!`. In the
//! second case the kernel still works, but through slower generic loads and stores, and nothing would
//! report it.

use super::LowerError;
use super::ir::{define, demangled, global_name};
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
        if !line.contains("addrspacecast") {
            continue;
        }
        for space in [Space::Shared, Space::Constant] {
            if let Some(source) = cast_source(line, space) {
                return Err(LowerError::StaysGeneric {
                    space: space.name(),
                    name: origin(source, &body).map_or_else(|| source.to_owned(), demangled),
                    function: demangled(function),
                    line: user_of(line, ir).unwrap_or(line).trim().to_owned(),
                });
            }
        }
    }
    Ok(())
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
