//! Moves statics to their address spaces.
//!
//! `cuda_std`'s `#[address_space(shared)]` puts a static into the section `.shared`, because rustc does not support
//! address spaces but preserves sections in the IR. In this pass,
//!
//! ```text
//! @TILE = internal global [512 x i8] undef, section ".shared", align 4
//! ```
//!
//! becomes a global in address space 3, and every `ptr @TILE` becomes `ptr addrspacecast (ptr addrspace(3) @TILE to
//! ptr)`. Address spaces: LLVM's "User Guide for NVPTX Back-end", "Address Spaces".
//!
//! Statics without a mark move to address space 1, which is global memory. `llc` would do the same, but `opt` infers
//! address spaces before `llc` runs. For a choice between a shared static and one without an address space, LLVM 22
//! would infer shared memory.

use std::collections::HashMap;

use super::LowerError;
use super::ir::{Mention, demangled, global_name, mentions, split_item};
use super::place::Place;

/// The symbol by which `cuda_std` declares a block's dynamic shared memory.
pub const DYNAMIC_SHARED: &str = "_Zcuda_std_dyn_shared";

/// The memory of a static.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// One copy per module.
    Global,
    /// One copy per block, on the chip.
    Shared,
    /// One copy per module, cached, and read-only for kernels.
    Constant,
}

impl Space {
    /// The spaces that a static can be marked with.
    pub(super) const MARKED: [Space; 2] = [Space::Shared, Space::Constant];

    /// Returns LLVM's number for the space.
    pub fn number(self) -> u32 {
        match self {
            Space::Global => 1,
            Space::Shared => 3,
            Space::Constant => 4,
        }
    }

    /// Returns the space's PTX name.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Constant => "constant",
        }
    }

    /// Returns the section in a marked static's declaration.
    fn section(self) -> String {
        format!("section \".{}\"", self.name())
    }
}

/// Rewrites the declarations of statics and every use of them.
///
/// # Errors
/// Returns [`LowerError`] when a shared static has an initial value, another static holds the address of a
/// marked static, or a declaration cannot be parsed. The error names the static.
pub fn lower(ir: &str) -> Result<String, LowerError> {
    let mut spaces = HashMap::new();
    for line in ir.lines().filter(|line| line.starts_with('@')) {
        if let (Some((name, rest)), marked) = (global_name(line), marked(line)) {
            let is_plain = !name.starts_with("llvm.") && declared(rest).is_some();
            spaces.extend(marked.or(is_plain.then_some(Space::Global)).map(|space| (name, space)));
        }
    }
    if spaces.is_empty() {
        return Ok(ir.to_owned());
    }
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        out.push_str(&lower_line(ir, line, &spaces)?);
        out.push('\n');
    }
    Ok(out)
}

/// Returns the demangled names of shared statics that are initialized to zeros, because a launch does not write these
/// zeros. A static of size 0 has no value.
pub fn zeroed(ir: &str) -> impl Iterator<Item = String> {
    let statics = ir.lines().filter(|line| line.starts_with('@'));
    let is_zeroed = |line: &&str| line.contains("zeroinitializer") && !line.contains("global <{}>");
    let zeroed = statics.filter(move |line| is_zeroed(line) && marked(line) == Some(Space::Shared));
    zeroed.filter_map(global_name).map(|(name, _)| demangled(name))
}

/// Returns whether lowered IR has a static in another address space.
pub fn has_moved(lowered: &str) -> bool {
    lowered.lines().any(|line| of_moved(line).is_some())
}

/// Returns the address space of a static that a line of lowered IR declares, unless it is global memory.
pub fn of_moved(line: &str) -> Option<Space> {
    let mut words = line.split(' ').take_while(|word| line.starts_with('@') && !["global", "constant"].contains(word));
    words.find_map(|word| Space::MARKED.into_iter().find(|space| word == format!("addrspace({})", space.number())))
}

/// Returns the first of these marked statics that a text mentions.
pub(super) fn mentioned<'a>(text: &'a str, spaces: &HashMap<&str, Space>) -> Option<(&'a str, Space)> {
    mentions(text).find_map(|(_, mention)| match mention {
        Mention::Symbol(name) => spaces.get(name).filter(|space| **space != Space::Global).map(|space| (name, *space)),
        Mention::Number(..) => None,
    })
}

/// Returns the error for a static that holds the address of a marked static.
pub(super) fn address_in_static(ir: &str, name: &str, holder: &str, space: Space) -> LowerError {
    // The compiler may already have replaced the uses of the holder with its value.
    let place = Place::of_use(ir, holder).or(|| Place::of_use(ir, name));
    // rustc generates a name for the value of a `const`.
    let holder = match holder.starts_with("anon.") || holder.starts_with("alloc_") {
        true => "a constant".to_owned(),
        false => format!("static `{}`", demangled(holder)),
    };
    LowerError::AddressInStatic { space: space.name(), name: demangled(name), holder, place }
}

fn marked(line: &str) -> Option<Space> {
    let (name, _) = global_name(line)?;
    if name == DYNAMIC_SHARED {
        return Some(Space::Shared);
    }
    Space::MARKED.into_iter().find(|space| line.contains(&space.section()))
}

/// Splits a declaration at the word `global` or `constant`. Returns the text before the word, the word, and the text
/// after it.
fn declared(line: &str) -> Option<(&str, &str, &str)> {
    let kinds = [" global ", " constant "].into_iter().filter_map(|kind| Some((line.find(kind)?, kind)));
    let (at, kind) = kinds.min()?;
    Some((&line[..at], kind.trim(), &line[at + kind.len()..]))
}

fn lower_line(ir: &str, line: &str, spaces: &HashMap<&str, Space>) -> Result<String, LowerError> {
    if !line.contains('@') {
        return Ok(line.to_owned());
    }
    if let Some((holder, rest)) = global_name(line) {
        // This is the list of statics that `#[used]` keeps alive for the linker, but there is no linker here.
        if holder == "llvm.used" || holder == "llvm.compiler.used" {
            return Ok(without_marked(rest, holder, spaces));
        }
        if let Some((name, space)) = mentioned(rest, spaces) {
            return Err(address_in_static(ir, name, holder, space));
        }
        let Some(&space) = spaces.get(holder) else {
            return Ok(line.to_owned());
        };
        let name = &line[..line.len() - rest.len()];
        return Ok(name.to_owned() + &lower_declaration(ir, rest, holder, space, spaces)?);
    }
    Ok(with_casts(line, spaces))
}

/// ` = internal global T undef, section ".shared", align 4` → ` = internal addrspace(3) global T undef, align 4`
fn lower_declaration(
    ir: &str,
    text: &str,
    name: &str,
    space: Space,
    spaces: &HashMap<&str, Space>,
) -> Result<String, LowerError> {
    if name == DYNAMIC_SHARED {
        return Ok(" = external addrspace(3) global [0 x i8], align 16".to_owned());
    }
    let place = || Place::of_use(ir, name);
    let unknown = || LowerError::UnknownForm { name: demangled(name), line: format!("@{name}{text}"), place: place() };
    let (head, kind, body) = declared(text).ok_or_else(unknown)?;
    let number = space.number();
    if space != Space::Shared {
        let body = with_casts(body, spaces).replace(&format!(", {}", space.section()), "");
        return Ok(format!("{head} addrspace({number}) {kind} {body}"));
    }
    let (ty, rest) = split_item(body).ok_or_else(unknown)?;
    let (value, rest) = split_item(rest).ok_or_else(unknown)?;
    if !is_undefined(value) {
        let value = value.chars().take(40).collect();
        return Err(LowerError::Initialized { name: demangled(name), value, place: place() });
    }
    let rest = rest.replace(&format!(", {}", space.section()), "");
    Ok(format!("{head} addrspace({number}) global {ty} undef{rest}"))
}

/// Returns whether an initializer is completely undefined: `undef`, or an aggregate of `undef` values. Zeros count as
/// undefined, as in upstream's compiler, because a Rust static must have some value.
fn is_undefined(value: &str) -> bool {
    if matches!(value, "undef" | "poison" | "zeroinitializer") {
        return true;
    }
    let inner = value.trim_start_matches(['<', '{', '[']).trim_end_matches(['>', '}', ']']);
    if inner.len() == value.len() || inner.trim().is_empty() {
        return inner.len() != value.len();
    }
    let mut rest = inner.trim();
    loop {
        let Some((_, after)) = split_item(rest) else {
            return false;
        };
        let Some((element, after)) = split_item(after) else {
            return false;
        };
        if !is_undefined(element) {
            return false;
        }
        match after.trim_start().strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => return after.trim().is_empty(),
        }
    }
}

/// Returns ` = appending global [2 x ptr] [ptr @TILE, ptr @x], section "llvm.metadata"` without `@TILE`.
fn without_marked(rest: &str, holder: &str, spaces: &HashMap<&str, Space>) -> String {
    let kept: Vec<&str> = rest
        .rsplit_once('[')
        .and_then(|(_, list)| list.split_once(']'))
        .map(|(list, _)| list.split(", ").collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .filter(|item| {
            let name = item.find('@').and_then(|at| global_name(&item[at..]));
            name.is_none_or(|(name, _)| spaces.get(name).is_none_or(|space| *space == Space::Global))
        })
        .collect();
    if kept.is_empty() {
        return String::new();
    }
    let list = with_casts(&kept.join(", "), spaces);
    format!("@{holder} = appending global [{} x ptr] [{list}], section \"llvm.metadata\"", kept.len())
}

fn with_casts(line: &str, spaces: &HashMap<&str, Space>) -> String {
    let mut out = String::with_capacity(line.len() + 64);
    let mut copied = 0;
    for (range, mention) in mentions(line) {
        let Mention::Symbol(name) = mention else {
            continue;
        };
        if let Some(space) = spaces.get(name) {
            let symbol = &line[range.clone()];
            out += &line[copied..range.start];
            out += &format!("addrspacecast (ptr addrspace({}) {symbol} to ptr)", space.number());
            copied = range.end;
        }
    }
    out + &line[copied..]
}

#[cfg(test)]
mod tests;
