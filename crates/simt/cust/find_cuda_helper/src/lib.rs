//! A replacement for the crate that cust's build script uses, with the same name as upstream.
//!
//! Upstream's crate looks for a CUDA installation and tells the linker to use its libcuda. Here, the crate `libcuda`
//! provides the driver's functions, so cust builds without a CUDA installation.

/// Does nothing: there is nothing to include, and no library to link.
pub fn include_cuda() {
    // Without a `rerun-if` line, cargo runs the script again whenever any file of the package changes.
    println!("cargo::rerun-if-changed=build.rs");
}
