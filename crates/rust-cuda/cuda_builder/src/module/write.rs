//! Writes modules with renumbered attributes and metadata.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use super::{COMPILE_UNITS, Module, NAMED};
use crate::lower::ir::{Mention, mentions};

/// Returns one module with everything that these modules define. If several modules define the same thing, the first
/// definition is used.
pub(crate) fn join(mut texts: Vec<String>) -> Option<String> {
    if texts.len() == 1 {
        return texts.pop();
    }
    let modules: Option<Vec<_>> = texts.iter().map(|text| Module::read(text)).collect();
    let modules = modules?;
    let mut names = HashSet::new();
    let mut sources = Vec::new();
    for module in &modules {
        let numbers = (0..module.symbols.len()).filter(|index| names.insert(module.symbols[*index].name));
        sources.push((module, numbers.collect()));
    }
    Some(write(&sources, |module, symbol| (Cow::Borrowed(""), modules[module].symbols[symbol].text), |_, _| None))
}

/// Writes a module of these symbols and the attributes and metadata that they mention.
///
/// `text` returns the text of a symbol in two parts. `renamed` returns the new name of a symbol, if it has one. The
/// first argument of both is the index of the source.
pub(super) fn write<'a>(
    sources: &[(&Module<'_>, BTreeSet<usize>)],
    text: impl Fn(usize, usize) -> (Cow<'a, str>, &'a str),
    renamed: impl Fn(usize, &str) -> Option<&'a str>,
) -> String {
    let [mut head, mut bodies, mut nodes] = [const { String::new() }; 3];
    let mut known = HashSet::new();
    let mut named = NAMED.map(|name| (name, Vec::new()));
    let mut numbers = Numbers::default();
    for (index, (module, symbols)) in sources.iter().enumerate() {
        numbers.new.clear();
        let is_new = |line: &&&str| index == 0 || !line.starts_with("source_filename");
        for line in module.head.iter().filter(is_new).filter(|line| known.insert(**line)) {
            head = head + line + "\n";
        }
        let renamed = |name: &str| renamed(index, name);
        for symbol in symbols {
            let (start, rest) = text(index, *symbol);
            numbers.write(&start, renamed, &mut bodies);
            numbers.write(rest, renamed, &mut bodies);
            bodies.push_str("\n\n");
        }
        // The flags of the first module apply to all modules.
        for (name, list) in &mut named {
            let nodes = module.named.get(name).copied().unwrap_or_default();
            let nodes = nodes.trim_matches(['!', '{', '}']).split(", ");
            let nodes = nodes.filter(|_| index == 0 || *name == COMPILE_UNITS);
            for number in nodes.filter_map(|node| node.trim_matches('!').parse().ok()) {
                list.push(format!("!{}", numbers.number(('!', number))));
            }
        }
        // Mentioned nodes can mention further nodes.
        while let Some(old) = numbers.open.pop() {
            let keyword = if old.0 == '#' { "attributes " } else { "" };
            let _ = write!(nodes, "{keyword}{}{} = ", old.0, numbers.number(old));
            numbers.write(module.node(old.0, old.1), renamed, &mut nodes);
            nodes.push('\n');
        }
    }
    let mut out = format!("{head}\n{bodies}");
    for (name, list) in named.iter().filter(|(_, list)| !list.is_empty()) {
        let _ = writeln!(out, "!{name} = !{{{}}}", list.join(", "));
    }
    out + &nodes
}

/// Assigns new numbers to attributes and metadata, in the order of their first mention.
#[derive(Default)]
struct Numbers {
    new: HashMap<(char, u32), u32>,
    next: u32,
    /// The nodes that have been mentioned but not written yet.
    open: Vec<(char, u32)>,
}

impl Numbers {
    fn number(&mut self, old: (char, u32)) -> u32 {
        *self.new.entry(old).or_insert_with(|| {
            self.open.push(old);
            self.next += 1;
            self.next - 1
        })
    }

    /// Copies text with the new numbers and names.
    fn write<'a>(&mut self, text: &str, renamed: impl Fn(&str) -> Option<&'a str>, out: &mut String) {
        let mut copied = 0;
        for (range, mention) in mentions(text) {
            let before = &text[copied..range.start];
            let _ = match mention {
                // Remove `!srcloc`. It is a position in all sources together, so an edit of any source would change all
                // parts.
                Mention::Number(..) if before.ends_with(", !srcloc ") => {
                    out.push_str(&before[..before.len() - ", !srcloc ".len()]);
                    Ok(())
                }
                Mention::Number(sigil, number) => write!(out, "{before}{sigil}{}", self.number((sigil, number))),
                Mention::Symbol(name) => match renamed(name) {
                    Some(new) => write!(out, "{before}@\"{new}\""),
                    None => continue,
                },
            };
            copied = range.end;
        }
        out.push_str(&text[copied..]);
    }
}
