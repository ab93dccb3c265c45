//! Finds and loads the real library.

use std::env;
use std::ffi::OsString;

use libloading::Library;

use crate::{OVERRIDE, Status};

/// The result of looking for the driver.
pub(crate) struct Found<T> {
    pub(crate) status: Status,
    /// The functions of the library, if it was loaded.
    pub(crate) table: Option<T>,
}

/// Reads a library: what was read, and the functions that the library lacks.
type Read<T> = fn(&Library) -> (T, Vec<&'static str>);

/// The names that a driver's own installation gives the library, the surest first.
const NAMES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Looks for the driver. `read` gets the library, which has `cuInit` and stays open for as long as the process
/// runs.
pub(crate) fn look<T>(read: Read<T>) -> Found<T> {
    let named = env::var_os(OVERRIDE).filter(|path| !path.is_empty());
    let overridden = named.is_some();
    let candidates = match named {
        Some(path) => vec![path],
        None => NAMES.iter().map(OsString::from).collect(),
    };
    let mut tried = Vec::new();
    for candidate in candidates {
        let path = candidate.to_string_lossy().into_owned();
        match open(candidate, read) {
            Ok((table, missing)) => {
                let status = Status::Loaded { path, missing };
                return Found { status, table: Some(table) };
            }
            Err(reason) => tried.push((path, reason)),
        }
    }
    Found { status: Status::NotFound { tried, overridden }, table: None }
}

/// Opens one library, or says in one line why it will not do.
fn open<T>(path: OsString, read: Read<T>) -> Result<(T, Vec<&'static str>), String> {
    let name = path.to_string_lossy().into_owned();
    // SAFETY: opening a library runs its constructors. Ours to trust are the system's CUDA driver and what
    // the user names in `LADDER_LIBCUDA`.
    let library = unsafe { Library::new(path) }.map_err(|error| reason(&error, &name))?;
    // SAFETY: the pointer is not called, only looked for.
    if unsafe { library.get::<*const ()>("cuInit") }.is_err() {
        return Err("a library, but no CUDA driver: it has no cuInit".to_owned());
    }
    let table = read(&library);
    // The table's pointers are good for as long as the library is open, and the driver's own threads may
    // run until the process ends. So it is never closed.
    std::mem::forget(library);
    Ok(table)
}

/// An error and its causes, on one line, without the library's name: the status says that already.
fn reason(error: &dyn std::error::Error, name: &str) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    let text = text.replace(&format!("{name}: "), "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
