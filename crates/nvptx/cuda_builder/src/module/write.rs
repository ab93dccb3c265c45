//! Writing modules, with new numbers for attributes and metadata.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use super::{COMPILE_UNITS, Module, NAMED};
use crate::lower::ir::{Mention, mentions};

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

/// Writes a module of these symbols, and of the attributes and metadata that they mention. Functions that are shared
/// become visible.
pub(super) fn write(
    sources: &[(&Module<'_>, BTreeSet<usize>)],
    is_shared: impl Fn(usize) -> bool,
) -> String {
    let [mut head, mut bodies, mut groups, mut nodes] = [const { String::new() }; 4];
    let mut known = HashSet::new();
    let mut named = NAMED.map(|name| (name, Vec::new()));
    let (mut next_group, mut next_node) = (0, 0);
    for (index, (module, symbols)) in sources.iter().enumerate() {
        for line in module.head.iter().filter(|line| known.insert(**line)) {
            head = head + line + "\n";
        }
        let mut writer = Writer {
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
        // The first module's flags are everyone's.
        for (name, list) in &mut named {
            let own = module.named.get(name).copied().unwrap_or_default();
            let own = own.trim_matches(['!', '{', '}']).split(", ");
            let own = own.filter(|_| index == 0 || *name == COMPILE_UNITS);
            for number in own.filter_map(|node| node.trim_matches('!').parse().ok()) {
                list.push(format!("!{}", writer.nodes.number(number)));
            }
        }
        writer.close(module, &mut groups, &mut nodes);
        (next_group, next_node) = (writer.groups.next, writer.nodes.next);
    }
    let mut out = format!("{head}\n{bodies}{groups}");
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
struct Writer {
    groups: Numbers,
    nodes: Numbers,
}

impl Writer {
    fn write(&mut self, text: &str, out: &mut String) {
        let mut copied = 0;
        for (range, mention) in mentions(text) {
            // A number of a place in all the sources together. An edit of any of them would change all parts.
            if let Some(before) = text[copied..range.start].strip_suffix(", !srcloc ") {
                out.push_str(before);
                copied = range.end;
                continue;
            }
            let (sigil, number) = match mention {
                Mention::Symbol(_) => continue,
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
