//! Cutting a module of LLVM IR into parts that are compiled by themselves, and joining modules into one.
//!
//! A part holds some of the module's kernels and everything that they reach. Kernels of one Rust module are in one
//! part, and so are kernels that share a variable: what one of them does with it says what the optimizer may assume
//! about it in the other. Numbers of metadata and attributes count from 0 in the order of their first mention, so that
//! the text of a part is the same as before when only other parts have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::ops::Range;

use crate::lower::ir::global_name;

/// The named metadata that is understood: none of it says anything about a particular function.
const COMPILE_UNITS: &str = "llvm.dbg.cu";
const NAMED: [&str; 3] = ["llvm.module.flags", "llvm.ident", COMPILE_UNITS];

/// The definitions of a module, by name or number.
#[derive(Default)]
pub(crate) struct Module<'a> {
    head: Vec<&'a str>,
    types: Vec<(&'a str, &'a str)>,
    symbols: Vec<Symbol<'a>>,
    numbers: HashMap<&'a str, usize>,
    attributes: HashMap<u32, &'a str>,
    metadata: HashMap<u32, &'a str>,
    named: Vec<(&'a str, &'a str)>,
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

/// A mention of something that is defined elsewhere in the module.
enum Mention<'a> {
    Symbol(&'a str),
    Type(&'a str),
    Attributes(u32),
    Metadata(u32),
}

/// The mentions in IR text, without those in strings and comments.
fn mentions(text: &str) -> impl Iterator<Item = (Range<usize>, Mention<'_>)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(ahead) = bytes[at..]
            .iter()
            .position(|byte| b"\";@%!#".contains(byte))
        {
            let start = at + ahead;
            at = start + 1;
            let rest = &text[at..];
            match bytes[start] {
                b'"' => at += rest.find('"').map_or(rest.len(), |end| end + 1),
                b';' => at += rest.find('\n').unwrap_or(rest.len()),
                sigil @ (b'@' | b'%') => {
                    let name = match rest.strip_prefix('"') {
                        Some(quoted) => &rest[..quoted.find('"').map_or(rest.len(), |end| end + 2)],
                        None => {
                            let part = |c: &u8| c.is_ascii_alphanumeric() || b"-$._".contains(c);
                            &rest[..rest.bytes().take_while(|c| part(c)).count()]
                        }
                    };
                    at += name.len();
                    let name = name.trim_matches('"');
                    let mention = if sigil == b'@' {
                        Mention::Symbol(name)
                    } else {
                        Mention::Type(name)
                    };
                    return Some((start..at, mention));
                }
                sigil @ (b'!' | b'#') => {
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                    let Ok(number) = rest[..digits].parse() else {
                        continue;
                    };
                    at += digits;
                    let mention = if sigil == b'!' {
                        Mention::Metadata(number)
                    } else {
                        Mention::Attributes(number)
                    };
                    return Some((start..at, mention));
                }
                _ => {}
            }
        }
        None
    })
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
        let numbered = |sigil: &str| {
            let (number, _) = text.strip_prefix(sigil)?.split_once(' ')?;
            number.parse().ok()
        };
        match text.split(' ').next().unwrap_or_default() {
            "" => {}
            word if word.starts_with(';') => {}
            "source_filename" | "target" => self.head.push(text),
            word if word.starts_with('%') => {
                let (name, _) = text[1..].split_once(" = type ")?;
                self.types.push((name.trim_matches('"'), text));
            }
            word if word.starts_with('@') => self.symbols.push(variable(text)?),
            "declare" | "define" => self.symbols.push(function(text)?),
            "attributes" => {
                self.attributes
                    .insert(numbered("attributes #")?, text.split_once(" = ")?.1);
            }
            word if word.starts_with('!') => match numbered("!") {
                Some(number) => {
                    let value = text.split_once(" = ")?.1;
                    let is_symbol = |(_, mention)| matches!(mention, Mention::Symbol(_));
                    if mentions(value).any(is_symbol) {
                        return None;
                    }
                    self.metadata.insert(number, value);
                }
                None => {
                    let (name, value) = text[1..].split_once(" = ")?;
                    NAMED.contains(&name).then_some(())?;
                    self.named.push((name, value));
                }
            },
            _ => return None,
        }
        Some(())
    }

    /// The module in parts; empty when there is no more than one.
    pub(crate) fn parts(&self) -> Vec<Piece> {
        let roots = (0..self.symbols.len()).filter(|it| self.symbols[*it].is_root);
        let reached: Vec<_> = roots.map(|root| (root, self.reached(root))).collect();
        // The groups by what their members have in common: the Rust module, or a variable.
        let mut group: Vec<usize> = (0..reached.len()).collect();
        let mut first: HashMap<(bool, usize), usize> = HashMap::new();
        for (index, (root, symbols)) in reached.iter().enumerate() {
            let scope = self.scope(self.symbols[*root].text);
            let states = symbols.iter().filter(|it| self.symbols[**it].is_state);
            let keys = states.map(|state| (true, *state));
            for key in keys.chain([(false, scope)]) {
                let (from, to) = (group[index], group[*first.entry(key).or_insert(index)]);
                group
                    .iter_mut()
                    .filter(|it| **it == from)
                    .for_each(|it| *it = to);
            }
        }
        let mut groups: BTreeMap<usize, (Vec<&str>, BTreeSet<usize>)> = BTreeMap::new();
        for ((root, symbols), group) in reached.iter().zip(group) {
            let (roots, all) = groups.entry(group).or_default();
            roots.push(self.symbols[*root].name);
            all.extend(symbols);
        }
        if groups.len() < 2 {
            return Vec::new();
        }
        let mut users = vec![0; self.symbols.len()];
        for symbol in groups.values().flat_map(|(_, symbols)| symbols) {
            users[*symbol] += 1;
        }
        let is_shared = |symbol| users[symbol] > 1;
        let piece = |(roots, symbols): (Vec<&str>, BTreeSet<usize>)| Piece {
            ir: write(&[(self, symbols)], is_shared),
            roots: roots.join(","),
        };
        groups.into_values().map(piece).collect()
    }

    /// The names of the functions and variables, in the module's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.symbols.iter().map(|symbol| symbol.name)
    }

    fn reached(&self, root: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(symbol) = open.pop() {
            for (_, mention) in mentions(self.symbols[symbol].text) {
                let Mention::Symbol(name) = mention else {
                    continue;
                };
                let number = self.numbers.get(name).copied();
                open.extend(number.filter(|number| reached.insert(*number)));
            }
        }
        reached
    }

    /// Whether calls of a function stay calls (`noinline`). It stays local, so that arguments which it does not use go.
    fn is_called(&self, function: &str) -> bool {
        let line = function.lines().next().unwrap_or_default();
        let groups = mentions(line).filter_map(|(_, mention)| match mention {
            Mention::Attributes(number) => self.attributes.get(&number),
            _ => None,
        });
        groups.into_iter().any(|group| group.contains(" noinline "))
    }

    /// The number of the Rust module that debug information has a function in.
    fn scope(&self, function: &str) -> usize {
        let number = |text: &str, key: &str| -> Option<u32> {
            let rest = text.split_once(key)?.1;
            rest[..rest.find([' ', ',', ')'])?].parse().ok()
        };
        let subprogram = number(function.lines().next().unwrap_or_default(), " !dbg !");
        let subprogram = subprogram.and_then(|number| self.metadata.get(&number));
        let scope = subprogram.and_then(|text| number(text, "scope: !"));
        scope.map_or(usize::MAX, |scope| scope as usize)
    }
}

/// `@x = internal unnamed_addr addrspace(3) global [4 x i32] undef, align 4`
fn variable(text: &str) -> Option<Symbol<'_>> {
    let (name, rest) = global_name(text)?;
    let words: Vec<_> = rest.split(' ').collect();
    let kind = words
        .iter()
        .position(|word| ["global", "constant"].contains(word))?;
    let has = |word: &str| words[..kind].contains(&word);
    let is_local = has("internal") || has("private");
    let is_declaration = has("external");
    // Linkages that let a linker choose among definitions, and LLVM's own lists.
    if name.starts_with("llvm.")
        || !(is_local || is_declaration || has_plain_linkage(&words[..kind]))
    {
        return None;
    }
    Some(Symbol {
        name,
        text,
        is_root: !is_local && !is_declaration,
        is_state: !is_declaration && !(is_local && words[kind] == "constant"),
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
    Some(Symbol {
        name: global_name(&line[at..])?.0,
        text,
        is_root: !is_local && !is_declaration,
        is_state: false,
    })
}

fn has_plain_linkage(words: &[&str]) -> bool {
    let other = [
        "linkonce",
        "weak",
        "common",
        "appending",
        "available_",
        "extern_weak",
    ];
    !words
        .iter()
        .any(|word| other.iter().any(|other| word.starts_with(other)))
}

/// One module with all that these modules define; what several define is taken from the first.
pub(crate) fn join(mut texts: Vec<String>) -> Option<String> {
    if texts.len() == 1 {
        return texts.pop();
    }
    let modules: Option<Vec<_>> = texts.iter().map(|text| Module::read(text)).collect();
    let modules = modules?;
    let mut names = HashSet::new();
    let mut sources = Vec::new();
    for module in &modules {
        let numbers = (0..module.symbols.len()).filter(|it| names.insert(module.symbols[*it].name));
        sources.push((module, numbers.collect()));
    }
    Some(write(&sources, |_| false))
}

/// Writes a module of these symbols, and of the types, attributes and metadata that they mention. Functions that are
/// shared become visible.
fn write(sources: &[(&Module<'_>, BTreeSet<usize>)], is_shared: impl Fn(usize) -> bool) -> String {
    let [mut types, mut bodies, mut groups, mut nodes] = [const { String::new() }; 4];
    let mut known_types = HashSet::new();
    let mut named: Vec<(&str, Vec<String>)> = NAMED.map(|name| (name, Vec::new())).into();
    let (mut next_group, mut next_node) = (0, 0);
    for (index, (module, symbols)) in sources.iter().enumerate() {
        let mut writer = Writer {
            types: module.types.iter().copied().collect(),
            used_types: BTreeSet::new(),
            groups: Numbers::from(next_group),
            nodes: Numbers::from(next_node),
        };
        for symbol in symbols {
            let mut text = module.symbols[*symbol].text;
            let locals = ["define internal ", "define private "];
            if is_shared(*symbol)
                && !module.is_called(text)
                && let Some(rest) = locals.iter().find_map(|local| text.strip_prefix(local))
            {
                bodies.push_str("define ");
                text = rest;
            }
            writer.write(text, &mut bodies);
            bodies.push('\n');
        }
        for (name, list) in &module.named {
            let list = list
                .trim_start_matches("!{")
                .trim_end_matches('}')
                .split(", ");
            for node in list {
                let number = node.trim_start_matches('!').parse().unwrap_or_default();
                // The first module's flags are everyone's; a compile unit stays if a function is of it.
                let is_unit = *name == COMPILE_UNITS;
                if is_unit {
                    writer.close(module, &mut groups, &mut nodes);
                }
                if is_unit && writer.nodes.new.contains_key(&number) || !is_unit && index == 0 {
                    let entry = named.iter_mut().find(|(own, _)| own == name);
                    let number = writer.nodes.number(number);
                    entry
                        .into_iter()
                        .for_each(|(_, list)| list.push(format!("!{number}")));
                }
            }
        }
        writer.close(module, &mut groups, &mut nodes);
        // A type can be made of others.
        let mut open: Vec<&str> = writer.used_types.iter().copied().collect();
        while let Some(name) = open.pop() {
            let text = writer.types[name];
            for (_, mention) in mentions(text.split_once(" = ").map_or("", |it| it.1)) {
                if let Mention::Type(inner) = mention
                    && let Some((inner, _)) = writer.types.get_key_value(inner)
                    && writer.used_types.insert(inner)
                {
                    open.push(inner);
                }
            }
        }
        for name in writer.used_types {
            if known_types.insert(name) {
                let _ = writeln!(types, "{}", writer.types[name]);
            }
        }
        (next_group, next_node) = (writer.groups.next, writer.nodes.next);
    }
    let head = sources[0].0.head.join("\n");
    let mut out = format!("{head}\n{types}{bodies}{groups}");
    for (name, list) in named.iter().filter(|(_, list)| !list.is_empty()) {
        let _ = writeln!(out, "!{name} = !{{{}}}", list.join(", "));
    }
    out + &nodes
}

/// New numbers in the order of their first mention, from `next` on.
struct Numbers {
    new: HashMap<u32, u32>,
    next: u32,
    open: Vec<u32>,
}

impl Numbers {
    fn from(next: u32) -> Self {
        Self {
            new: HashMap::new(),
            next,
            open: Vec::new(),
        }
    }

    fn number(&mut self, old: u32) -> u32 {
        *self.new.entry(old).or_insert_with(|| {
            self.open.push(old);
            self.next += 1;
            self.next - 1
        })
    }
}

/// Copies the text of one module and gives it new numbers.
struct Writer<'a> {
    types: HashMap<&'a str, &'a str>,
    used_types: BTreeSet<&'a str>,
    groups: Numbers,
    nodes: Numbers,
}

impl Writer<'_> {
    fn write(&mut self, text: &str, out: &mut String) {
        let mut copied = 0;
        for (range, mention) in mentions(text) {
            let (sigil, number) = match mention {
                Mention::Symbol(_) => continue,
                Mention::Type(name) => {
                    if let Some((name, _)) = self.types.get_key_value(name) {
                        self.used_types.insert(name);
                    }
                    continue;
                }
                Mention::Attributes(number) => ('#', self.groups.number(number)),
                Mention::Metadata(number) => ('!', self.nodes.number(number)),
            };
            out.push_str(&text[copied..range.start]);
            let _ = write!(out, "{sigil}{number}");
            copied = range.end;
        }
        out.push_str(&text[copied..]);
        out.push('\n');
    }

    /// Writes the attributes and metadata that are mentioned and not yet written, and what these mention.
    fn close(&mut self, module: &Module<'_>, groups: &mut String, nodes: &mut String) {
        loop {
            for old in std::mem::take(&mut self.groups.open) {
                let text = module.attributes.get(&old).copied().unwrap_or("{ }");
                let _ = write!(groups, "attributes #{} = ", self.groups.new[&old]);
                self.write(text, groups);
            }
            let open = std::mem::take(&mut self.nodes.open);
            if open.is_empty() {
                return;
            }
            for old in open {
                let text = module.metadata.get(&old).copied().unwrap_or("!{}");
                let _ = write!(nodes, "!{} = ", self.nodes.new[&old]);
                self.write(text, nodes);
            }
        }
    }
}
