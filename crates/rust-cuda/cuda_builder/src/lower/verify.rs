//! Checks optimized IR for generic accesses to statics in other address spaces, for tables of their addresses, and for
//! writes to constants.
//!
//! After optimization, a use of a shared static is normally an access to shared memory. LLVM cannot follow the static's
//! address through memory, a function that is not inlined, `asm!`, or a choice between address spaces. In those cases,
//! the kernel still works, but with slower generic loads and stores, which nothing else reports. Comparing or
//! subtracting addresses is not an access.

use std::collections::{HashMap, HashSet};

use super::LowerError;
use super::ir::{closing, define, demangled, function_at, global_name, locals};
use super::place::Place;
use super::spaces::{self, Space};

/// A static in another address space: its symbol, or a value that points into it if the symbol is unknown.
type Marked<'a> = (Space, &'a str);

/// Finds generic accesses to marked statics. Returns the first access to each static in each function, as
/// [`LowerError::StaysGeneric`].
pub fn generic_accesses(ir: &str) -> Vec<LowerError> {
    let mut found = Vec::new();
    let mut function = "";
    let mut body: Vec<&str> = Vec::new();
    for line in ir.lines() {
        if let Some(define) = define(line) {
            function = define.name;
            body.clear();
        }
        body.push(line);
        if line != "}" || !body.iter().any(|line| line.contains("addrspacecast")) {
            continue;
        }
        let addresses = generic_addresses(&body);
        let mut reported = HashSet::new();
        for line in &body {
            let source = instruction(line).filter(|(_, text)| is_access(text));
            let source = source.and_then(|(_, text)| generic_operand(text, &addresses, &body));
            let Some((space, name)) = source.filter(|source| reported.insert(*source)) else {
                continue;
            };
            found.push(LowerError::StaysGeneric {
                space: space.name(),
                name: demangled(name),
                function: demangled(function),
                line: line.trim().to_owned(),
                place: Place::of(ir, line),
            });
        }
    }
    found
}

/// Returns the values of a function that are generic addresses in marked statics.
fn generic_addresses<'a>(body: &[&'a str]) -> HashMap<&'a str, Marked<'a>> {
    let mut addresses = HashMap::new();
    loop {
        let known = addresses.len();
        for (result, text) in body.iter().filter_map(|line| instruction(line)) {
            if result.is_empty() || addresses.contains_key(result) || !is_address_of_operand(text) {
                continue;
            }
            if let Some(source) = generic_operand(text, &addresses, body) {
                addresses.insert(result, source);
            }
        }
        // In a loop, a value can depend on later values.
        if addresses.len() == known {
            return addresses;
        }
    }
}

/// Returns the name of an instruction's result (empty if it has none), and the instruction itself. Debug records are
/// not instructions.
pub(super) fn instruction(line: &str) -> Option<(&str, &str)> {
    let code = line.strip_prefix("  ").filter(|code| !code.trim_start().starts_with("#dbg_"))?;
    let (result, text) = code.split_once(" = ").filter(|_| code.starts_with('%')).unwrap_or(("", code));
    let prefixes = ["tail ", "musttail ", "notail "];
    Some((result, prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text)))
}

/// Returns whether an instruction accesses memory at the addresses among its operands, or passes them to code that this
/// module does not analyze.
fn is_access(text: &str) -> bool {
    const ONLY_NAMED: [&str; 3] = ["@llvm.lifetime.", "@llvm.assume(", "@llvm.nvvm.isspacep."];
    match text.split(' ').next().unwrap_or_default() {
        "load" | "store" | "atomicrmw" | "cmpxchg" | "ret" => true,
        "call" => !ONLY_NAMED.iter().any(|name| text.contains(name)),
        _ => false,
    }
}

/// Returns whether an instruction's result is or contains a generic address if one of its operands is or contains one.
fn is_address_of_operand(text: &str) -> bool {
    match text.split(' ').next().unwrap_or_default() {
        "addrspacecast" => !text.rsplit_once(" to ").is_some_and(|(_, to)| to.starts_with("ptr addrspace(")),
        "getelementptr" | "phi" | "select" | "freeze" | "ptrtoint" | "inttoptr" | "add" | "or" | "and"
        | "insertvalue" | "extractvalue" | "insertelement" | "extractelement" | "shufflevector" => true,
        _ => false,
    }
}

/// Returns the static that a generic address among the operands points into.
fn generic_operand<'a>(text: &'a str, addresses: &HashMap<&str, Marked<'a>>, body: &[&'a str]) -> Option<Marked<'a>> {
    Space::MARKED.into_iter().find_map(|space| Some((space, cast_source(text, space, body)?))).or_else(|| {
        // A module without casts has no such addresses.
        let mut locals = locals(text).filter(|_| !addresses.is_empty());
        locals.find_map(|name| addresses.get(name).copied())
    })
}

/// Returns the static whose address an operand, or the instruction itself, casts from the static's space to a generic
/// address.
fn cast_source<'a>(text: &'a str, space: Space, body: &[&'a str]) -> Option<&'a str> {
    let pattern = format!("ptr addrspace({}) ", space.number());
    let operand = |at: usize| -> Option<&'a str> {
        let value = &text[at + pattern.len()..];
        // A constant expression contains one global.
        let value = &value[value.find(['@', '%'])?..];
        let value = value.split([' ', ',', ')']).next()?;
        Some(origin(value, body).unwrap_or(value))
    };
    if let Some(at) = text.strip_prefix("addrspacecast ").filter(|rest| rest.starts_with(&pattern)) {
        return operand(text.len() - at.len());
    }
    let cast = format!("addrspacecast ({pattern}");
    let mut casts = text.match_indices(&cast).map(|(at, _)| at).filter(|at| is_operand_address(text, *at));
    casts.next().and_then(|at| operand(at + cast.len() - pattern.len()))
}

/// Returns whether the cast at `at` makes its operand a generic address. This is not the case if the operand is a
/// difference of addresses, or if the result is cast back.
fn is_operand_address(text: &str, mut at: usize) -> bool {
    loop {
        let mut depth = 0;
        let open = text[..at].char_indices().rev().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth > 0
        });
        let Some((open, _)) = open else {
            return true;
        };
        let outer = text[..open].trim_end();
        let inner = closing(&text[open..]).map_or("", |end| &text[open..open + end]);
        let is_cast_back = inner.rsplit_once(" to ").is_some_and(|(_, to)| to.starts_with("ptr addrspace("));
        if outer.ends_with(" sub") || outer.ends_with("(sub") || outer.ends_with("addrspacecast") && is_cast_back {
            return false;
        }
        at = open;
    }
}

/// Rejects variables in global memory that hold addresses of marked statics, because drivers do not load such a module.
///
/// # Errors
/// Returns [`LowerError::AddressInStatic`] when there is such a variable.
pub fn refuse_tables(optimized: &str) -> Result<(), LowerError> {
    let statics =
        || optimized.lines().filter(|line| line.starts_with('@')).filter_map(|line| Some((line, global_name(line)?)));
    let marked: HashMap<&str, Space> =
        statics().filter_map(|(line, (name, _))| Some((name, spaces::of_moved(line)?))).collect();
    for (_, (holder, rest)) in statics().filter(|_| !marked.is_empty()) {
        if let Some((name, space)) = spaces::mentioned(rest, &marked) {
            return Err(spaces::address_in_static(optimized, name, holder, space));
        }
    }
    Ok(())
}

/// Returns the IR with the constants moved to writable memory, because LLVM would remove stores to constants. Returns
/// `None` if the IR contains no constant that a kernel could try to write.
pub fn with_writable_constants(lowered: &str) -> Option<String> {
    let marked = format!(" addrspace({}) global ", Space::Constant.number());
    let is_variable = |line: &str| line.starts_with('@') && line.contains(&marked);
    if !lowered.lines().any(is_variable) {
        return None;
    }
    // The names of memory functions contain the address spaces of their pointers.
    let number = format!("addrspace({})", Space::Constant.number());
    let writable = |line: &str| {
        // LLVM keeps stores to a variable that is visible outside the module.
        let line = if is_variable(line) { line.replacen("= internal ", "= ", 1) } else { line.to_owned() };
        line.replace(&number, "addrspace(1)") + "\n"
    };
    Some(lowered.lines().map(writable).collect())
}

/// Finds the first write to a constant in the optimized IR of [`with_writable_constants`].
///
/// # Errors
/// Returns [`LowerError::WritesConstant`] when there is such a write. The error names the static, the function and the
/// instruction.
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
        let written = written_pointer(line).and_then(|pointer| origin(pointer, &body));
        if let Some(name) = written.filter(|name| constants.contains(name)) {
            return Err(LowerError::WritesConstant {
                name: demangled(name),
                function: demangled(function_at(optimized, line).map_or("", |define| define.name)),
                line: line.trim().to_owned(),
                place: Place::of(optimized, line),
            });
        }
    }
    Ok(())
}

/// Returns the pointer through which an instruction writes.
fn written_pointer(line: &str) -> Option<&str> {
    let (_, instruction) = instruction(line)?;
    let pointers = instruction.match_indices("ptr addrspace(1) ");
    let (at, pointer) = match instruction.split(' ').next()? {
        // The pointer follows the stored value, which may be a pointer too.
        "store" => pointers.last()?,
        "atomicrmw" | "cmpxchg" => pointers.into_iter().next()?,
        "call" if instruction.contains("@llvm.mem") => pointers.into_iter().next()?,
        _ => return None,
    };
    // Attributes of an argument can precede the value.
    let rest = &instruction[at + pointer.len()..];
    let rest = &rest[rest.find(['@', '%'])?..];
    // In a constant expression, the write goes to its only global.
    rest.split([' ', ',', ')']).next()
}

/// Traces a value back to the static that it points into.
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

#[cfg(test)]
mod tests;
