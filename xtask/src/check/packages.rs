//! The crates that projects outside this repository use, as crates.io and docs.rs build them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use crate::console::{Failure, Result};
use crate::process::{cargo, root, succeed, target_folder};

const PACKAGES: &str = "cuda_std cuda_std_macros cuda_builder ladder-locate ladder-devices ladder-driver ladder-libcuda \
                        cust_core find_cuda_helper ladder-ptx simt-ptx simt_test";

/// Has cargo package the crates and build each from its package, then builds the documents of the packages.
///
/// # Errors
/// If cargo would not publish a crate, if a package does not build, or if rustdoc warns.
pub(super) fn check() -> Result<()> {
    let target = target_folder();
    let packages = target.join("package");
    // Packages of other versions.
    if packages.is_dir() {
        fs::remove_dir_all(&packages).map_err(|error| Failure::file("remove", &packages, &error))?;
    }
    forget_unpacked()?;
    let selection = PACKAGES.split(' ').map(|package| format!("--package={package}"));
    succeed(cargo().args(["publish", "--dry-run", "--allow-dirty"]).args(selection).current_dir(root()))?;

    // The packages depend on each other by version, so they are patches of the registry in a workspace of their own.
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
    doc.args(["doc", "--workspace", "--no-deps", "--manifest-path"]).arg(path).arg("--target-dir").arg(target);
    succeed(doc.env("DOCS_RS", "1").env("RUSTDOCFLAGS", "--cfg docsrs -Dwarnings"))
}

/// Removes the packages that cargo has unpacked from the folders of earlier dry runs. Cargo knows them by version, so it would
/// build their old contents again. These registries are folders, whose names have no host before the dash.
fn forget_unpacked() -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(env::home_dir()?.join(".cargo"))) else { return Ok(()) };
    let Ok(entries) = fs::read_dir(home.join("registry/src")) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with('-')) {
        fs::remove_dir_all(entry.path()).map_err(|error| Failure::file("remove", &entry.path(), &error))?;
    }
    Ok(())
}
