//! A replacement for the crate that cust's build script uses, with the same name as upstream.
//!
//! Upstream's crate looks for a CUDA installation and tells the linker to use its libcuda. cust does not need that if
//! the crate `libcuda` provides the driver's functions, and so cust builds on any machine.

/// Does nothing: there is nothing to include, and no library to link.
pub fn include_cuda() {
    // Without such a line, cargo runs the script again whenever any file of the package changes.
    println!("cargo::rerun-if-changed=build.rs");
}
