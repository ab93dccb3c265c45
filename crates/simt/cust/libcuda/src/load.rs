//! Selects the driver: loads the real library, or uses simt's driver.

use std::env;
use std::ffi::{OsString, c_int, c_uint};

use libloading::Library;

use crate::{CHOICE, OVERRIDE, Status};

/// The result of looking for the driver.
pub(crate) struct Found<T> {
    pub(crate) status: Status,
    /// The functions of the driver, if there is one.
    pub(crate) table: Option<T>,
}

/// Finds a driver function by name.
pub(crate) type Lookup<'a> = dyn Fn(&str) -> Option<*const ()> + 'a;

/// Reads the functions of a driver, and returns the result and the functions that the driver lacks.
type Read<T> = fn(&Lookup<'_>) -> (T, Vec<&'static str>);

/// The library names that a driver installation uses, most reliable first.
const NAMES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Looks for the driver. `read` receives the driver's functions, which exist until the process ends.
pub(crate) fn look<T>(read: Read<T>) -> Found<T> {
    let choice = env::var_os(CHOICE).unwrap_or_default().to_string_lossy().into_owned();
    match choice.as_str() {
        "sim" => simulated(read, Vec::new()),
        "gpu" => real(read, false),
        "" | "auto" if env::var_os(OVERRIDE).is_some_and(|path| !path.is_empty()) => real(read, false),
        "" | "auto" => match real(read, true) {
            Found { status: Status::NotFound { tried, .. }, .. } => simulated(read, tried),
            found => found,
        },
        _ => Found { status: Status::UnknownChoice(choice), table: None },
    }
}

/// Returns simt's driver, with the libraries that were tried first.
pub(crate) fn simulated<T>(read: Read<T>, tried: Vec<(String, String)>) -> Found<T> {
    let (table, _) = read(&|name| driver::function(name).map(|function| function.0));
    Found { status: Status::Simulated { tried }, table: Some(table) }
}

/// Looks for the real driver, or for the library that the user names. If `needs_device` is true, rejects a driver
/// without a device.
fn real<T>(read: Read<T>, needs_device: bool) -> Found<T> {
    let named = env::var_os(OVERRIDE).filter(|path| !path.is_empty());
    let overridden = named.is_some();
    let candidates = match named {
        Some(path) => vec![path],
        None => NAMES.iter().map(OsString::from).collect(),
    };
    let mut tried = Vec::new();
    for candidate in candidates {
        let path = candidate.to_string_lossy().into_owned();
        match open(candidate, needs_device) {
            Ok(library) => {
                // SAFETY: the closure does not call the pointers. The caller of a pointer must use the
                // function's signature.
                let lookup = |name: &str| unsafe { library.get::<*const ()>(name) }.ok().map(|symbol| *symbol);
                let (table, missing) = read(&lookup);
                // The pointers in the table are valid while the library is open, and the driver's threads may run until
                // the process ends. The library is therefore never closed.
                std::mem::forget(library);
                return Found { status: Status::Loaded { path, missing }, table: Some(table) };
            }
            Err(reason) => tried.push((path, reason)),
        }
    }
    Found { status: Status::NotFound { tried, overridden }, table: None }
}

/// Opens a library, or returns the reason for rejecting it in one line.
fn open(path: OsString, needs_device: bool) -> Result<Library, String> {
    let name = path.to_string_lossy().into_owned();
    // SAFETY: opening a library runs its constructors. The library is the system's CUDA driver or one that the user
    // names in `LADDER_LIBCUDA`, and both are trusted.
    let library = unsafe { Library::new(path) }.map_err(|error| reason(&error, &name))?;
    // SAFETY: `cuInit` has this signature in every CUDA driver.
    let init = unsafe { library.get::<unsafe extern "C" fn(c_uint) -> c_uint>("cuInit") };
    let Ok(init) = init else {
        return Err("the library is not a CUDA driver: it has no cuInit".to_owned());
    };
    if needs_device {
        // SAFETY: the symbol is only looked up, not called.
        if unsafe { library.get::<*const ()>("ladder_simt_driver") }.is_ok() {
            return Err("the library is simt's CUDA driver, not a driver for a GPU".to_owned());
        }
        // SAFETY: `cuDeviceGetCount` has this signature in every CUDA driver.
        let count = unsafe { library.get::<unsafe extern "C" fn(*mut c_int) -> c_uint>("cuDeviceGetCount") };
        let mut devices = 0;
        // SAFETY: the flag of `cuInit` is zero, as required, and `devices` is writable memory for the count.
        let result = unsafe { init(0) }.max(count.map_or(1, |count| unsafe { count(&raw mut devices) }));
        if result != 0 || devices == 0 {
            // Keep the library open, because an initialized driver may have threads that need its code.
            std::mem::forget(library);
            return Err(format!("the CUDA driver finds no GPU (CUDA error {result})"));
        }
    }
    Ok(library)
}
/// Formats an error and its causes on one line, without the library's name, which the status already contains.
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
