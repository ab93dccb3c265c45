//! `cargo xtask new ladder`: writes a module of kernels with an empty first kernel, a module of the host with a
//! placeholder reference, and the lines that refer to these modules.

use super::{Changes, check_name, read};
use crate::console::{Failure, Result, status};
use crate::process::root;

const KERNELS: &str = include_str!("../../templates/ladder_kernels.rs.tmpl");
const RUNG: &str = include_str!("../../templates/ladder_rung.rs.tmpl");
const HOST: &str = include_str!("../../templates/ladder_host.rs.tmpl");

/// Writes a ladder of one rung. No file is overwritten.
///
/// # Errors
/// Returns a failure when the name is taken or invalid, and when a file cannot be read or written.
pub(crate) fn new(name: &str) -> Result<()> {
    check_name(name)?;
    let kernels = root().join("kernels-gpu").join("src");
    let host = root().join("host").join("src").join("ladders");
    let (modules, ladders) = (kernels.join("lib.rs"), host.join("mod.rs"));
    let [modules_text, ladders_text] = [&modules, &ladders].map(|path| read(path));
    let (modules_text, ladders_text) = (modules_text?, ladders_text?);
    if [&modules_text, &ladders_text].iter().any(|text| text.contains(&format!("pub mod {name};"))) {
        return Err(Failure::request(format!("there is already a module `{name}` of kernels or ladders"))
            .help("choose another name; nothing was written"));
    }
    let no_place = |file: &str| Failure::new(format!("cannot add {name} to {file}: its list was not found"));
    let listed = with_module(&ladders_text, name).and_then(|text| with_ladder(&text, name));
    let upper = name.to_uppercase();
    let values = [("name", name), ("NAME", &upper), ("Name", &camel_case(name))];
    let mut changes = Changes::default();
    changes.create(kernels.join(format!("{name}.rs")), KERNELS, &values)?;
    changes.create(kernels.join(name).join("naive.rs"), RUNG, &values)?;
    changes.create(host.join(format!("{name}.rs")), HOST, &values)?;
    changes.edit(modules, with_module(&modules_text, name).ok_or_else(|| no_place("kernels-gpu/src/lib.rs"))?);
    changes.edit(ladders, listed.ok_or_else(|| no_place("host/src/ladders/mod.rs"))?);
    changes.write()?;
    let kernel = format!("kernels-gpu/src/{name}/naive.rs");
    let reference = format!("the reference in host/src/ladders/{name}.rs");
    let next = format!("write {kernel} and {reference}, then run `cargo xtask run check {name}`");
    status("Next", next);
    Ok(())
}

/// Converts a name such as `merge_sort` to `MergeSort`.
fn camel_case(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// Returns the text of a file with one more module, in alphabetical order. Modules with attributes, such as
/// `#[macro_use]`, stay first.
pub(super) fn with_module(text: &str, name: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let is_plain = |index: usize| lines[index].starts_with("pub mod ");
    let marked = (1..lines.len())
        .rfind(|index| is_plain(*index) && lines[index - 1].starts_with("#["))
        .map_or(0, |index| index + 1);
    let line = format!("pub mod {name};");
    let place =
        (marked..lines.len()).find(|index| is_plain(*index) && lines[*index] > line.as_str()).or_else(|| {
            let last = (marked..lines.len()).rfind(|index| is_plain(*index));
            last.map(|index| index + 1)
        })?;
    lines.insert(place, &line);
    Some(lines.join("\n") + "\n")
}

/// Returns the text of the list of ladders, with one more ladder at its end.
fn with_ladder(text: &str, name: &str) -> Option<String> {
    let start = text.find("[Ladder] = &[")?;
    let end = start + text[start..].find("\n];")?;
    let (before, after) = text.split_at(end);
    Some(format!("{before}\n    {name}::LADDER,{after}"))
}

#[cfg(test)]
mod tests {
    use super::{camel_case, with_ladder, with_module};

    #[test]
    fn modules_stay_sorted() {
        let text = "//! Doc.\n\n#[cfg(x)]\npub mod z;\n#[macro_use]\npub mod entry;\npub mod matmul;\npub mod warp;\n";
        let text_with = |name| with_module(text, name).expect("there is a list");
        assert!(text_with("scan").contains("pub mod matmul;\npub mod scan;\npub mod warp;\n"));
        assert!(text_with("a").contains("pub mod entry;\npub mod a;\npub mod matmul;\n"));
        assert!(text_with("zip").ends_with("pub mod warp;\npub mod zip;\n"));
        assert_eq!(with_module("//! Nothing.\n", "scan"), None);
    }

    #[test]
    fn new_ladder_is_last() {
        let text = "pub(crate) static ALL: &[Ladder] = &[\n    a::LADDER,\n];\n";
        let extended = with_ladder(text, "scan").expect("there is a list");
        assert!(extended.ends_with("    a::LADDER,\n    scan::LADDER,\n];\n"));
    }

    #[test]
    fn camel_case_names() {
        assert_eq!(camel_case("scan"), "Scan");
        assert_eq!(camel_case("merge_sort2"), "MergeSort2");
    }
}
