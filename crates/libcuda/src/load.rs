//! Finds the real library, once.

use std::env;
use std::ffi::OsString;
use std::sync::OnceLock;

use libloading::Library;

use crate::table::Table;
use crate::{OVERRIDE, Status};

/// What looking for the driver came to.
pub(crate) struct Found {
    pub(crate) status: Status,
    table: Option<Table>,
}

static FOUND: OnceLock<Found> = OnceLock::new();

/// What looking for the driver came to; the first call looks.
pub(crate) fn found() -> &'static Found {
    FOUND.get_or_init(look)
}

/// The driver's functions, where there is a driver.
pub(crate) fn driver() -> Option<&'static Table> {
    found().table.as_ref()
}

/// The names that a driver's own installation gives the library, the surest first.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};

fn look() -> Found {
    let named = env::var_os(OVERRIDE).filter(|path| !path.is_empty());
    let overridden = named.is_some();
    let candidates = match named {
        Some(path) => vec![path],
        None => NAMES.iter().map(OsString::from).collect(),
    };
    let mut tried = Vec::new();
    for candidate in candidates {
        let path = candidate.to_string_lossy().into_owned();
        match open(candidate) {
            Ok(table) => {
                let missing = table.missing();
                let status = Status::Loaded { path, missing };
                return Found {
                    status,
                    table: Some(table),
                };
            }
            Err(reason) => tried.push((path, reason)),
        }
    }
    Found {
        status: Status::NotFound { tried, overridden },
        table: None,
    }
}

/// Opens one library, or says in one line why it will not do.
fn open(path: OsString) -> Result<Table, String> {
    let name = path.to_string_lossy().into_owned();
    // SAFETY: opening a library runs its constructors. Ours to trust are the system's CUDA driver and what
    // the user names in `LADDER_LIBCUDA`.
    let library = unsafe { Library::new(path) }.map_err(|error| reason(&error, &name))?;
    // SAFETY: the pointer is not called, only looked for.
    if unsafe { library.get::<*const ()>("cuInit") }.is_err() {
        return Err("a library, but no CUDA driver: it has no cuInit".to_owned());
    }
    // SAFETY: it has cuInit, so it is a driver; and it stays open, see below.
    let table = unsafe { Table::new(&library) };
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
