//! Cutting a module of LLVM IR into parts that are compiled by themselves, and joining modules into one.
//!
//! A part holds some of the module's kernels and everything that they reach. Kernels of one Rust module are in one
//! part, and so are kernels that share a variable: what one of them does with it says what the optimizer may assume
//! about it in the other. Numbers of metadata and attributes count from 0 in the order of their first mention, so that
//! the text of a part is the same as before when only other parts have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

use crate::lower::ir::{Mention, global_name, mentions};
use crate::parts::in_parallel;

mod write;
pub(crate) use write::join;

#[cfg(test)]
mod tests;

/// The named metadata that is understood: none of it says anything about a particular function.
const COMPILE_UNITS: &str = "llvm.dbg.cu";
const NAMED: [&str; 3] = ["llvm.module.flags", "llvm.ident", COMPILE_UNITS];

/// The definitions of a module, by name or number.
#[derive(Default)]
pub(crate) struct Module<'a> {
    head: Vec<&'a str>,
    symbols: Vec<Symbol<'a>>,
    numbers: HashMap<&'a str, usize>,
    /// Metadata and attributes.
    nodes: HashMap<(char, u32), &'a str>,
    named: HashMap<&'a str, &'a str>,
}

/// A part of a module.
pub(crate) struct Piece {
    pub(crate) ir: String,
    /// The names of the functions and variables for whose sake it is there, with commas. Functions that other parts
    /// have too are no less visible in `ir`: the optimizer must not take this part's calls of them for all calls that
    /// there are, or it would make something else of them here than of the whole module. Empty: all that are visible.
    pub(crate) roots: String,
}

/// A variable or a function.
struct Symbol<'a> {
    name: &'a str,
    text: &'a str,
    /// Nothing in the module needs to refer to it for it to stay.
    is_root: bool,
    /// A variable that is written, or that others can see: its users belong together.
    is_state: bool,
}

impl<'a> Module<'a> {
    /// Reads a module; `None` when it has something in it that parts could not have, or that is not known here.
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
        let numbers = (module.symbols.iter().enumerate()).map(|(number, it)| (it.name, number));
        module.numbers = numbers.collect();
        Some(module)
    }

    fn read_item(&mut self, text: &'a str) -> Option<()> {
        match text.split(' ').next().unwrap_or_default() {
            "" => {}
            word if word.starts_with(';') => {}
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
                if mentions(value).any(is_symbol) {
                    return None;
                } else if let Ok(number) = name.parse() {
                    self.nodes.insert((sigil, number), value);
                } else {
                    self.named.insert(NAMED.into_iter().find(|it| *it == name)?, value);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The module in parts, without what no kernel reaches, which is most of `core`; empty when there are no kernels.
    pub(crate) fn parts(&self) -> Vec<Piece> {
        let roots = (0..self.symbols.len()).filter(|it| self.symbols[*it].is_root);
        let mut uses = HashMap::new();
        let reached = roots.map(|root| (root, self.reached(root, &mut uses)));
        let reached: Vec<_> = reached.collect();
        // The groups by what their members have in common: the Rust module, or a variable.
        let mut group: Vec<usize> = (0..reached.len()).collect();
        let mut first: HashMap<(bool, usize), usize> = HashMap::new();
        for (index, (root, symbols)) in reached.iter().enumerate() {
            let scope = self.scope(self.symbols[*root].text);
            let states = symbols.iter().filter(|it| self.symbols[**it].is_state);
            let keys = states.map(|state| (true, *state));
            for key in keys.chain([(false, scope)]) {
                let (from, to) = (group[index], group[*first.entry(key).or_insert(index)]);
                group.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
            }
        }
        let mut groups: BTreeMap<usize, (Vec<&str>, BTreeSet<usize>)> = BTreeMap::new();
        for ((root, symbols), group) in reached.iter().zip(group) {
            let (roots, all) = groups.entry(group).or_default();
            roots.push(self.symbols[*root].name);
            all.extend(symbols);
        }
        let mut users = vec![0; self.symbols.len()];
        for symbol in groups.values().flat_map(|(_, symbols)| symbols) {
            users[*symbol] += 1;
        }
        let is_shared = |symbol| users[symbol] > 1;
        let groups: Vec<_> = groups.into_values().collect();
        let Ok(pieces) = in_parallel(&groups, |(roots, symbols)| {
            let ir = write::write(&[(self, symbols.clone())], is_shared);
            Ok::<_, Infallible>(Piece { ir, roots: roots.join(",") })
        });
        pieces
    }

    /// The names of the functions and variables, in the module's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.symbols.iter().map(|symbol| symbol.name)
    }

    /// What a root reaches; `uses` is filled with what each symbol mentions.
    fn reached(&self, root: usize, uses: &mut HashMap<usize, Vec<usize>>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(symbol) = open.pop() {
            let used = uses.entry(symbol).or_insert_with(|| {
                let number = |(_, mention)| match mention {
                    Mention::Symbol(name) => self.numbers.get(name).copied(),
                    _ => None,
                };
                mentions(self.symbols[symbol].text).filter_map(number).collect()
            });
            open.extend(used.iter().filter(|number| reached.insert(**number)));
        }
        reached
    }

    /// Whether calls of a function stay calls (`noinline`). It stays local, so that arguments which it does not use go.
    fn is_called(&self, function: &str) -> bool {
        let line = function.lines().next().unwrap_or_default();
        mentions(line).any(|(_, mention)| match mention {
            Mention::Number(sigil, number) => {
                let attributes = self.nodes.get(&(sigil, number));
                attributes.is_some_and(|it| it.contains(" noinline "))
            }
            Mention::Symbol(_) => false,
        })
    }

    /// The number of the Rust module that debug information has a function in.
    fn scope(&self, function: &str) -> usize {
        let number = |text: &str, key: &str| -> Option<u32> {
            let rest = text.split_once(key)?.1;
            rest[..rest.find([' ', ',', ')'])?].parse().ok()
        };
        let subprogram = number(function.lines().next().unwrap_or_default(), " !dbg !");
        let subprogram = subprogram.and_then(|number| self.nodes.get(&('!', number)));
        let scope = subprogram.and_then(|text| number(text, "scope: !"));
        scope.map_or(usize::MAX, |scope| scope as usize)
    }
}

/// `@x = internal unnamed_addr addrspace(3) global [4 x i32] undef, align 4`
fn variable(text: &str) -> Option<Symbol<'_>> {
    let (name, rest) = named(text)?;
    let words: Vec<_> = rest.split(' ').collect();
    let is_kind = |word: &&str| ["global", "constant"].contains(word);
    let kind = words.iter().position(is_kind)?;
    let has = |word: &str| words[..kind].contains(&word);
    let is_local = has("internal") || has("private");
    let is_declaration = has("external");
    // Linkages that let a linker choose among definitions, and LLVM's own lists.
    if name.starts_with("llvm.") || !(is_local || is_declaration || has_plain_linkage(&words[..kind])) {
        return None;
    }
    Some(Symbol {
        name,
        text,
        is_root: !is_local && !is_declaration,
        is_state: !(is_declaration || is_local && words[kind] == "constant"),
    })
}

/// `define internal void @f(…) … {` to its closing brace, or `declare void @g(…)`.
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
    Some(Symbol { name: named(&line[at..])?.0, text, is_root: !is_local && !is_declaration, is_state: false })
}

/// A name; numbers must follow one another, which they do not in a part.
fn named(text: &str) -> Option<(&str, &str)> {
    global_name(text).filter(|(name, _)| name.bytes().any(|c| !c.is_ascii_digit()))
}

/// Whether no linker may choose among definitions.
fn has_plain_linkage(words: &[&str]) -> bool {
    let other = "linkonce weak common appending available_ extern_weak";
    let is_other = |word: &&str| other.split(' ').any(|other| word.starts_with(other));
    !words.iter().any(is_other)
}
