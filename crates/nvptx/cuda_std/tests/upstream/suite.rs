//! `cuda_std` as a kernels crate uses it: upstream's names, and what printing, panics, `alloc` and the floats do on simt.
//!
//! Both need a device compiler; without one they fail and say how to get it.
#![allow(clippy::unwrap_used)]

mod kernels;
mod names;

use std::path::{Path, PathBuf};

/// Writes a crate that uses `cuda_std` and `cuda_builder`, or only the first.
fn krate(name: &str, has_builder: bool, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let nvptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let builder = format!("cuda_builder = {{ path = {:?} }}\n", nvptx.join("cuda_builder"));
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         cuda_std = {{ path = {:?}, features = [\"vek\"] }}\n{}\n[workspace]\n",
        nvptx.join("cuda_std"),
        if has_builder { &builder } else { "" },
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/lib.rs"), source).unwrap();
    folder
}
