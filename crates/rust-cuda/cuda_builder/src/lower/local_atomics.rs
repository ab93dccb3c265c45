//! Turns atomic operations on a thread's local variables into plain operations.
//!
//! PTX supports atomic operations only on global and shared memory (PTX ISA §9.7.13, "atom"). In Rust, an atomic can
//! also be a local variable, which is in local memory. A plain operation is atomic there, because no other thread can
//! access the variable. This pass reads optimized IR. It handles three kinds of pointers:
//! - If a pointer leads only to local variables, a plain operation replaces the atomic one.
//! - If a pointer leads only to other memory, the operation stays unchanged.
//! - If a pointer can lead to both, the operation becomes a call to a function that tests the address. An example is an
//!   argument of a function that is not inlined. Such pointers exist only if the address of a local variable leaves the
//!   variable's function.

use std::collections::{BTreeMap, HashMap};

use super::ir::{define, has, locals, split_item};
use super::verify::instruction;

/// The start of `cuda_std`'s system-scope operations: `"atom.relaxed.sys.add.u32 ${0}, [${1}], ${2};"`.
const SYSTEM: &str = "atom.relaxed.sys.";

/// The kinds of memory that an address can lead to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Target {
    local: bool,
    other: bool,
    unknown: bool,
}

impl Target {
    const LOCAL: Self = Self { local: true, other: false, unknown: false };
    const OTHER: Self = Self { local: false, other: true, unknown: false };
    const UNKNOWN: Self = Self { local: false, other: false, unknown: true };

    fn or(self, other: Self) -> Self {
        Self {
            local: self.local || other.local,
            other: self.other || other.other,
            unknown: self.unknown || other.unknown,
        }
    }

    /// Returns the target of a pointer of this type, if the type determines it.
    fn of_type(ty: &str) -> Option<Self> {
        match ty {
            "ptr addrspace(5)" => Some(Self::LOCAL),
            "ptr" => None,
            _ => Some(Self::OTHER),
        }
    }
}

/// Rewrites atomic operations that can access local memory. Returns `None` if there are no such operations.
pub fn lower(optimized: &str) -> Option<String> {
    if !["atomic", "cmpxchg", SYSTEM].iter().any(|part| has(optimized, part)) {
        return None;
    }
    let mut functions: Vec<Function<'_>> = Vec::new();
    for line in optimized.lines() {
        if define(line).is_some() {
            functions.push(Function { body: Vec::new(), targets: HashMap::new() });
        }
        if let Some(function) = functions.last_mut() {
            function.body.push(line);
        }
        if line == "}" {
            let function = functions.last_mut()?;
            function.targets = targets(&function.body);
            functions.push(Function { body: Vec::new(), targets: HashMap::new() });
        }
    }
    let escapes = functions.iter().any(Function::lets_local_escape);
    let mut helpers = BTreeMap::new();
    let mut replaced: HashMap<usize, String> = HashMap::new();
    for function in &functions {
        for line in &function.body {
            let Some(atomic) = Atomic::read(line) else {
                continue;
            };
            let target = function.target(atomic.pointer_type, atomic.pointer);
            let is_plain = target == Target::LOCAL;
            if is_plain || target.local || target.unknown && escapes {
                let Some((name, helper)) = atomic.helper(is_plain) else {
                    continue;
                };
                replaced.insert(line.as_ptr() as usize, atomic.call(&name));
                helpers.insert(name, helper);
            }
        }
    }
    if replaced.is_empty() {
        return None;
    }
    let lines = optimized.lines().map(|line| replaced.get(&(line.as_ptr() as usize)).map_or(line, |call| call));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    Some(text + &helpers.into_values().collect::<String>())
}

/// A function's lines, and the targets of the addresses among its values.
struct Function<'a> {
    body: Vec<&'a str>,
    targets: HashMap<&'a str, Target>,
}

impl Function<'_> {
    fn target(&self, ty: &str, value: &str) -> Target {
        target(ty, value, &self.targets)
    }

    /// Returns whether the address of a local variable can be used in a way that is not visible in this function's
    /// values.
    fn lets_local_escape(&self) -> bool {
        let is_local = |value: &str| self.targets.get(value).is_some_and(|target| target.local);
        self.body.iter().filter_map(|line| instruction(line)).any(|(_, text)| {
            let operands = match text.split(' ').next().unwrap_or_default() {
                "store" => text.split(", ").next().unwrap_or_default(),
                "call" if !text.contains("@llvm.") => text,
                "ret" | "ptrtoint" | "insertvalue" | "insertelement" => text,
                _ => "",
            };
            locals(operands).any(is_local)
        })
    }
}

fn target(ty: &str, value: &str, targets: &HashMap<&str, Target>) -> Target {
    let known = || match value {
        "null" | "undef" | "poison" => Target::default(),
        value if value.starts_with('%') => targets.get(value).copied().unwrap_or_default(),
        _ => Target::OTHER,
    };
    Target::of_type(ty).unwrap_or_else(known)
}

/// Returns the targets of the addresses among a function's values.
fn targets<'a>(body: &[&'a str]) -> HashMap<&'a str, Target> {
    let mut targets = HashMap::new();
    let head = body.first().copied().unwrap_or_default();
    let is_kernel = define(head).is_some_and(|define| define.kernel);
    let arguments = head.find('@').and_then(|at| head[at..].split_once('(')).map_or("", |(_, arguments)| arguments);
    for (ty, rest) in pointers(arguments) {
        let end = rest.find([',', ')']).unwrap_or(rest.len());
        // An attribute such as `byval([16 x i8])` contains brackets.
        let value = locals(rest).next().unwrap_or(&rest[..end]);
        let attributes = &rest[..rest.find('%').unwrap_or(0)];
        let default = match attributes.contains("byval(") {
            true => Target::LOCAL,
            false if is_kernel => Target::OTHER,
            false => Target::UNKNOWN,
        };
        targets.insert(value, Target::of_type(ty).unwrap_or(default));
    }
    loop {
        let mut has_changed = false;
        for (result, text) in body.iter().filter_map(|line| instruction(line)).filter(|pair| !pair.0.is_empty()) {
            let operands = |targets: &HashMap<&str, Target>| -> Target {
                let all = pointers(text).filter_map(|(ty, rest)| Some(target(ty, split_item(rest)?.0, targets)));
                all.fold(Target::default(), Target::or)
            };
            let found = match text.split(' ').next().unwrap_or_default() {
                "alloca" => Target::LOCAL,
                "getelementptr" | "select" | "freeze" | "addrspacecast" => operands(&targets),
                "phi" => {
                    let (ty, _) = pointers(text).next().unwrap_or(("i1", ""));
                    let values = text.split("[ ").skip(1).filter_map(|incoming| Some(split_item(incoming)?.0));
                    values.map(|value| target(ty, value, &targets)).fold(Target::default(), Target::or)
                }
                _ => Target::UNKNOWN,
            };
            let known = targets.entry(result).or_default();
            has_changed |= known.or(found) != *known;
            *known = known.or(found);
        }
        // In a loop, a value can depend on later values.
        if !has_changed {
            return targets;
        }
    }
}

/// Returns the pointer types in a text, each with the text that follows.
fn pointers(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("ptr ").filter_map(move |(at, _)| {
        let is_word = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let rest = &text[at + 4..];
        let space = rest.strip_prefix("addrspace(").and_then(|number| number.find(") ")).map_or(0, |end| end + 12);
        is_word.then(|| (text[at..at + 4 + space].trim_end(), &rest[space..]))
    })
}

/// An atomic instruction: `%r = atomicrmw add ptr %p, i64 %v monotonic, align 8, !dbg !5`.
struct Atomic<'a> {
    /// `%r = `, including the preceding spaces.
    result: &'a str,
    result_type: String,
    kind: Kind<'a>,
    pointer_type: &'a str,
    pointer: &'a str,
    /// The types and values of the other operands.
    operands: Vec<(&'a str, &'a str)>,
    /// The instruction with `%p` for the pointer, and `%a` and `%b` for the operands.
    template: String,
    metadata: &'a str,
}

enum Kind<'a> {
    Load,
    Store,
    Exchange,
    /// A read-modify-write: its name in LLVM, and whether it operates on floats that the instruction treats as
    /// integers.
    Update(&'a str, bool),
}

impl<'a> Atomic<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (_, text) = instruction(line)?;
        let code_end = line.find(", !").unwrap_or(line.len());
        let result = &line[..line.len() - text.len()];
        let result = result.split_once(" = ").map_or("  ", |(name, _)| &line[..name.len() + 3]);
        let code = text.get(..code_end.checked_sub(line.len() - text.len())?)?;
        let dbg = line.find(", !dbg ").map_or("", |at| &line[at..]);
        let metadata = &dbg[..dbg.get(2..).and_then(|rest| rest.find(", ")).map_or(dbg.len(), |end| end + 2)];
        let words = |text: &'a str| text.trim_start_matches("weak ").trim_start_matches("volatile ");
        let new = |kind, result_type: String, pointer, operands, template| {
            let (pointer_type, pointer) = pointer;
            Some(Self { result, result_type, kind, pointer_type, pointer, operands, template, metadata })
        };
        if let Some(rest) = code.strip_prefix("load atomic ") {
            let (ty, rest) = split_item(words(rest))?;
            let (pointer, tail) = pointer_and_rest(rest.strip_prefix(", ")?)?;
            let template = format!("load atomic {ty}, {} %p{tail}", pointer.0);
            return new(Kind::Load, ty.to_owned(), pointer, Vec::new(), template);
        }
        if let Some(rest) = code.strip_prefix("store atomic ") {
            let (operand, rest) = typed(words(rest))?;
            let (pointer, tail) = pointer_and_rest(rest.strip_prefix(", ")?)?;
            let template = format!("store atomic {} %a, {} %p{tail}", operand.0, pointer.0);
            return new(Kind::Store, "void".to_owned(), pointer, vec![operand], template);
        }
        if let Some(rest) = code.strip_prefix("cmpxchg ") {
            let (pointer, rest) = pointer_and_rest(words(rest))?;
            let (expected, rest) = typed(rest.strip_prefix(", ")?)?;
            let (desired, tail) = typed(rest.strip_prefix(", ")?)?;
            let ty = expected.0;
            let template = format!("cmpxchg {} %p, {ty} %a, {ty} %b{tail}", pointer.0);
            return new(Kind::Exchange, format!("{{ {ty}, i1 }}"), pointer, vec![expected, desired], template);
        }
        if let Some(rest) = code.strip_prefix("atomicrmw ") {
            let (operation, rest) = words(rest).split_once(' ')?;
            let (pointer, rest) = pointer_and_rest(rest)?;
            let (operand, tail) = typed(rest.strip_prefix(", ")?)?;
            let template = format!("atomicrmw {operation} {} %p, {} %a{tail}", pointer.0, operand.0);
            return new(Kind::Update(operation, false), operand.0.to_owned(), pointer, vec![operand], template);
        }
        let (head, rest) = code.split_once(SYSTEM)?;
        let head = head.strip_suffix(" asm sideeffect \"")?;
        let ty = head.strip_prefix("call ")?;
        let (operation, rest) = rest.split_once(' ')?;
        let (constraints, arguments) = rest.rsplit_once("\"(")?;
        let (pointer, operand) = arguments.split_once(", ")?;
        let (operand, attributes) = operand.split_once(')')?;
        let value = |text: &'a str| text.rsplit(' ').next();
        let template =
            format!("call {ty} asm sideeffect \"{SYSTEM}{operation} {constraints}\"(ptr %p, {ty} %a){attributes}");
        let (operation, class) = operation.split_once('.')?;
        let operation = match (operation, class.as_bytes().first()?) {
            ("exch", _) => "xchg",
            ("min", b'u') => "umin",
            ("max", b'u') => "umax",
            ("add", b'f') => "fadd",
            (other, _) => other,
        };
        let kind = Kind::Update(operation, operation == "fadd");
        new(kind, ty.to_owned(), ("ptr", value(pointer)?), vec![(ty, value(operand)?)], template)
    }

    /// Returns the call to a helper that replaces the instruction.
    fn call(&self, name: &str) -> String {
        let Self { result, result_type, pointer_type, pointer, operands, metadata, .. } = self;
        let operands: String = operands.iter().map(|(ty, value)| format!(", {ty} {value}")).collect();
        format!("{result}call {result_type} @{name}({pointer_type} {pointer}{operands}){metadata}")
    }

    /// Returns a function for this operation and its name. The function performs the plain operation, or first tests
    /// the address. Returns `None` if the plain form is unknown.
    fn helper(&self, is_plain: bool) -> Option<(String, String)> {
        let result_type = &self.result_type;
        let (plain, result) = self.plain()?;
        let result = if result.is_empty() { "void".to_owned() } else { format!("{result_type} {result}") };
        let parameters = self.operands.iter().zip(["%a", "%b"]).map(|((ty, _), name)| format!(", {ty} {name}"));
        let parameters = format!("{} %p{}", self.pointer_type, parameters.collect::<String>());
        // Attribute numbers differ between otherwise equal modules.
        let kind = self.template.split(" #").next().unwrap_or_default();
        let kind: String =
            kind.chars().filter_map(|c| if c == ' ' { Some('_') } else { c.is_alphanumeric().then_some(c) }).collect();
        if is_plain {
            let name = format!("plain_{kind}");
            let body = format!("{plain}  ret {result}\n");
            let head = format!("define internal {result_type} @{name}({parameters}) alwaysinline");
            return Some((name, format!("\n{head} {{\n{body}}}\n")));
        }
        let name = format!("by_address_{kind}");
        let (assigned, returned) = match result.as_str() {
            "void" => ("", "void".to_owned()),
            _ => ("%old.other = ", format!("{result_type} %old.other")),
        };
        let helper = format!(
            "\ndefine internal {result_type} @{name}({parameters}) noinline {{\n  \
             %is_local = call i1 @llvm.nvvm.isspacep.local(ptr %p)\n  br i1 %is_local, label %local, label %other\n\
             local:\n{plain}  ret {result}\nother:\n  {assigned}{}\n  ret {returned}\n}}\n",
            self.template
        );
        Some((name, helper))
    }

    /// Returns plain instructions, and the name of their result.
    fn plain(&self) -> Option<(String, &'static str)> {
        let (pointer_type, ty) =
            (self.pointer_type, self.operands.first().map_or(&*self.result_type, |operand| operand.0));
        let align = self.template.split_once(", align ").map_or("", |(_, align)| align);
        let align = align.split(|c: char| !c.is_ascii_digit()).next().filter(|align| !align.is_empty());
        let align = align.map_or(String::new(), |align| format!(", align {align}"));
        let load = format!("  %old = load {ty}, {pointer_type} %p{align}\n");
        let store = |value: &str| format!("  store {ty} {value}, {pointer_type} %p{align}\n");
        let changed = |code: String| (format!("{load}{code}{}", store("%new")), "%old");
        Some(match self.kind {
            Kind::Load => (load, "%old"),
            Kind::Store => (store("%a"), ""),
            Kind::Exchange => {
                let pair = &self.result_type;
                let code = format!(
                    "  %same = icmp eq {ty} %old, %a\n  %new = select i1 %same, {ty} %b, {ty} %old\n  \
                     %half = insertvalue {pair} poison, {ty} %old, 0\n  %pair = insertvalue {pair} %half, i1 %same, 1\n"
                );
                (changed(code).0, "%pair")
            }
            Kind::Update("xchg", _) => (load + &store("%a"), "%old"),
            Kind::Update("fadd", true) => {
                let float = if ty == "i32" { "float" } else { "double" };
                changed(format!(
                    "  %x = bitcast {ty} %old to {float}\n  %y = bitcast {ty} %a to {float}\n  \
                     %sum = fadd {float} %x, %y\n  %new = bitcast {float} %sum to {ty}\n"
                ))
            }
            Kind::Update(name @ ("add" | "sub" | "and" | "or" | "xor" | "fadd" | "fsub"), _) => {
                changed(format!("  %new = {name} {ty} %old, %a\n"))
            }
            Kind::Update("nand", _) => changed(format!("  %both = and {ty} %old, %a\n  %new = xor {ty} %both, -1\n")),
            Kind::Update(name @ ("max" | "min" | "umax" | "umin"), _) => {
                let sign = if name.starts_with('u') { "" } else { "s" };
                changed(format!("  %new = call {ty} @llvm.{sign}{name}.{ty}({ty} %old, {ty} %a)\n"))
            }
            Kind::Update(..) => return None,
        })
    }
}

/// Splits `ptr addrspace(5) %p` from the text that follows.
fn pointer_and_rest(text: &str) -> Option<((&str, &str), &str)> {
    let (ty, rest) = pointers(text).next().filter(|_| text.starts_with("ptr"))?;
    let (value, rest) = split_item(rest)?;
    Some(((ty, value), rest))
}

/// Splits a type and a value from the text that follows.
fn typed(text: &str) -> Option<((&str, &str), &str)> {
    if text.starts_with("ptr") {
        return pointer_and_rest(text);
    }
    let (ty, rest) = split_item(text)?;
    let (value, rest) = split_item(rest)?;
    Some(((ty, value), rest))
}

#[cfg(test)]
mod tests;
