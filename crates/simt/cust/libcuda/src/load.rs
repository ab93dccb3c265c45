//! Chooses the driver: finds and loads the real library, or takes the simulated driver.

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

/// Finds a driver's function by its name.
pub(crate) type Lookup<'a> = dyn Fn(&str) -> Option<*const ()> + 'a;

/// Reads a driver: what was read, and the functions that the driver lacks.
type Read<T> = fn(&Lookup<'_>) -> (T, Vec<&'static str>);

/// The names that a driver's own installation gives the library, the surest first.
const NAMES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Looks for the driver. `read` gets its functions, which exist for as long as the process runs.
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

/// The simulated driver, in the place of others that were tried.
pub(crate) fn simulated<T>(read: Read<T>, tried: Vec<(String, String)>) -> Found<T> {
    let (table, _) = read(&|name| driver::function(name).map(|function| function.0));
    Found { status: Status::Simulated { tried }, table: Some(table) }
}

/// The real driver, or the library that the user names. Where it `needs_device`, a driver without one will not do.
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
                // SAFETY: the pointers are not called here; who calls them knows the functions' signatures.
                let lookup = |name: &str| unsafe { library.get::<*const ()>(name) }.ok().map(|symbol| *symbol);
                let (table, missing) = read(&lookup);
                // The table's pointers are good for as long as the library is open, and the driver's own threads may
                // run until the process ends. So it is never closed.
                std::mem::forget(library);
                return Found { status: Status::Loaded { path, missing }, table: Some(table) };
            }
            Err(reason) => tried.push((path, reason)),
        }
    }
    Found { status: Status::NotFound { tried, overridden }, table: None }
}

/// Opens one library, or says in one line why it will not do.
fn open(path: OsString, needs_device: bool) -> Result<Library, String> {
    let name = path.to_string_lossy().into_owned();
    // SAFETY: opening a library runs its constructors. Ours to trust are the system's CUDA driver and what
    // the user names in `LADDER_LIBCUDA`.
    let library = unsafe { Library::new(path) }.map_err(|error| reason(&error, &name))?;
    // SAFETY: a driver's functions have these signatures.
    let init = unsafe { library.get::<unsafe extern "C" fn(c_uint) -> c_uint>("cuInit") };
    let Ok(init) = init else {
        return Err("a library, but no CUDA driver: it has no cuInit".to_owned());
    };
    if needs_device {
        // SAFETY: it is not called.
        if unsafe { library.get::<*const ()>("ladder_simulated_driver") }.is_ok() {
            return Err("the simulated driver's library".to_owned());
        }
        // SAFETY: as above.
        let count = unsafe { library.get::<unsafe extern "C" fn(*mut c_int) -> c_uint>("cuDeviceGetCount") };
        let mut devices = 0;
        // SAFETY: a flag that has to be zero, and a place for the count.
        let result = unsafe { init(0) }.max(count.map_or(1, |count| unsafe { count(&raw mut devices) }));
        if result != 0 || devices == 0 {
            // A driver that was started may have threads, which need its code.
            std::mem::forget(library);
            return Err(format!("a CUDA driver that finds no GPU (CUDA error {result})"));
        }
    }
    Ok(library)
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
