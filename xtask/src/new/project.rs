//! `cargo xtask new project`: writes a project of kernels of its own, outside this repository, which uses this checkout's
//! crates.

use std::path::{Path, absolute};

use super::{Changes, read};
use crate::console::{Failure, Result, status};
use crate::process::root;

/// The files, each with its template.
const FILES: [(&str, &str); 11] = [
    ("Cargo.toml", include_str!("../../templates/project/Cargo.toml")),
    ("rust-toolchain.toml", include_str!("../../templates/project/rust-toolchain.toml")),
    ("rust-cuda.toml", include_str!("../../templates/project/rust-cuda.toml")),
    ("README.md", include_str!("../../templates/project/README.md")),
    (".gitignore", include_str!("../../templates/project/gitignore")),
    (".github/workflows/test.yml", include_str!("../../templates/project/ci.yml")),
    ("kernels/Cargo.toml", include_str!("../../templates/project/kernels.toml")),
    ("kernels/src/lib.rs", include_str!("../../templates/project/kernels.rs.tmpl")),
    ("host/Cargo.toml", include_str!("../../templates/project/host.toml")),
    ("host/build.rs", include_str!("../../templates/project/build.rs.tmpl")),
    ("host/src/main.rs", include_str!("../../templates/project/main.rs.tmpl")),
];

/// The mark before the folder of one of this repository's crates in a template.
const CRATE: &str = "{{ladder/";

/// Writes a project into a folder that is empty or not there. The folder's name is the project's.
pub(crate) fn new(folder: &str) -> Result<()> {
    let folder = absolute(folder).map_err(|error| Failure::file("find", Path::new(folder), &error))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !is_name {
        return Err(Failure::request(format!("`{name}` is not a name for a project"))
            .hint("the folder's name is the project's: letters, digits, `-` and `_`, a letter first"));
    }
    match folder.read_dir().map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            return Err(Failure::request(format!("{} is not empty", folder.display()))
                .hint("choose a folder that is not there yet; nothing was written"));
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::file("read", &folder, &error));
        }
        _ => {}
    }
    let ours = |file: &str, key: &str| -> Result<String> {
        let text = read(&root().join(file))?;
        let value = text.split_once(&format!("{key} = \"")).and_then(|(_, rest)| rest.split('"').next());
        Ok(value.unwrap_or_default().to_owned())
    };
    let (channel, upstream) = (ours("rust-toolchain.toml", "channel")?, ours("rust-cuda.toml", "rev")?);
    let values = [("name", &*name), ("channel", &channel), ("upstream", &upstream)];
    let mut changes = Changes::default();
    for (file, template) in FILES {
        changes.create(folder.join(file), &with_crates(template), &values)?;
    }
    changes.write()?;
    status("Next", format_args!("cd {} && cargo test", folder.display()));
    Ok(())
}

/// A template with the folders of this repository's crates, as strings of TOML.
fn with_crates(template: &str) -> String {
    let mut parts = template.split(CRATE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (folder, rest) = part.split_once("}}").unwrap_or((part, ""));
        text += &format!("{:?}{rest}", root().join(folder));
    }
    text
}
