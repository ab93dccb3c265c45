//! Finds the programs that this workspace runs but does not build: the device compiler ([`device`]), NVIDIA's tools
//! ([`nvidia`]), and a browser for tests ([`chromium`]).
//!
//! Inputs are environment variables, `PATH`, rustup's folders and the usual installation paths. The result is a path
//! with a version, or a list of all searched places and their missing parts. This crate runs the programs only to query
//! their version. It installs nothing (`cargo xtask setup` does), does not deal with PTX, and has no dependencies.

pub mod chromium;
pub mod device;
pub mod nvidia;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the programs of this name in the folders of `PATH`, in order, without duplicates.
#[must_use]
pub fn on_path(name: impl AsRef<OsStr>) -> Vec<PathBuf> {
    in_folders(name.as_ref(), &std::env::var_os("PATH").unwrap_or_default())
}

fn in_folders(name: &OsStr, folders: &OsStr) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let mut programs = Vec::new();
    for folder in std::env::split_paths(folders) {
        let path = program(&folder, name);
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if is_program(&path) && !seen.contains(&real) {
            seen.push(real);
            programs.push(path);
        }
    }
    programs
}

/// Returns the path of a program in a folder.
fn program(folder: &Path, name: impl AsRef<OsStr>) -> PathBuf {
    let mut path = folder.join(name.as_ref()).into_os_string();
    path.push(std::env::consts::EXE_SUFFIX);
    path.into()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Returns Cargo's target folder: the folder that `CARGO_TARGET_DIR` names, or otherwise the target folder that
/// contains this program. Returns `None` if this program is not in a target folder.
#[must_use]
pub fn target_dir() -> Option<PathBuf> {
    target_variable().or_else(|| {
        let program = std::env::current_exe().ok()?;
        // Cargo puts this file into its target folder to exclude the folder from backups.
        let target = program.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file())?;
        Some(target.to_owned())
    })
}

fn target_variable() -> Option<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty())?;
    // A relative path is relative to the folder where cargo was started. This function uses the working directory
    // instead.
    Some(std::path::absolute(&folder).unwrap_or_else(|_| folder.into()))
}

/// Runs a program and returns its standard output.
///
/// # Errors
/// Returns a one-line message when the program cannot be started or fails.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = Path::new(command.get_program()).display().to_string();
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if !done.status.success() {
        return Err(format!("{name} failed ({})", done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::in_folders;

    #[test]
    fn programs_are_found_in_order_and_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folders = ["a", "b", "c", "d"].map(|name| folder.path().join(name));
        for (folder, mode) in folders.iter().zip([0o755, 0o644, 0o755]) {
            std::fs::create_dir(folder).expect("cannot create a folder");
            let file = folder.join("tool");
            std::fs::write(&file, "").expect("a file");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("its permissions");
        }
        symlink(&folders[0], &folders[3]).expect("a second name for the first folder");
        let path = std::env::join_paths(&folders).expect("no folder has a colon in its name");
        assert_eq!(
            in_folders("tool".as_ref(), &path),
            [folders[0].join("tool"), folders[2].join("tool")],
            "the second tool is not executable, and the fourth folder is the first one"
        );
        assert!(in_folders("other".as_ref(), &path).is_empty());
    }
}
