//! Reads the list of chapters: mdBook's `SUMMARY.md`.

use std::collections::BTreeMap;

use crate::fault::{Faults, at};
use crate::{FOLDER, read};

/// Returns the text of each chapter, by file.
///
/// # Errors
/// Returns a fault when a chapter cannot be read, and for each chapter that is not in the list.
pub(crate) fn chapters() -> Result<BTreeMap<String, String>, Faults> {
    let list = format!("{FOLDER}/src/SUMMARY.md");
    let summary = read(&list).map_err(|fault| Faults(vec![fault]))?;
    let (mut chapters, mut faults) = (BTreeMap::new(), Vec::new());
    for (number, line) in summary.lines().enumerate() {
        let Some((_, link)) = line.split_once("](") else { continue };
        let name = link.trim_end().trim_end_matches(')');
        match read(&format!("{FOLDER}/src/{name}")) {
            Ok(text) => drop(chapters.insert(name.to_owned(), text)),
            Err(fault) => faults.push(at(format_args!("{list}:{}", number + 1), fault)),
        }
    }
    let files = std::fs::read_dir(format!("{FOLDER}/src")).into_iter().flatten().flatten();
    for name in files.map(|file| file.file_name().to_string_lossy().into_owned()) {
        if name.ends_with(".md") && name != "SUMMARY.md" && !chapters.contains_key(&name) {
            faults.push(at(&list, format_args!("{name} is not in the list")));
        }
    }
    if faults.is_empty() { Ok(chapters) } else { Err(Faults(faults)) }
}

/// Returns the table of contents for the repository, with links to the documents in their folder.
pub(crate) fn contents(summary: &str, documents: &BTreeMap<String, String>) -> String {
    let mut text = summary.replacen("# Summary", "# The book", 1);
    for (document, chapter) in documents {
        text = text.replace(&format!("]({chapter})"), &format!("](../../../{document})"));
    }
    format!("<!-- `cargo xtask book` writes this folder from docs/book/src. Edit the chapters there. -->\n\n{text}")
}
