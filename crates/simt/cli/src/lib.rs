//! The `simt` program as a function whose parameters are the arguments and the output. The input is a PTX file, and the
//! output is text or JSON.
//!
//! The crate must not know about ladders or real GPUs.
//!
//! ```
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let words = ["simt", "check", "../simt/examples/saxpy.ptx"];
//! assert_eq!(simt_cli::main(words.map(Into::into), &mut out, &mut err), 0);
//! assert!(String::from_utf8(out)?.contains("saxpy("));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

mod args;
mod check;
mod launches;
mod parameters;
mod run;
mod spec;
mod values;

use std::ffi::OsString;
use std::io::{Read as _, Write};
use std::path::Path;

use clap::Parser as _;
use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

use args::{Arguments, Command};
pub use args::{LaunchArguments, SPECS};
pub use launches::{OpenLaunch, OpenLaunches};
use simt::MemoryError;
use simt::run::Fault;
use simt::{LoadError, Module};
use simt_check::diagnostic::{Diagnostic, Style, print_error};

/// An error that ends the program: the message for the user, and the exit code.
#[derive(Debug)]
pub struct Failure {
    report: Report,
    code: u8,
}

/// The message for the user.
#[derive(Debug)]
enum Report {
    /// A single line.
    Line(String),
    /// A location in a text.
    Place(Box<Diagnostic>),
}

impl Failure {
    /// Creates an error for invalid PTX or an invalid request: exit code 2.
    fn usage(message: impl Into<String>) -> Self {
        Self { report: Report::Line(message.into()), code: 2 }
    }

    /// Prints the message, and returns the exit code.
    pub fn report(&self, err: &mut dyn Write) -> u8 {
        match &self.report {
            _ if self.code == 0 => {}
            Report::Line(message) => print_error(err, message),
            // If stderr is closed, only the exit code can report the error.
            Report::Place(diagnostic) => drop(write!(err, "{}", diagnostic.text(style()))),
        }
        self.code
    }

    /// Creates an error for a kernel that faulted: exit code 1.
    fn fault(fault: &Fault, file: &Path) -> Self {
        let diagnostic = Diagnostic::of_fault(fault).in_ptx_file(&file.display().to_string());
        Self { report: Report::Place(Box::new(diagnostic)), code: 1 }
    }
}

/// An error that occurs while the output is written: exit code 2, or 0 if the reader has closed the pipe.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { 2 };
        Self { report: Report::Line(format!("cannot write the output: {error}")), code }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Self::usage(error.to_string())
    }
}

/// Runs the program and returns its exit code: 0 for success, 1 for a fault in the kernel, 2 for invalid PTX or usage.
/// Errors are written to `err`: as lines in the form of [`print_error`], or as a [`Diagnostic`] if they concern a
/// location in the kernel. Colors are always written; `out` and `err` must remove them if colors cannot be displayed.
pub fn main(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let arguments = match Arguments::try_parse_from(&args) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(err, "{}", error.render().ansi());
            return 2;
        }
        Err(error) if error.use_stderr() => {
            let command = args.get(1).and_then(|word| word.to_str()).filter(|word| ["run", "check"].contains(word));
            let help = command.map_or("simt --help".to_owned(), |command| format!("simt {command} --help"));
            complain_about_arguments(err, &error, &help);
            return 2;
        }
        Err(help) => {
            let help = help.render();
            return match write!(out, "{}", help.ansi()).and_then(|()| out.flush()) {
                Ok(()) => 0,
                // If the reader has closed the pipe, it does not need the rest of the help.
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

/// The maximum size of a PTX file in bytes. Devices such as `/dev/zero` have no end.
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
        return Err(Failure::usage(format!("{shown} has more than {MAX_TEXT} bytes, so it is not PTX text")));
    }
    // PTX that was a C string ends with a zero byte, which is often saved to the file.
    while bytes.pop_if(|byte| *byte == 0).is_some() {}
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

/// Returns the error for a file or a kernel that cannot be run.
fn refused(path: &Path, error: &LoadError) -> Failure {
    let shown = path.display();
    match error {
        LoadError::Parse(_) | LoadError::Refused { .. } => {
            let diagnostic = Diagnostic::of_load_error(error, &shown.to_string());
            Failure { report: Report::Place(Box::new(diagnostic)), code: 2 }
        }
        other => Failure::usage(format!("{shown}: {other}")),
    }
}

/// Returns the style of diagnostics.
fn style() -> Style {
    Style::of_terminal(true)
}

/// Returns the message for a kernel that cannot be run, without the kernel's name: `line 3, column 5: what: the line`.
fn reason(error: &LoadError) -> String {
    match error {
        LoadError::Refused { error, .. } => {
            format!("line {}, column {}: {}: {}", error.line, error.column, error.message, shorten(&error.source_line))
        }
        other => other.to_string(),
    }
}

/// Shortens a line of the text for use in a message.
fn shorten(line: &str) -> String {
    const MOST: usize = 120;
    let line = line.trim();
    if line.len() <= MOST {
        return line.to_owned();
    }
    format!("{}…", &line[..line.floor_char_boundary(MOST)])
}

/// Writes clap's error for invalid arguments in the form of [`print_error`]. `help` is the command that shows the help.
pub fn complain_about_arguments(err: &mut dyn Write, error: &clap::Error, help: &str) {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut message = String::new();
    for line in lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information")) {
        match (line.strip_prefix("tip: "), line.strip_prefix('[').and_then(|line| line.strip_suffix(']'))) {
            (Some(tip), _) => message += &format!("; {tip}"),
            (None, Some(values)) => message += &format!("; note: {values}"),
            (None, None) if message.is_empty() => line.trim_start_matches("error: ").clone_into(&mut message),
            (None, None) => message += &format!("{} {line}", if message.ends_with(':') { "" } else { "," }),
        }
    }
    print_error(err, &format!("{message}; `{help}` shows the arguments"));
}
