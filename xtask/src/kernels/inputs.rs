//! What the kernels were made from, written down to tell whether they have to be made again.
//!
//! Cargo would tell too, and does when the kernels are built; asking it and running LLVM takes seconds, and
//! looking at PTX again and again should not.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cuda_builder::toolchain::{DeviceToolchain, LLVM_OVERRIDE, RUSTC_OVERRIDE};

use crate::failure::{Failure, Result};
use crate::tools::root;

/// Everything in the repository that the kernels' PTX depends on: their crate, rust-cuda's, and the versions
/// of what comes from the registry.
const SOURCES: [&str; 4] = ["kernels-gpu", "crates/nvptx", "Cargo.toml", "Cargo.lock"];

/// A line that is another when a file of [`SOURCES`] or the choice of a compiler is.
pub(super) fn sources() -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        hash(&root().join(source), &mut hasher)?;
    }
    for variable in [RUSTC_OVERRIDE, LLVM_OVERRIDE] {
        std::env::var_os(variable).hash(&mut hasher);
    }
    Ok(format!("sources {:016x}", hasher.finish()))
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let failure = |error: std::io::Error| Failure::file("read", path, &error);
    path.hash(hasher);
    if !path.is_dir() {
        std::fs::read(path).map_err(failure)?.hash(hasher);
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(failure)?;
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // A folder gives its entries in no order.
    entries.sort();
    entries.retain(|entry| !entry.ends_with("target"));
    entries.iter().try_for_each(|entry| hash(entry, hasher))
}

/// Whether a record has these sources and its compiler is the same still.
pub(super) fn unchanged(record: &Path, sources: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(record) else {
        return false;
    };
    let mut lines = text.lines();
    lines.next() == Some(sources)
        && lines.all(|line| {
            line.split_once('\t')
                .is_some_and(|(_, path)| program(Path::new(path)) == line)
        })
}

pub(super) fn write(record: &Path, sources: &str, toolchain: &DeviceToolchain) -> Result<()> {
    let programs = [
        &toolchain.rustc.path,
        &toolchain.llvm.opt,
        &toolchain.llvm.llc,
    ]
    .map(|path| program(path));
    let text = format!("{sources}\n{}\n", programs.join("\n"));
    std::fs::write(record, text).map_err(|error| Failure::file("write", record, &error))
}

/// A program's size, time and path: one line.
fn program(path: &Path) -> String {
    let data = std::fs::metadata(path);
    let size = data.as_ref().map_or(0, std::fs::Metadata::len);
    let time = data
        .and_then(|data| data.modified())
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!(
        "{size} {}\t{}",
        time.unwrap_or_default().as_nanos(),
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::{program, sources, unchanged};

    #[test]
    fn a_record_holds_until_a_source_or_a_program_changes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (record, tool) = (folder.path().join("record"), folder.path().join("tool"));
        std::fs::write(&tool, "1").expect("a file");
        assert!(!unchanged(&record, "sources 1"), "there is none");
        std::fs::write(&record, format!("sources 1\n{}\n", program(&tool))).expect("a file");
        assert!(unchanged(&record, "sources 1"));
        assert!(!unchanged(&record, "sources 2"));
        std::fs::write(&tool, "22").expect("a file");
        assert!(!unchanged(&record, "sources 1"));
        std::fs::write(&record, "sources 1\nnonsense\n").expect("a file");
        assert!(!unchanged(&record, "sources 1"));
    }

    #[test]
    fn the_sources_are_there() {
        let line = sources().expect("they are in this repository");
        assert_eq!(line.len(), "sources ".len() + 16);
    }
}
