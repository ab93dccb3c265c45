//! Merges the PTX of a module's parts into one PTX module and shortens the comments after line numbers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

use crate::lower::ir::has;

/// Merges the parts. Returns `None` if two parts define the same name differently. If there are several parts, the
/// functions are sorted by name.
pub(crate) fn merge(parts: &[String]) -> Option<String> {
    let mut files = Vec::new();
    if let [whole] = parts {
        let mut text = renumbered(whole, &mut files);
        list(&files, &mut text);
        return Some(text);
    }
    let texts: Vec<String> = parts.iter().map(|part| renumbered(part, &mut files)).collect();
    let mut functions: BTreeMap<&str, &str> = BTreeMap::new();
    let mut globals: HashMap<&str, &str> = HashMap::new();
    let mut declared = HashSet::new();
    let mut known = HashSet::new();
    let mut out = String::new();
    for item in texts.iter().flat_map(|text| items(text)) {
        let start = item.trim_start();
        // Debug information other than lines has labels that are valid only within one module.
        if start.starts_with(".section") || item.contains(", function_name ") {
            return None;
        }
        if item.ends_with("\n}\n") {
            let name = function_name(item)?;
            if let Some(other) = functions.insert(name, item)
                && !is_same(other, item)
            {
                return None;
            }
        } else if known.insert(item) {
            let name = item.split(['[', '=', ';']).next()?.split_whitespace().next_back()?;
            if start.contains(".func ") {
                declared.extend(function_name(item));
            } else if globals.insert(name, item).is_some() {
                return None;
            }
            out.push_str(item);
        }
    }
    // In a part, LLVM declares the functions that are defined after their first use. Because the functions are sorted
    // by name here, further declarations are necessary.
    for (name, text) in functions.iter().filter(|(name, text)| !text.contains(".entry ") && !declared.contains(*name)) {
        if functions.range(..*name).any(|(_, earlier)| has(earlier, name)) {
            let head = text.split_once("\n{").map_or(*text, |(head, _)| head);
            let lines = head.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end());
            let declaration: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
            let _ = writeln!(out, "{}\n;", declaration.join("\n"));
        }
    }
    for text in functions.values() {
        out.push('\n');
        out.push_str(text);
    }
    list(&files, &mut out);
    Some(out)
}

fn list(files: &[&str], out: &mut String) {
    for (file, number) in files.iter().zip(1..) {
        let _ = writeln!(out, "\t.file\t{number} {file}");
    }
}

/// Returns a part that uses the numbers of the common list of files, without its list of files. Adds the part's files
/// to the common list.
///
/// After each `.loc`, LLVM repeats the line and adds the calls through which the line was inlined: `// src/a.rs:9:14 @[
/// src/a.rs:47:42 @[ src/b.rs:51:13 ] ]`. These comments make up three quarters of the text. Only the calls are kept,
/// with `.file` numbers instead of paths: `// @[ 1:47:42 @[ 2:51:13`. LLVM also declares an empty debug section, even
/// if there are only line tables. This section is removed too.
fn renumbered<'a>(part: &'a str, files: &mut Vec<&'a str>) -> String {
    let mut part_files = Vec::new();
    for line in part.lines().filter_map(|line| line.trim_start().strip_prefix(".file")) {
        let Some((number, file)) = line.trim_start().split_once(' ') else {
            continue;
        };
        let at = files.iter().position(|known| *known == file).unwrap_or_else(|| {
            files.push(file);
            files.len() - 1
        });
        part_files.push((number, file.trim_matches('"'), (at + 1).to_string()));
    }
    let mut paths: HashMap<&str, &str> = HashMap::new();
    let mut out = String::with_capacity(part.len() / 2);
    for line in part.lines() {
        let is_empty_section = |line: &str| {
            let words: Vec<_> = line.split_whitespace().collect();
            matches!(words[..], [".section", _, "{", "}"])
        };
        let trimmed = line.trim_start();
        if trimmed.starts_with(".file") || trimmed.starts_with(".section") && is_empty_section(line) {
            continue;
        }
        let place = trimmed.strip_prefix(".loc\t").and_then(|rest| rest.trim_start().split_once(' '));
        let Some((file, place)) = place else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let file = part_files.iter().find(|entry| entry.0 == file).map_or(file, |entry| &entry.2);
        let (place, remark) = place.split_once("//").unwrap_or((place, ""));
        let _ = write!(out, "\t.loc\t{file} {}", place.trim_end());
        for (depth, call) in remark.split("@[ ").skip(1).enumerate() {
            let call = call.trim_end_matches([']', ' ']);
            let path_end = call.rmatch_indices(':').nth(1).map_or(0, |(at, _)| at);
            let (path, place) = call.split_at(path_end);
            let number = paths.entry(path).or_insert_with(|| {
                let file = part_files.iter().find(|entry| Path::new(entry.1).ends_with(path));
                file.map_or(path, |entry| &entry.2)
            });
            out.push_str(if depth == 0 { " // @[ " } else { " @[ " });
            out.push_str(number);
            out.push_str(place);
        }
        out.push('\n');
    }
    out
}

/// Returns the directives, declarations and functions, without the comments between them.
pub(crate) fn items(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut at) = (0, 0);
    let (mut in_body, mut in_asm) = (false, false);
    for line in text.split_inclusive('\n') {
        let is_first = start == at;
        at += line.len();
        let code = if in_body { line } else { line.split("//").next().unwrap_or_default() }.trim();
        let is_whole = if in_body {
            match code {
                "// begin inline asm" => in_asm = true,
                "// end inline asm" => in_asm = false,
                _ => {}
            }
            !in_asm && line.trim_end() == "}"
        } else {
            in_body = code == "{";
            let is_setting = [".version", ".target", ".address_size"];
            code.ends_with(';') || is_setting.iter().any(|setting| code.starts_with(setting))
        };
        if is_whole {
            items.push(&text[start..at]);
            in_body = false;
        }
        if is_whole || is_first && code.is_empty() {
            start = at;
        }
    }
    items
}

/// Returns the name in `.visible .entry k(` or `.func (.param .b32 func_retval0) f(`.
pub(crate) fn function_name(item: &str) -> Option<&str> {
    let at = item.find(".entry ").map(|at| at + 7).or(item.find(".func ").map(|at| at + 6))?;
    let mut rest = item[at..].trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')')?.1.trim_start();
    }
    rest.split(|end: char| end == '(' || end.is_whitespace()).next()
}

/// Returns whether two functions are equal except for comments and LLVM's numbering of the module's functions.
fn is_same(a: &str, b: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let counted = |line: &&str| !line.starts_with("$L__tmp") && !line.starts_with("$L__func_");
        let plain = |line: &str| {
            let code = line.split("//").next().unwrap_or_default().trim_end();
            let mut parts = code.split("$L__BB");
            let mut out = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                out += part.trim_start_matches(|digit: char| digit.is_ascii_digit());
            }
            out
        };
        text.lines().filter(counted).map(plain).collect()
    };
    lines(a) == lines(b)
}

#[cfg(test)]
mod tests;
