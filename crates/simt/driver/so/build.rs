//! Gives the library the name that programs look for, and a folder that holds it under that name: `sim` beside the
//! library itself.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The library is empty on other systems, whose linkers do not know the option.
    if env::var_os("CARGO_CFG_TARGET_OS").is_none_or(|system| system != "linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // What is done when the process ends is not done when a program closes the library.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // OUT_DIR is target/PROFILE/build/PACKAGE/out.
    let out = env::var_os("OUT_DIR").map(PathBuf::from).expect("cargo sets OUT_DIR");
    let profile = out.ancestors().nth(3).expect("OUT_DIR lies below the profile's folder");
    if let Err(error) = link(profile) {
        println!("cargo::warning=no folder with libcuda.so.1 below {}: {error}", profile.display());
    }
}

fn link(profile: &Path) -> std::io::Result<()> {
    let folder = profile.join("sim");
    fs::create_dir_all(&folder)?;
    let _ = fs::remove_file(folder.join("libcuda.so.1"));
    #[cfg(unix)]
    std::os::unix::fs::symlink("../libcuda_sim.so", folder.join("libcuda.so.1"))?;
    Ok(())
}
