//! Checks the crates that projects outside this repository use, as crates.io and docs.rs build them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use crate::console::{Failure, Result};
use crate::process::{cargo, root, run_checked, target_folder};

const PACKAGES: &str = "cuda_std cuda_std_macros cuda_builder ladder-locate ladder-devices ladder-driver ladder-libcuda ladder-profile \
                        ladder-report cust_core find_cuda_helper ladder-ptx simt-check simt-cli simt-isa simt-ptx simt-timing simt_test";

/// Packages the crates with cargo, builds each from its package, and then builds the documentation of the packages.
///
/// # Errors
/// Returns a failure when cargo would not publish a crate, when a package does not build, or when rustdoc warns.
pub(super) fn check() -> Result<()> {
    // Cargo builds the content of a package only once per version, so the output of an earlier run is removed.
    let target = target_folder().join("publish");
    let packages = target.join("package");
    if target.is_dir() {
        fs::remove_dir_all(&target).map_err(|error| Failure::file("remove", &target, &error))?;
    }
    forget_unpacked()?;
    let selection = PACKAGES.split(' ').map(|package| format!("--package={package}"));
    run_checked(
        cargo()
            .args(["publish", "--dry-run", "--allow-dirty", "--target-dir"])
            .arg(&target)
            .args(selection)
            .current_dir(root()),
    )?;

    // The packages depend on each other by version, so a separate workspace patches the registry with them.
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"*-[0-9]*\"]\n\n[patch.crates-io]\n".to_owned();
    let entries = fs::read_dir(&packages).map_err(|error| Failure::file("read", &packages, &error))?;
    for folder in entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()) {
        if let Some((package, version)) = folder.rsplit_once('-')
            && version.starts_with(|first: char| first.is_ascii_digit())
        {
            let _ = writeln!(manifest, "{package}.path = \"{folder}\"");
        }
    }
    let path = packages.join("Cargo.toml");
    fs::write(&path, manifest).map_err(|error| Failure::file("write", &path, &error))?;
    let mut doc = cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--manifest-path"]).arg(path).arg("--target-dir").arg(target_folder());
    run_checked(doc.env("DOCS_RS", "1").env("RUSTDOCFLAGS", "--cfg docsrs -Dwarnings"))
}

/// Removes the packages that cargo unpacked in earlier dry runs, because cargo unpacks a package only once per version.
/// The name of a dry run's registry folder contains no host before the dash.
fn forget_unpacked() -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(env::home_dir()?.join(".cargo"))) else { return Ok(()) };
    let Ok(entries) = fs::read_dir(home.join("registry/src")) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with('-')) {
        fs::remove_dir_all(entry.path()).map_err(|error| Failure::file("remove", &entry.path(), &error))?;
    }
    Ok(())
}
