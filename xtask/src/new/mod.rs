//! `cargo xtask new`: writes the files of a new rung, a new ladder or a new project, and the lines that name them. A
//! new rung is a copy of the rung before it; the kernel of a new ladder is empty. The templates are in
//! `xtask/templates`.

mod ladder;
mod project;
mod rung;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::console::{Failure, Result, status};
use crate::process::{from_root, output};

pub(crate) use ladder::new as ladder;
pub(crate) use project::new as project;
pub(crate) use rung::new as rung;

/// Files to write and files to change. Either all files are written or none are.
#[derive(Debug, Default)]
struct Changes(Vec<Change>);

#[derive(Debug)]
struct Change {
    path: PathBuf,
    text: String,
    is_new: bool,
}

impl Changes {
    /// Adds a new file: the template, with each `{{name}}` replaced by its value.
    fn create(&mut self, path: PathBuf, template: &str, values: &[(&str, &str)]) -> Result<()> {
        if path.exists() {
            let shown = from_root(&path);
            return Err(Failure::request(format!("the file {shown} already exists"))
                .help("choose another name; nothing was written"));
        }
        let mut text = template.to_owned();
        for (name, value) in values {
            text = text.replace(&format!("{{{{{name}}}}}"), value);
        }
        let is_new = true;
        self.0.push(Change { path, text, is_new });
        Ok(())
    }

    /// Replaces the text of a file.
    fn edit(&mut self, path: PathBuf, text: String) {
        let is_new = false;
        self.0.push(Change { path, text, is_new });
    }

    /// Writes all files.
    fn write(self) -> Result<()> {
        for Change { path, text, is_new } in &self.0 {
            let folder = path.parent().unwrap_or(path);
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(path, text))
                .map_err(|error| Failure::file("write", path, &error))?;
            status(if *is_new { "Wrote" } else { "Changed" }, from_root(path));
        }
        let mut rustfmt = Command::new("rustfmt");
        // The lengths of a template's lines depend on the names, so the files are formatted.
        let paths = self
            .0
            .iter()
            .map(|change| &change.path)
            .filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
        if let Err(failure) = output(rustfmt.args(["--edition", "2024"]).args(paths)) {
            status("Unformatted", format_args!("{failure}"));
        }
        Ok(())
    }
}

/// Checks that a name is valid for a module and a kernel.
fn check_name(name: &str) -> Result<()> {
    const KEYWORDS: [&str; 39] = [
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
        "for", "gen", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self",
        "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while", "try",
    ];
    let is_identifier = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_identifier && !KEYWORDS.contains(&name) {
        return Ok(());
    }
    Err(Failure::request(format!("`{name}` is not a name for a kernel"))
        .help("use lower-case letters, digits and underscores, start with a letter, and avoid Rust keywords"))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))
}

#[cfg(test)]
mod tests {
    use super::{Changes, check_name};

    #[test]
    fn names() {
        for name in ["scan", "reduce_foo2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "Scan", "2scan", "_scan", "scan-two", "fn", "scan two", "größe"] {
            let failure = check_name(name).expect_err(name);
            assert_eq!(failure.code, 2);
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("scan.rs");
        let mut changes = Changes::default();
        changes.create(file.clone(), "mod {{name}};\n", &[("name", "scan")]).expect("there is no such file");
        changes.write().expect("it can be written");
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mod scan;\n");
        assert!(Changes::default().create(file, "", &[]).is_err());
    }
}
