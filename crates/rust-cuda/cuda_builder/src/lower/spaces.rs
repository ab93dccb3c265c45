//! Moving statics to their address spaces.
//!
//! `cuda_std`'s `#[address_space(shared)]` puts a static into the section `.shared`: rustc knows no
//! address spaces, but it carries sections into the IR. Here
//!
//! ```text
//! @TILE = internal global [512 x i8] undef, section ".shared", align 4
//! ```
//!
//! becomes a global of address space 3, and `ptr @TILE` wherever it stands becomes
//! `ptr addrspacecast (ptr addrspace(3) @TILE to ptr)`. Address spaces: LLVM's "User Guide for NVPTX
//! Back-end", "Address Spaces".
//!
//! Statics without a mark move to address space 1, which is global memory. `llc` would do the same, but `opt` infers address
//! spaces before that. For a choice between a shared static and one that has no address space, LLVM 22 infers shared memory.

use std::collections::HashMap;

use super::LowerError;
use super::ir::{Mention, demangled, global_name, mentions, split_item};
use super::place::Place;

/// The symbol through which `cuda_std` declares a block's dynamic shared memory.
pub const DYNAMIC_SHARED: &str = "_Zcuda_std_dyn_shared";

/// Where a static lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// One copy a module.
    Global,
    /// One copy a block, on the chip.
    Shared,
    /// One copy a module, read-only for the kernel and cached.
    Constant,
}

impl Space {
    /// The spaces for which there is a mark.
    pub(super) const MARKED: [Space; 2] = [Space::Shared, Space::Constant];

    /// LLVM's number for it.
    pub fn number(self) -> u32 {
        match self {
            Space::Global => 1,
            Space::Shared => 3,
            Space::Constant => 4,
        }
    }

    /// Its PTX name.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Constant => "constant",
        }
    }

    /// What a marked static's declaration has.
    fn section(self) -> String {
        format!("section \".{}\"", self.name())
    }
}

/// Rewrites the declarations of statics and every use of them.
///
/// # Errors
/// [`LowerError`] when a shared static has an initial value, when another static holds the address of a marked one, or
/// when the pass cannot read the declaration of a marked one. The error names the static.
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

/// The shared statics whose value is zeros, demangled: the launch does not write them. A static without bytes has no value.
pub fn zeroed(ir: &str) -> impl Iterator<Item = String> {
    let statics = ir.lines().filter(|line| line.starts_with('@'));
    let is_zeroed = |line: &&str| line.contains("zeroinitializer") && !line.contains("global <{}>");
    let zeroed = statics.filter(move |line| is_zeroed(line) && marked(line) == Some(Space::Shared));
    zeroed.filter_map(global_name).map(|(name, _)| demangled(name))
}

/// Whether lowered IR has a static in another address space.
pub fn has_moved(lowered: &str) -> bool {
    lowered.lines().any(|line| of_moved(line).is_some())
}

/// The other address space in which a line of lowered IR declares a static.
pub fn of_moved(line: &str) -> Option<Space> {
    let mut words = line.split(' ').take_while(|word| line.starts_with('@') && !["global", "constant"].contains(word));
    words.find_map(|word| Space::MARKED.into_iter().find(|space| word == format!("addrspace({})", space.number())))
}

/// The first marked static of these that a text mentions.
pub(super) fn mentioned<'a>(text: &'a str, spaces: &HashMap<&str, Space>) -> Option<(&'a str, Space)> {
    mentions(text).find_map(|(_, mention)| match mention {
        Mention::Symbol(name) => spaces.get(name).filter(|it| **it != Space::Global).map(|space| (name, *space)),
        Mention::Number(..) => None,
    })
}

/// The error for a static that holds the address of a marked one.
pub(super) fn address_in_static(ir: &str, name: &str, holder: &str, space: Space) -> LowerError {
    // The compiler may have read the holder already.
    let place = Place::of_use(ir, holder).or(|| Place::of_use(ir, name));
    // rustc gives the value of a `const` a name that no one wrote.
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

/// What stands before and after the word `global` or `constant` of a declaration, and that word.
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
        // The list of statics that `#[used]` keeps alive for the linker. There is no linker here.
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

/// Whether an initializer leaves everything undefined: `undef`, or an aggregate of nothing else. Zeros count as undefined, as
/// with upstream's compiler: a Rust static has to have some value.
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

/// ` = appending global [2 x ptr] [ptr @TILE, ptr @x], section "llvm.metadata"` without `@TILE`.
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
