//! NVIDIA's tools, and what their output means.

pub mod assemble;

use std::path::{Path, PathBuf};

/// This repository's root: the folder above this crate's.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's target folder.
#[must_use]
pub fn target_dir() -> PathBuf {
    locate::target_dir().unwrap_or_else(|| root().join("target"))
}
