//! The `simt` program, apart from its process: its arguments come in and its output goes out through
//! parameters.
//!
//! ```
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let words = ["simt", "check", "examples/saxpy.ptx"];
//! assert_eq!(simt::cli::main(words.map(Into::into), &mut out, &mut err), 0);
//! assert!(String::from_utf8(out)?.contains("saxpy("));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

mod args;
mod check;
mod run;
mod spec;
mod values;

use std::ffi::OsString;
use std::io::{Read as _, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use clap::Parser as _;
use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

use crate::demangle::demangled;
use crate::memory::global::MemoryError;
use crate::module::{LoadError, Module};
use args::{Arguments, Command};

/// An error that ends the program: a line for the user, and the exit code.
#[derive(Debug)]
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// Bad PTX, or a request that cannot be met: exit code 2.
    fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }

    /// Tells the user, and returns the exit code.
    fn report(&self, err: &mut dyn Write) -> u8 {
        if self.code != 0 {
            complain(err, &self.message);
        }
        self.code
    }

    /// The kernel faulted: exit code 1.
    fn fault(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }
}

/// Output that could not be written: exit code 2, or 0 where the reader has closed the pipe.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { 2 };
        Self { message: format!("cannot write the output: {error}"), code }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Self::usage(error.to_string())
    }
}

/// Runs the program and returns its exit code: 0; 1 for a fault in the kernel; 2 for bad PTX or usage.
/// Errors are one line on `err`; below a fault's, indented lines say which functions the thread was in, if there are
/// several.
pub fn main(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let arguments = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(err, "{}", error.render().ansi());
            return 2;
        }
        Err(error) if error.use_stderr() => {
            complain(err, &one_line(&error, "simt --help"));
            return 2;
        }
        Err(help) => {
            let help = help.render();
            return match write!(out, "{}", help.ansi()).and_then(|()| out.flush()) {
                Ok(()) => 0,
                // If the reader has closed the pipe, it has seen enough of the help.
                Err(error) => Failure::from(error).report(err),
            };
        }
    };
    let done = match &arguments.command {
        Command::Run(args) => run::run(args, out, err),
        Command::Check(args) => check::check(args, out),
    };
    match done.and_then(|code| Ok((code, out.flush()?))) {
        Ok((code, ())) => code,
        Err(failure) => failure.report(err),
    }
}

/// Bytes of a file of PTX that are read: devices such as `/dev/zero` have no end.
const MAX_TEXT: u64 = 1 << 30;

/// Reads and parses a file.
fn load(path: &Path) -> Result<(String, Module), Failure> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_TEXT + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        Failure::usage(format!("cannot read {shown}: {error}; the first argument is a file of PTX text"))
    })?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(Failure::usage(format!("{shown} has more than {MAX_TEXT} bytes, and is no PTX text")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let hint = if error.as_bytes().starts_with(b"\x7fELF") {
            "this is an ELF file, such as a cubin; PTX is text (nvcc --ptx, cuobjdump --dump-ptx)"
        } else {
            "PTX is text"
        };
        Failure::usage(format!("{shown}: byte {at} is not UTF-8; {hint}"))
    })?;
    let module = Module::from_ptx(text.as_str()).map_err(|error| refused(path, &error))?;
    Ok((text, module))
}

/// The message for a file or a kernel that cannot be run: `file:line:column: what: the line`.
fn refused(path: &Path, error: &LoadError) -> Failure {
    let shown = path.display();
    Failure::usage(match error {
        LoadError::Parse(error) => {
            format!("{shown}:{}:{}: {}: {}", error.line, error.column, error.message, shorten(&error.source_line))
        }
        LoadError::Refused { entry, .. } => {
            format!("{shown}: kernel `{}`: {}", demangled(entry), reason(error))
        }
        other => format!("{shown}: {other}"),
    })
}

/// The message for one kernel that cannot be run, without its name: `line 3, column 5: what: the line`.
fn reason(error: &LoadError) -> String {
    match error {
        LoadError::Refused { error, .. } => {
            format!("line {}, column {}: {}: {}", error.line, error.column, error.message, shorten(&error.source_line))
        }
        other => other.to_string(),
    }
}

/// A line of the text as part of a message.
fn shorten(line: &str) -> String {
    const MOST: usize = 120;
    let line = line.trim();
    if line.len() <= MOST {
        return line.to_owned();
    }
    format!("{}…", &line[..line.floor_char_boundary(MOST)])
}

/// Writes an error.
pub fn complain(err: &mut dyn Write, message: &str) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    // If stderr is closed, only the exit code can report the error.
    let _ = writeln!(err, "{red}error:{red:#} {message}");
}

/// clap's message without its paragraphs: what was wrong, its tips, and which command says more.
pub fn one_line(error: &clap::Error, help: &str) -> String {
    let text = error.render().to_string();
    let parts: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect();
    let message = parts.join("; ").replace(":; ", ": ");
    format!("{}; `{help}` says more", message.trim_start_matches("error: "))
}
