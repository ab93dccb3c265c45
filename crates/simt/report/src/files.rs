//! Writing files whole or not at all.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustc_hash::FxHasher;

/// Writes a file atomically: it has either its old or its new contents. If the path is a symbolic link, its target is
/// written. Permissions are kept.
///
/// # Errors
/// When no temporary file can be written next to it, or when that file cannot be renamed.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = temporary_file(&target)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(&target) {
        Ok(old) => file.as_file().set_permissions(old.permissions())?,
        // A temporary file is only readable by the user; a new file gets the user's default permissions.
        #[cfg(unix)]
        Err(_) => {
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            file.as_file().set_permissions(permissions)?;
        }
        #[cfg(not(unix))]
        Err(_) => {}
    }
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Makes sure that a file can be written, before anything is made for it.
///
/// # Errors
/// When no temporary file can be written next to it.
pub fn check_new(path: &Path) -> std::io::Result<()> {
    temporary_file(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())).map(drop)
}

/// Returns the path that a process of a run writes to: `report.html` for the first process that asks, `report-2.html` for the
/// second.
///
/// `run` names the run. Each process leaves an empty file in the folder for temporary files.
pub fn numbered(path: &Path, run: &str) -> PathBuf {
    let mut hasher = FxHasher::default();
    std::path::absolute(path).unwrap_or_default().hash(&mut hasher);
    let taken = std::env::temp_dir().join("ladder-reports").join(format!("{run}-{:x}", hasher.finish()));
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    if fs::create_dir_all(&taken).is_err() {
        return path.to_owned();
    }
    let is_free = |own: &String| fs::File::create_new(taken.join(own)).is_ok();
    let mut names = (1..=1000).map(|number| match number {
        1 => format!("{name}.{extension}"),
        number => format!("{name}-{number}.{extension}"),
    });
    names.find(is_free).map_or(path.to_owned(), |own| path.with_file_name(own))
}

/// Creates a temporary file in the folder of `target`, so that renaming it stays on one file system.
fn temporary_file(target: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
}
