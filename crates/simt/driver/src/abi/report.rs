//! The driver's messages to the user, on the standard error or in a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{LazyLock, Mutex};

use simt_check::diagnostic::{Diagnostic, Style, texts};

use crate::abi::error::{Code, Error};
use crate::abi::handles::{PerDriver, is_private, lock};
use crate::abi::watch::watcher;

/// The environment variable that names the file for the driver's messages.
pub const LOG: &str = "LADDER_DRIVER_LOG";

/// The destination of messages. `None` is the standard error.
static FILE: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
    let path = std::env::var_os(LOG).filter(|path| !path.is_empty())?;
    match File::options().append(true).create(true).open(&path) {
        Ok(file) => Some(Mutex::new(file)),
        Err(error) => {
            let path = path.to_string_lossy();
            // A failed write to the standard error is ignored, as below.
            let _ = writeln!(
                std::io::stderr(),
                "simt's CUDA driver: warning: cannot write {LOG}={path}: {error}\n\
                 help: name a file in a folder that this process can write to; the messages go to the standard error"
            );
            None
        }
    }
});

/// The unimplemented functions that were called.
static UNSUPPORTED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Writes a message to the log and passes it to the watcher. If the log cannot be written, the program continues
/// without an error.
pub fn tell(text: &str) {
    if keep(text) {
        return;
    }
    if let Some(watcher) = watcher() {
        watcher.message(text);
    }
    write(text);
}

fn write(text: &str) {
    let text = format!("simt's CUDA driver: {text}\n");
    let _ = match &*FILE {
        Some(file) => match file.lock() {
            Ok(mut file) => file.write_all(text.as_bytes()),
            Err(_) => Ok(()),
        },
        None => std::io::stderr().write_all(text.as_bytes()),
    };
}

/// The messages of a private driver, which are stored here instead of being written to the log.
static KEPT: PerDriver<Mutex<Vec<String>>> = PerDriver::new();

/// Returns the messages of a private driver since the last call.
pub(crate) fn take_kept() -> Vec<String> {
    std::mem::take(&mut *lock(KEPT.get()))
}

/// Stores the message if this thread uses a private driver, and returns whether it does.
fn keep(text: &str) -> bool {
    if is_private() && !text.is_empty() {
        lock(KEPT.get()).push(text.to_owned());
    }
    is_private()
}

/// Reports an error of a function, unless its code needs no explanation. An error has no reason if the real driver does
/// not support the call either.
pub(crate) fn error(function: &str, error: &Error) {
    let Error { code, reason, diagnostic } = error;
    match (*code, diagnostic) {
        (Code::NOT_SUPPORTED, None) if !reason.is_empty() => unsupported(function, reason),
        _ if keep(reason) => {}
        (Code::NOT_SUPPORTED, _) if !is_new(&format!("{function}: {reason}")) => {}
        (_, Some(diagnostic)) => diagnostics(&format!("{function} ({code})"), &[(**diagnostic).clone()]),
        _ if !reason.is_empty() => tell(&format!("{function}: {reason} ({code})")),
        _ => {}
    }
}

/// Reports an operation that failed in a stream.
pub(crate) fn failed(error: &Error) {
    match &error.diagnostic {
        _ if keep(&error.reason) => {}
        Some(diagnostic) => diagnostics("a launch has failed", &[(**diagnostic).clone()]),
        None => tell(&error.reason),
    }
}

/// Writes diagnostics below a heading, in color if the standard error is a terminal.
pub(crate) fn diagnostics(head: &str, diagnostics: &[Diagnostic]) {
    let color = FILE.is_none()
        && std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let drawn = |color| format!("{head}\n{}", texts(diagnostics, Style::of_terminal(color)).trim_end());
    match watcher() {
        Some(watcher) if color => {
            watcher.message(&drawn(false));
            write(&drawn(color));
        }
        _ => tell(&drawn(color)),
    }
}

/// Reports that a function is not supported, once for each function and reason.
pub(crate) fn unsupported(function: &str, reason: &str) {
    let what = match reason {
        "" => format!("{function} is not supported ({})", Code::NOT_SUPPORTED),
        reason => format!("{function}: {reason} ({})", Code::NOT_SUPPORTED),
    };
    if !keep(&what) && is_new(&what) {
        tell(&what);
    }
}

/// Returns whether this unsupported feature has not been reported before.
fn is_new(what: &str) -> bool {
    UNSUPPORTED.lock().is_ok_and(|mut known| known.insert(what.to_owned()))
}
