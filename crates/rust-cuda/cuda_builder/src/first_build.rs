//! Reuses compiled crates in the first build for an architecture or a profile.
//!
//! The compiled `core` and macros are the same for all architectures and profiles, and other dependencies are the same
//! for all architectures. Compiling them takes most of a first build's time, so the build copies them from another
//! build.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::Path;

use locate::device::TARGET;

/// Copies cargo's files from a sibling target folder if this folder has none. The folders are named
/// `ARCHITECTURE-PROFILE`; a sibling with the same profile is preferred. If no sibling has files, this is the first
/// build of all, and other builds wait in this function until the returned file is dropped.
///
/// # Errors
/// Returns an error when a file cannot be read, written or locked.
pub(crate) fn copy_or_wait(folder: &Path, profile: &str) -> io::Result<Option<File>> {
    let Some(parent) = folder.parent().filter(|_| !folder.join(TARGET).join(profile).exists()) else {
        return Ok(None);
    };
    let lock = File::create(parent.join("first.lock"))?;
    match lock.lock() {
        // Some file systems have no locks. Like cargo, continue without a lock.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
        locked => locked?,
    }
    if folder.join(TARGET).join(profile).exists() {
        // Another build has filled this folder in the meantime.
        return Ok(None);
    }
    let entries = fs::read_dir(parent)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let suffix = |folder: &Path| folder.to_str().and_then(|name| name.rsplit_once('-')).map(|(_, end)| end.to_owned());
    // The most recently used folder is most likely to contain what this build needs.
    let compiled = |other: &Path| fs::metadata(other.join(TARGET).join(profile).join("deps"))?.modified();
    let found = entries.into_iter().filter_map(|other| {
        let key = (suffix(&other) == suffix(folder), compiled(&other).ok()?);
        Some((key, other))
    });
    let Some((_, other)) = found.max() else {
        return Ok(Some(lock));
    };
    let parts = [Path::new(profile).to_owned(), Path::new(TARGET).join(profile)];
    // cargo locks these files while it writes to the folders.
    let locks = parts.iter().map(|part| File::open(other.join(part).join(".cargo-lock")));
    let locks = locks.collect::<io::Result<Vec<_>>>()?;
    locks.iter().try_for_each(File::lock_shared)?;
    let [host, device] = parts.each_ref().map(|part| folder.join(part));
    copy(&other.join(&parts[0]), &host)?;
    // Set the final name last, because the next build checks it. Otherwise, cargo would treat the files of an
    // interrupted copy as complete.
    let partial = device.with_extension("partial");
    copy(&other.join(&parts[1]), &partial)?;
    fs::rename(partial, device)?;
    Ok(None)
}

/// Copies a folder, including the modification times of its files, which tell cargo which files are up to date.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
            let time = entry.metadata()?.modified()?;
            File::options().write(true).open(&to)?.set_times(FileTimes::new().set_modified(time))?;
        }
    }
    Ok(())
}
