//! `cargo xtask new rung`: copies the file of a rung under a new name and lists it in its ladder.
//!
//! A new rung begins as a copy of the rung before it, so the new rung is correct from the start. A `diff` of the two
//! files shows only the new idea. Only the text about the old rung is replaced: the file's first lines, the lesson and
//! the published speedup.

use std::path::{Path, PathBuf};

use super::ladder::with_module;
use super::{Changes, check_name, read};
use crate::console::{Failure, Result, nearest, status};
use crate::process::{from_root, root};

/// An existing rung: its name, its ladder, its file and the text of the file.
struct Rung {
    name: String,
    ladder: String,
    path: PathBuf,
    text: String,
}

/// Writes a rung that follows another rung of the same ladder, as a copy of that rung. No file is overwritten.
///
/// # Errors
/// Returns a failure when the name is taken or invalid, when the other rung does not exist, and when a file cannot be
/// read or written.
pub(crate) fn new(name: &str, after: &str) -> Result<()> {
    check_name(name)?;
    let sources = root().join("kernels-gpu").join("src");
    let rungs = rungs(&sources)?;
    if let Some(taken) = rungs.iter().find(|rung| rung.name == name) {
        let place = from_root(&taken.path);
        return Err(Failure::request(format!("there is already a rung `{name}`, in {place}")));
    }
    let names = || rungs.iter().map(|rung| rung.name.as_str());
    let before = rungs.iter().find(|rung| rung.name == after);
    let before = before.ok_or_else(|| {
        let help = match nearest(after, names()) {
            Some(near) => format!("did you mean `--after {near}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        Failure::request(format!("there is no rung `{after}`")).help(help)
    })?;
    let ladder = &before.ladder;
    let module = name.strip_prefix(&format!("{ladder}_")).ok_or_else(|| {
        Failure::request(format!("`{name}` does not begin with the name of its ladder"))
            .help(format!("the rungs after `{after}` are named {ladder}_…"))
    })?;
    check_name(module)?;
    let list = sources.join(format!("{ladder}.rs"));
    let after_module = before.path.file_stem().unwrap_or_default().to_string_lossy();
    let listed = with_rung(&read(&list)?, module, name, &after_module, after);
    let (text, listed) = copy(&before.text, name, after).zip(listed).ok_or_else(|| {
        Failure::new(format!("`{after}` does not have the usual form, in {}", from_root(&before.path)))
            .help("give another rung after `--after`, then move the new rung to its place in the ladder's list")
    })?;
    let path = sources.join(ladder).join(format!("{module}.rs"));
    let mut changes = Changes::default();
    changes.create(path.clone(), &text, &[])?;
    changes.edit(list, listed);
    changes.write()?;
    let path = from_root(&path);
    status("Next", format_args!("{path} is a copy of `{after}`: change one idea, then `cargo xtask run check {name}`"));
    Ok(())
}

/// Returns the rungs of all ladders: each file in a ladder's folder with a function under `#[rung(…)]`.
fn rungs(sources: &Path) -> Result<Vec<Rung>> {
    let mut rungs = Vec::new();
    for folder in entries(sources)?.into_iter().filter(|path| path.is_dir()) {
        let ladder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for path in entries(&folder)?.into_iter().filter(|path| path.is_file()) {
            let text = read(&path)?;
            if let Some((_, rest)) = text.split_once("\n#[rung(")
                && let Some((_, rest)) = rest.split_once("\npub unsafe fn ")
            {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                rungs.push(Rung { name, ladder: ladder.clone(), path, text });
            }
        }
    }
    Ok(rungs)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file("read", folder, &error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Returns the text of a rung's file for a rung `name` that changes `after`, or `None` when the text has no rung
/// `after`.
fn copy(text: &str, name: &str, after: &str) -> Option<String> {
    let function = format!("pub unsafe fn {after}");
    let (before, rest) = text.split_once("\n#[rung(\n")?;
    let (arguments, kernel) = rest.split_once("\n)]\n")?;
    if !kernel.contains(&function) {
        return None;
    }
    // The file's first lines and the description above the attribute concern the old rung; the safety contract stays.
    let code = before.lines().skip_while(|line| line.starts_with("//!")).collect::<Vec<_>>();
    let described = code.iter().rposition(|line| !line.starts_with("///")).map_or(0, |index| index + 1);
    let (code, description) = code.split_at(described);
    let contract = description.iter().skip_while(|line| **line != "/// # Safety").copied();
    let describes = |line: &&str| {
        ["after =", "lesson =", "published =", "published_count ="].iter().any(|key| line.trim_start().starts_with(key))
    };
    let arguments = arguments.lines().filter(|line| !describes(line));
    let head = format!("//! In one line: what `{name}` changes.");
    let idea =
        format!("/// What changes from `{after}`, which counters should change by how much, and why that helps.");
    let lesson = format!("    lesson = \"what changes from {after}, in one line\",");
    let mut lines = vec![head.as_str()];
    lines.extend(code);
    lines.extend([idea.as_str(), "///"]);
    lines.extend(contract);
    let after_line = format!("    after = {after},");
    lines.extend(["#[rung(", after_line.as_str(), lesson.as_str()]);
    lines.extend(arguments);
    let kernel = kernel.replacen(&function, &format!("pub unsafe fn {name}"), 1);
    Some(format!("{}\n)]\n{kernel}", lines.join("\n")))
}

/// Returns the text of a ladder's file with one more module and one more rung after another rung, or `None` when that
/// rung is not listed.
fn with_rung(text: &str, module: &str, name: &str, after_module: &str, after: &str) -> Option<String> {
    let text = with_module(text, module)?;
    let (_, list) = text.split_once("pub const RUNGS")?;
    let entry = format!("{after_module}::{}", after.to_uppercase());
    let is_entry = |at: &usize| list[at + entry.len()..].starts_with([',', ']']);
    let at = list.match_indices(&entry).map(|(at, _)| at).find(is_entry)?;
    let end = text.len() - list.len() + at + entry.len();
    Some(format!("{}, {module}::{}{}", &text[..end], name.to_uppercase(), &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::{copy, with_rung};

    #[test]
    fn copy_replaces_name_and_lesson() {
        let text = "//! Old head.\n//! More.\n\nuse rung::rung;\n\n/// Old idea.\n///\n/// # Safety\n/// Contract.\n\
                    #[rung(\n    after = sum_a,\n    lesson = \"old\",\n    blocks = [64],\n    published = 2 over sum_a,\n    \
                    in_place\n)]\npub unsafe fn sum_b<const BLOCK: u32>(n: u32) {}\n";
        let expected = "//! In one line: what `sum_c` changes.\n\nuse rung::rung;\n\n/// What changes from `sum_b`, which \
                         counters should change by how much, and why that helps.\n///\n/// # Safety\n/// Contract.\n\
                         #[rung(\n    after = sum_b,\n    lesson = \"what changes from sum_b, in one line\",\n    \
                        blocks = [64],\n    in_place\n)]\npub unsafe fn sum_c<const BLOCK: u32>(n: u32) {}\n";
        assert_eq!(copy(text, "sum_c", "sum_b").as_deref(), Some(expected));
        assert_eq!(copy(text, "sum_c", "sum_x"), None);
    }

    #[test]
    fn a_rung_is_listed_after_another() {
        let text = "pub mod a;\npub mod b;\n\npub const RUNGS: &[Rung] = &[a::SUM_A, b::SUM_A2, b::SUM_B];\n";
        let expected = "pub mod a;\npub mod aa;\npub mod b;\n\npub const RUNGS: &[Rung] = &[a::SUM_A, b::SUM_A2, b::SUM_B, aa::SUM_AA];\n";
        assert_eq!(with_rung(text, "aa", "sum_aa", "b", "sum_b").as_deref(), Some(expected));
        assert_eq!(with_rung(text, "aa", "sum_aa", "b", "sum_x"), None);
    }
}
