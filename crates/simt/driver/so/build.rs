//! Gives the library its soname, and links it under that name in the folder `sim` next to the library.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // On other systems the library is empty, and the linker does not know the option.
    if env::var_os("CARGO_CFG_TARGET_OS").is_none_or(|system| system != "linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // `nodelete` keeps the handlers for the end of the process loaded after a program closes the library.
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
