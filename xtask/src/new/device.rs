//! Reads the kernels' crate as text: its rungs, their files, and the declarations of their kernels.

use std::path::{Path, PathBuf};

use super::read;
use crate::console::{Failure, Result};

/// A rung that exists.
#[derive(Debug)]
pub(super) struct Rung {
    pub(super) name: String,
    /// Its ladder, which is the parent of its file's module.
    pub(super) ladder: String,
    /// The file.
    pub(super) path: PathBuf,
}

/// The declaration of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Signature {
    /// `input: *const i32, output: *mut i32, n: u32`
    pub(super) parameters: String,
    /// The const generics of a kernel that is compiled for several blocks, and their values: `X x Y` and `32 x 16, 16
    /// x 16`.
    pub(super) blocks: Option<(String, String)>,
}

/// The rungs that have files in their ladder's folder, in no particular order.
pub(super) fn rungs(sources: &Path) -> Result<Vec<Rung>> {
    let mut rungs = Vec::new();
    for folder in entries(sources)?.into_iter().filter(|path| path.is_dir()) {
        for path in entries(&folder)? {
            let ladder = folder.file_name().unwrap_or_default().to_string_lossy();
            rungs.extend(listed(&read(&path)?).into_iter().map(|name| Rung {
                name,
                ladder: ladder.clone().into_owned(),
                path: path.clone(),
            }));
        }
    }
    Ok(rungs)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file("read", folder, &error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// The names in a file's `RUNGS`: those of its constants for which there is a kernel of the same name.
fn listed(text: &str) -> Vec<String> {
    let list = text
        .split_once("pub const RUNGS: &[Rung] = &[")
        .and_then(|(_, rest)| rest.split_once("];"))
        .map_or("", |(list, _)| list);
    list.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 1 && word.chars().all(|c| !c.is_lowercase()))
        .map(str::to_lowercase)
        .filter(|name| text.contains(&**name))
        .collect()
}

/// The declaration of the kernel of this name in its file's text.
pub(super) fn signature(text: &str, name: &str) -> Option<Signature> {
    // A file whose kernels are written by a macro declares them once, with the macro's own variable as the name.
    let after = after_word(text, &format!("{name}(")).or_else(|| after_word(text, "$name("))?;
    let (parameters, rest) = after.split_once(')')?;
    let words: Vec<&str> = parameters.split_whitespace().collect();
    let blocks = rest.trim_start().strip_prefix("for ").and_then(|rest| {
        let (constants, rest) = rest.split_once(" in [")?;
        let (sizes, _) = rest.split_once(']')?;
        Some((constants.to_owned(), sizes.to_owned()))
    });
    Some(Signature { parameters: words.join(" ").trim_end_matches(',').to_owned(), blocks })
}

/// The text behind the first place where a word stands that is declared: with parameters that have types.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.match_indices(word)
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        .map(|(at, _)| &text[at + word.len()..])
        .find(|rest| {
            let parameters = rest.split_once(')').map_or("", |(parameters, _)| parameters);
            parameters.contains(": *")
        })
}

/// The text of a ladder's module with one more file in its `rungs!`, after another.
pub(super) fn with_file(text: &str, file: &str, behind: &str) -> Option<String> {
    let start = text.find("rungs! {")? + "rungs! {".len();
    let end = start + text[start..].find('}')?;
    let list = &text[start..end];
    let files = list.split(',').map(str::trim);
    let mut files: Vec<&str> = files.filter(|file| !file.is_empty()).collect();
    let place = files.iter().position(|name| *name == behind)?;
    files.insert(place + 1, file);
    let list = match list.contains('\n') {
        true => format!("\n    {},\n", files.join(",\n    ")),
        false => format!(" {} ", files.join(", ")),
    };
    Some(format!("{}{list}{}", &text[..start], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::{Signature, listed, signature, with_file};

    #[test]
    fn a_files_rungs() {
        let text = "pub const RUNGS: &[Rung] = &[Rung { entries: EVERY, ..REDUCE_SHFL }, COPY];\n\
                    entries! { reduce_shfl(a: *mut u8) for B in [64]; }\nfn copy(a: *mut u8) {}";
        assert_eq!(listed(text), ["reduce_shfl", "copy"]);
        assert!(listed("const NONE: u32 = 0;").is_empty());
    }

    #[test]
    fn signatures() {
        let text = "/// Not `sum(x)`.\nlet y = sum(a, b);\nentries! {\n    sum(input: *const i32,\n        n: u32,\n    )\n    \
                    for X x Y in [32 x 16, 16 x 16];";
        let blocks = Some(("X x Y".to_owned(), "32 x 16, 16 x 16".to_owned()));
        let other = "pub unsafe fn a_sum(a: *mut u8) {} pub unsafe fn sum(input: *const i32) {";
        for (text, parameters, blocks) in
            [(text, "input: *const i32, n: u32", blocks), (other, "input: *const i32", None)]
        {
            let parameters = parameters.to_owned();
            let expected = Signature { parameters, blocks };
            assert_eq!(signature(text, "sum"), Some(expected));
        }
        let text = "entries! { $name(a: *const f32) for T in [16]; }";
        assert!(signature(text, "sum").is_some_and(|found| found.blocks.is_some()));
        assert_eq!(signature("sum;", "sum"), None);
    }

    #[test]
    fn a_file_is_listed_behind_another() {
        let line = with_file("a\nrungs! { one, two }\nb", "new", "one");
        assert_eq!(line.as_deref(), Some("a\nrungs! { one, new, two }\nb"));
        let lines = with_file("rungs! {\n    one,\n    two,\n}\n", "new", "two");
        let expected = "rungs! {\n    one,\n    two,\n    new,\n}\n";
        assert_eq!(lines.as_deref(), Some(expected));
        assert_eq!(with_file("rungs! { one }", "new", "two"), None);
    }
}
