//! Reads modules of LLVM IR, links them and splits the result into parts. Also joins several modules into one.
//!
//! Metadata and attributes are numbered from 0 in the order of their first mention. The text of a part therefore stays
//! the same when only other parts change.

use std::collections::HashMap;

use crate::lower::ir::{Mention, global_name, mentions};

mod program;
mod write;
pub(crate) use program::{Piece, Program, is_exported_name, undefined};
pub(crate) use write::join;

#[cfg(test)]
mod tests;

/// The named metadata that this module supports. None of it belongs to a particular function.
const COMPILE_UNITS: &str = "llvm.dbg.cu";
const NAMED: [&str; 3] = ["llvm.module.flags", "llvm.ident", COMPILE_UNITS];

/// A variable that tells a debugger how to print Rust's types. Nothing refers to the variable, and GPUs do not use it.
const FOR_DEBUGGERS: &str = "@__rustc_debug_gdb_scripts_section__";

/// The maximum number that a metadata or attribute node can have. No module reaches this limit, because the text of
/// that many nodes would not fit in memory.
const MOST_NODES: usize = 1 << 28;

/// The definitions of a module, by name or number.
#[derive(Default)]
pub(crate) struct Module<'a> {
    head: Vec<&'a str>,
    symbols: Vec<Symbol<'a>>,
    numbers: HashMap<&'a str, usize>,
    /// Metadata and attributes, by number.
    nodes: [Vec<&'a str>; 2],
    named: HashMap<&'a str, &'a str>,
}

/// A variable or a function.
struct Symbol<'a> {
    name: &'a str,
    text: &'a str,
    /// Whether other modules cannot refer to the symbol.
    is_local: bool,
    /// Whether the symbol is defined in another module or is an LLVM intrinsic.
    is_declaration: bool,
    /// Whether the symbol is a variable that is never written.
    is_constant: bool,
}

impl<'a> Module<'a> {
    /// Reads a module. Returns `None` if the module contains a construct that is unknown or that a part cannot contain.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let mut module = Self::default();
        let mut at = 0;
        while at < text.len() {
            let mut end = text[at..].find('\n').map_or(text.len(), |end| at + end);
            let line = &text[at..end];
            if line.starts_with("define ") {
                line.ends_with('{').then_some(())?;
                end = at + text[at..].find("\n}\n")? + 2;
            }
            module.read_item(&text[at..end])?;
            at = end + 1;
        }
        let numbers = (module.symbols.iter().enumerate()).map(|(number, symbol)| (symbol.name, number));
        module.numbers = numbers.collect();
        Some(module)
    }

    fn read_item(&mut self, text: &'a str) -> Option<()> {
        match text.split(' ').next().unwrap_or_default() {
            "" => {}
            word if word.starts_with(';') || word == FOR_DEBUGGERS => {}
            word if word.starts_with('%') || ["source_filename", "target"].contains(&word) => {
                self.head.push(text);
            }
            word if word.starts_with('@') => self.symbols.push(variable(text)?),
            "declare" | "define" => self.symbols.push(function(text)?),
            word if word == "attributes" || word.starts_with('!') => {
                let (left, value) = text.split_once(" = ")?;
                let mut name = left.trim_start_matches("attributes ").chars();
                let (sigil, name) = (name.next()?, name.as_str());
                let is_symbol = |(_, mention)| matches!(mention, Mention::Symbol(_));
                if value.contains('@') && mentions(value).any(is_symbol) {
                    return None;
                } else if let Ok(number) = name.parse::<usize>() {
                    let nodes = &mut self.nodes[usize::from(sigil == '#')];
                    // LLVM assigns all numbers without gaps.
                    nodes.resize(nodes.len().max((number + 1).min(MOST_NODES)), "");
                    *nodes.get_mut(number)? = value;
                } else {
                    self.named.insert(NAMED.into_iter().find(|known| *known == name)?, value);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the text of metadata or attributes with this number, or an empty text.
    fn node(&self, sigil: char, number: u32) -> &'a str {
        self.nodes[usize::from(sigil == '#')].get(number as usize).copied().unwrap_or_default()
    }

    /// Returns whether calls to a function stay calls (`noinline`). Such a function stays local, so that LLVM can
    /// remove its unused arguments.
    fn is_called(&self, function: &str) -> bool {
        let line = function.lines().next().unwrap_or_default();
        mentions(line).any(|(_, mention)| match mention {
            Mention::Number(sigil, number) => self.node(sigil, number).contains(" noinline "),
            Mention::Symbol(_) => false,
        })
    }

    /// Returns the metadata number of the Rust module that contains a function.
    fn scope(&self, function: &str) -> usize {
        let number = |text: &str, key: &str| -> Option<u32> {
            let rest = text.split_once(key)?.1;
            rest[..rest.find([' ', ',', ')'])?].parse().ok()
        };
        let subprogram = number(function.lines().next().unwrap_or_default(), " !dbg !");
        let scope = subprogram.and_then(|node| number(self.node('!', node), "scope: !"));
        scope.map_or(usize::MAX, |scope| scope as usize)
    }
}

/// Parses `@x = internal unnamed_addr addrspace(3) global [4 x i32] undef, align 4`.
fn variable(text: &str) -> Option<Symbol<'_>> {
    let (name, rest) = named(text)?;
    let words: Vec<_> = rest.split(' ').collect();
    let is_kind = |word: &&str| ["global", "constant"].contains(word);
    let kind = words.iter().position(is_kind)?;
    let has = |word: &str| words[..kind].contains(&word);
    let is_local = has("internal") || has("private");
    let is_declaration = has("external");
    // Linkages that let a linker choose among definitions, and LLVM's special lists, are not supported.
    if name.starts_with("llvm.") || !(is_local || is_declaration || has_plain_linkage(&words[..kind])) {
        return None;
    }
    Some(Symbol { name, text, is_local, is_declaration, is_constant: words[kind] == "constant" })
}

/// Parses `define internal void @f(…) … {` up to its closing brace, or `declare void @g(…)`.
fn function(text: &str) -> Option<Symbol<'_>> {
    let line = text.lines().next()?;
    let at = line.find('@')?;
    let words: Vec<_> = line[..at].split(' ').collect();
    let is_local = words.contains(&"internal") || words.contains(&"private");
    let is_declaration = words[0] == "declare";
    let is_quoted = line[at..].starts_with("@\"");
    if !is_local && (!has_plain_linkage(&words) || !is_declaration && is_quoted) {
        return None;
    }
    Some(Symbol { name: named(&line[at..])?.0, text, is_local, is_declaration, is_constant: false })
}

/// Parses a name. Numbered names are rejected: they must be consecutive, which they would not be in a part.
fn named(text: &str) -> Option<(&str, &str)> {
    global_name(text).filter(|(name, _)| name.bytes().any(|c| !c.is_ascii_digit()))
}

/// Returns whether a linker cannot choose among several definitions.
fn has_plain_linkage(words: &[&str]) -> bool {
    let other = "linkonce weak common appending available_ extern_weak";
    let is_other = |word: &&str| other.split(' ').any(|other| word.starts_with(other));
    !words.iter().any(is_other)
}
