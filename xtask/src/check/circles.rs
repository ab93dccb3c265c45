//! The check for import cycles: no module of a crate may depend on itself through other modules.
//!
//! The modules of a crate are declared in its `lib.rs` or `main.rs`, and include their submodules. A module depends on
//! another module if its code names that module: `crate::other`, or `super::other` at the first level. A name that the
//! root re-exports (`pub use other::Thing`) counts as a name of the module that it comes from. The root may name all
//! modules. The modules of [`INNER`] are checked in the same way, each like the root of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::source::{Token, Tokens};
use crate::console::{Failure, Result};
use crate::process::from_root;

/// Modules whose submodules are also checked: the folder of the package, and the name of the module.
const INNER: [(&str, &str); 1] = [("crates/simt/driver", "gpu")];

/// A source file: its path in messages, the modules from the root down to the file, and its text.
#[derive(Debug)]
struct File {
    shown: String,
    modules: Vec<String>,
    text: String,
}

/// For each module, the modules that it names, each with the location of the first mention.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// Returns the cycles in each crate of the workspace, each as the text of an error.
pub(super) fn in_workspace(root: &Path) -> Result<Vec<String>> {
    let manifest = read(&root.join("Cargo.toml"))?;
    let mut errors = Vec::new();
    for member in members(&manifest) {
        let source = root.join(&member).join("src");
        if !source.is_dir() {
            // This is a package of tests.
            continue;
        }
        let inner = INNER.iter().filter(|(package, _)| *package == member).map(|(_, module)| *module);
        for module in std::iter::once("").chain(inner) {
            let mut files = Vec::new();
            collect(&source.join(module), &mut Vec::new(), &mut files)?;
            let circles = circles(&graph(&files, module)).into_iter();
            errors.extend(circles.map(|circle| format!("{member}: {circle}")));
        }
    }
    Ok(errors)
}

/// Returns the folders of a workspace's members.
fn members(manifest: &str) -> Vec<String> {
    let list =
        manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    let names = list.split('"').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))
}

/// Collects the source files in a folder and its subfolders. The root's folder `bin` contains programs, which are
/// separate crates.
fn collect(folder: &Path, modules: &mut Vec<String>, files: &mut Vec<File>) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file("read", folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let stem = stem.into_owned();
        let is_source = path.extension().is_some_and(|ending| ending == "rs");
        let is_root = modules.is_empty() && matches!(&*stem, "lib" | "main");
        if path.is_dir() {
            if !(modules.is_empty() && stem == "bin") {
                modules.push(stem);
                collect(&path, modules, files)?;
                modules.pop();
            }
        } else if is_source {
            let mut module_path = modules.clone();
            module_path.extend((!is_root && stem != "mod").then_some(stem));
            files.push(File { shown: from_root(&path), modules: module_path, text: read(&path)? });
        }
    }
    Ok(())
}

/// Returns the imports between the modules of a root: the crate if `inner` is empty, and otherwise its module of this
/// name.
fn graph(files: &[File], inner: &str) -> Graph {
    let modules = files.iter().filter_map(|file| file.modules.first());
    let known: BTreeSet<&str> = modules.map(String::as_str).collect();
    let scanned = files.iter().map(|file| (file, Tokens::parse(&file.text)));
    let scanned: Vec<_> = scanned.collect();
    // The files of modules that are declared only for tests.
    let for_tests = scanned.iter().flat_map(|(file, tokens)| {
        let modules = tokens.test_modules.iter();
        modules.map(|module| [&file.modules[..], std::slice::from_ref(module)].concat())
    });
    let for_tests: Vec<Vec<String>> = for_tests.collect();
    let is_test = |file: &File| for_tests.iter().any(|test| file.modules.starts_with(test));
    let mut exported: BTreeMap<&str, &str> = BTreeMap::new();
    for (_, tokens) in scanned.iter().filter(|(file, _)| file.modules.is_empty()) {
        re_exports(&tokens.all, &known, &mut exported);
    }
    let mut graph = Graph::new();
    for (file, tokens) in scanned.iter().filter(|(file, _)| !is_test(file)) {
        let Some(importer) = file.modules.first() else {
            continue;
        };
        for (name, line) in root_names(&tokens.all, file.modules.len(), inner) {
            let module = known.get(name).or_else(|| exported.get(name)).copied();
            if let Some(module) = module.filter(|module| module != importer) {
                let needed = graph.entry(importer.clone()).or_default();
                let place = || format!("{}:{line}", file.shown);
                needed.entry(module.to_owned()).or_insert_with(place);
            }
        }
    }
    graph
}

/// Returns the names in the root that a file `depth` modules below the root refers to, with the lines of the
/// references.
fn root_names<'a>(tokens: &'a [Token], depth: usize, inner: &str) -> Vec<(&'a str, usize)> {
    let mut names = Vec::new();
    let mut at = 0;
    // Inside each nested module of the file, one more `super` is needed to reach the root.
    let mut braces = 0;
    let mut module_depths: Vec<usize> = Vec::new();
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    while at < tokens.len() {
        match text(at) {
            "mod" if text(at + 2) == "{" => module_depths.push(braces),
            "{" => braces += 1,
            "}" => {
                braces -= 1_usize.min(braces);
                module_depths.pop_if(|outer| *outer == braces);
            }
            "crate" if text(at + 1) == "::" => match inner {
                "" => heads(&tokens[at + 2..], &mut names),
                _ if text(at + 2) == inner && text(at + 3) == "::" => heads(&tokens[at + 4..], &mut names),
                _ => {}
            },
            "super" if at == 0 || text(at - 1) != "::" => {
                let is_up = |at| text(at) == "super" && text(at + 1) == "::";
                let ups = (0..).take_while(|step| is_up(at + 2 * step)).count();
                if ups > 0 && ups == depth + module_depths.len() {
                    heads(&tokens[at + 2 * ups..], &mut names);
                }
                at += (2 * ups).max(1);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// Adds the first name of a path, or of each path in a group `{a::b, c}`.
fn heads<'a>(tokens: &'a [Token], names: &mut Vec<(&'a str, usize)>) {
    let (mut depth, mut is_head) = (0, true);
    for token in tokens {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            name if is_head => names.push((name, token.line)),
            _ => {}
        }
        if depth == 0 {
            return;
        }
        is_head = depth == 1 && matches!(token.text.as_str(), "{" | ",");
    }
}

/// Adds the names that a root's `use` declarations import from its modules.
fn re_exports<'a>(tokens: &'a [Token], known: &BTreeSet<&'a str>, exported: &mut BTreeMap<&'a str, &'a str>) {
    for declaration in tokens.split(|token| token.text == ";") {
        let of_use = declaration.iter().position(|token| token.text == "use");
        let mut words = &declaration[of_use.map_or(declaration.len(), |at| at + 1)..];
        while let [first, second, rest @ ..] = words
            && matches!(first.text.as_str(), "crate" | "self")
            && second.text == "::"
        {
            words = rest;
        }
        let module = words.first().map_or("", |first| first.text.as_str());
        for (index, word) in words.iter().enumerate().skip(1) {
            let next = words.get(index + 1).map_or("", |next| next.text.as_str());
            let is_last = matches!(next, "" | "," | "}");
            if is_last && known.contains(module) && word.text.starts_with(char::is_alphabetic) {
                exported.insert(&word.text, module);
            }
        }
    }
}

/// Returns the cycles of a graph, as the text of an error: for each strongly connected component, the shortest cycle
/// through its first module.
fn circles(graph: &Graph) -> Vec<String> {
    let mut reported_modules: BTreeSet<&str> = BTreeSet::new();
    let mut circles = Vec::new();
    for start in graph.keys() {
        let Some(circle) = shortest(graph, start) else {
            continue;
        };
        if circle.iter().any(|module| reported_modules.contains(module)) {
            continue;
        }
        reported_modules.extend(&circle);
        let mut text = format!("the modules {} import each other in a cycle", circle.join(", "));
        for (from, to) in circle.iter().zip(circle.iter().cycle().skip(1)) {
            text.push_str(&format!("\n  {from} -> {to}  {}", graph[*from][*to]));
        }
        circles.push(text);
    }
    circles
}

/// Returns the shortest cycle through a module.
fn shortest<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let mut predecessors: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for next in graph.get(module).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                let mut cycle = vec![module];
                while let Some(predecessor) = predecessors.get(cycle[cycle.len() - 1]) {
                    cycle.push(predecessor);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if !predecessors.contains_key(next.as_str()) {
                predecessors.insert(next, module);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
