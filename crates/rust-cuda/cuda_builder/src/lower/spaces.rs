//! Moving marked statics to the address space that they ask for.
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

use std::collections::HashMap;

use super::LowerError;
use super::ir::{Mention, demangled, global_name, mentions, split_item};
use super::place::Place;

/// The symbol through which `cuda_std` declares a block's dynamic shared memory.
pub const DYNAMIC_SHARED: &str = "_Zcuda_std_dyn_shared";

/// Where a static lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// One copy a block, on the chip.
    Shared,
    /// One copy a module, read-only for the kernel and cached.
    Constant,
}

impl Space {
    const ALL: [Space; 2] = [Space::Shared, Space::Constant];

    /// LLVM's number for it.
    pub fn number(self) -> u32 {
        match self {
            Space::Shared => 3,
            Space::Constant => 4,
        }
    }

    /// Its PTX name.
    pub fn name(self) -> &'static str {
        match self {
            Space::Shared => "shared",
            Space::Constant => "constant",
        }
    }

    fn section(self) -> &'static str {
        match self {
            Space::Shared => "section \".shared\"",
            Space::Constant => "section \".constant\"",
        }
    }
}

/// Rewrites the declarations of marked statics and every use of them.
///
/// # Errors
/// [`LowerError`] when a marked static has an initial value, when its address is stored in another
/// static, or when the pass cannot read its declaration. The error names the static.
pub fn lower(ir: &str) -> Result<String, LowerError> {
    let mut spaces = HashMap::new();
    for line in ir.lines().filter(|line| line.starts_with('@')) {
        if let (Some((name, _)), Some(space)) = (global_name(line), marked(line)) {
            spaces.insert(name, space);
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

/// The shared statics whose value is zeros, demangled: nobody writes them.
pub fn zeroed(ir: &str) -> impl Iterator<Item = String> {
    let statics = ir.lines().filter(|line| line.starts_with('@'));
    let zeroed = statics.filter(|line| line.contains("zeroinitializer") && marked(line) == Some(Space::Shared));
    zeroed.filter_map(global_name).map(|(name, _)| demangled(name))
}

fn marked(line: &str) -> Option<Space> {
    let (name, _) = global_name(line)?;
    if name == DYNAMIC_SHARED {
        return Some(Space::Shared);
    }
    Space::ALL.into_iter().find(|space| line.contains(space.section()))
}

fn lower_line(ir: &str, line: &str, spaces: &HashMap<&str, Space>) -> Result<String, LowerError> {
    if !line.contains('@') {
        return Ok(line.to_owned());
    }
    if let Some((holder, rest)) = global_name(line) {
        if let Some(&space) = spaces.get(holder) {
            return lower_declaration(ir, line, holder, space);
        }
        // The list of statics that `#[used]` keeps alive for the linker. There is no linker here.
        if holder == "llvm.used" || holder == "llvm.compiler.used" {
            return Ok(without_marked(rest, holder, spaces));
        }
        let marked = |(_, mention)| match mention {
            Mention::Symbol(name) => spaces.contains_key(name).then_some(name),
            _ => None,
        };
        if let Some(name) = mentions(rest).find_map(marked) {
            // The compiler may have read the holder already.
            let place = Place::of_use(ir, holder).or(|| Place::of_use(ir, name));
            return Err(LowerError::AddressInStatic { name: demangled(name), holder: demangled(holder), place });
        }
        return Ok(line.to_owned());
    }
    Ok(with_casts(line, spaces))
}

/// `@X = internal global T undef, section ".shared", align 4` →
/// `@X = internal addrspace(3) global T undef, align 4`
fn lower_declaration(ir: &str, line: &str, name: &str, space: Space) -> Result<String, LowerError> {
    if name == DYNAMIC_SHARED {
        return Ok(format!("@{DYNAMIC_SHARED} = external addrspace(3) global [0 x i8], align 16"));
    }
    let unknown =
        || LowerError::UnknownForm { name: demangled(name), line: line.to_owned(), place: Place::of_use(ir, name) };
    let (kind_at, kind) = [" global ", " constant "]
        .into_iter()
        .filter_map(|kind| line.find(kind).map(|at| (at, kind)))
        .min()
        .ok_or_else(unknown)?;
    let (head, body) = (&line[..kind_at], &line[kind_at + kind.len()..]);
    let (ty, rest) = split_item(body).ok_or_else(unknown)?;
    let (value, rest) = split_item(rest).ok_or_else(unknown)?;
    if space == Space::Shared && !is_undefined(value) {
        let (value, place) = (value.chars().take(40).collect(), Place::of_use(ir, name));
        return Err(LowerError::Initialized { name: demangled(name), value, place });
    }
    let rest = rest.replace(&format!(", {}", space.section()), "");
    let (value, kind) = match space {
        Space::Shared => ("undef", "global"),
        Space::Constant => (value, kind.trim()),
    };
    Ok(format!("{head} addrspace({}) {kind} {ty} {value}{rest}", space.number()))
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
            name.is_none_or(|(name, _)| !spaces.contains_key(name))
        })
        .collect();
    if kept.is_empty() {
        return String::new();
    }
    format!("@{holder} = appending global [{} x ptr] [{}], section \"llvm.metadata\"", kept.len(), kept.join(", "))
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
