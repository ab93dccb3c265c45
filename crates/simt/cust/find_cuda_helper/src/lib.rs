//! What cust's build script uses, under upstream's name.
//!
//! Upstream's crate looks for a CUDA installation and tells the linker to take libcuda from it. cust needs neither
//! where the driver's functions come from the crate `libcuda`: it builds on any machine.

/// Does nothing: there is nothing to include, and no library to link.
pub fn include_cuda() {
    // Without a line like this, cargo runs the script again whenever a file of the package changes.
    println!("cargo::rerun-if-changed=build.rs");
}
