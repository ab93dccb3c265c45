//! Writes files atomically.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustc_hash::FxHasher;

/// Writes a file atomically: the file has either its old or its new contents. If the path is a symbolic link, its
/// target is written. Permissions are preserved.
///
/// # Errors
/// Returns an error when no temporary file can be written next to the file, or when the temporary file cannot be
/// renamed.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = temporary_file(&target)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(&target) {
        Ok(old) => file.as_file().set_permissions(old.permissions())?,
        // Only the user can read a temporary file; a new file gets the user's default permissions.
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

/// Checks that a file can be written, before its contents are computed.
///
/// # Errors
/// Returns an error when no temporary file can be written next to the file.
pub fn check_new(path: &Path) -> std::io::Result<()> {
    temporary_file(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())).map(drop)
}

/// Returns the path to which a process of a run writes: `report.html` for the first process, `report-2.html` for the
/// second.
///
/// `run` identifies the run. Each process leaves an empty file in the folder for temporary files.
pub fn numbered(path: &Path, run: &str) -> PathBuf {
    let mut hasher = FxHasher::default();
    std::path::absolute(path).unwrap_or_default().hash(&mut hasher);
    let markers = std::env::temp_dir().join("ladder-reports").join(format!("{run}-{:x}", hasher.finish()));
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    if fs::create_dir_all(&markers).is_err() {
        return path.to_owned();
    }
    let is_free = |name: &String| fs::File::create_new(markers.join(name)).is_ok();
    let mut names = (1..=1000).map(|number| match number {
        1 => format!("{name}.{extension}"),
        number => format!("{name}-{number}.{extension}"),
    });
    names.find(is_free).map_or(path.to_owned(), |free_name| path.with_file_name(free_name))
}

/// Creates a temporary file in the folder of `target`, so that renaming it stays on one file system.
fn temporary_file(target: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
}
