//! Compiles PTX to SASS with `ptxas` and `nvdisasm`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use ptx::Outline;
use ptx::extract::{SourceLines, extract};
use tempfile::TempDir;

use crate::error::Error;
use crate::usage::{self, Usage};
use crate::{Found, Tool};

/// The name of the PTX in `ptxas`'s messages.
const SOURCE: &str = "kernels.ptx";

/// Assembles a PTX text for an architecture such as `sm_90`, and returns the resource usage of each of its functions,
/// by name. The machine code is discarded.
///
/// # Errors
/// Returns [`Error::UnknownArch`] when this `ptxas` does not know the architecture, and [`Error::Refused`] when it
/// rejects the text for another reason.
pub fn usages(ptxas: &Found, ptx: &str, arch: &str) -> Result<BTreeMap<String, Usage>, Error> {
    let folder = scratch()?;
    let said = assemble(ptxas, ptx, arch, folder.path(), &["-v"])?;
    Ok(usage::parse(&said))
}

/// Returns the resource usage of an entry of a PTX text, assembled for an architecture by the `ptxas` that
/// [`find`](crate::find) finds.
///
/// # Errors
/// Returns [`Error::Unavailable`] when there is no `ptxas`, [`Error::Unread`] when the text does not contain the entry,
/// and the errors of [`usages`].
pub fn usage(ptx: &str, entry: &str, arch: &str) -> Result<Usage, Error> {
    // Searched once, because asking a tool for its version starts a process.
    static FOUND: OnceLock<Result<Found, Error>> = OnceLock::new();
    let ptxas = FOUND.get_or_init(|| crate::find(Tool::Ptxas)).as_ref().map_err(Clone::clone)?;
    let missing = || Error::Unread { tool: Tool::Ptxas, what: format!("the entry {entry}") };
    Ok(*usages(ptxas, ptx, arch)?.get(entry).ok_or_else(missing)?)
}

/// Returns the [`usage`](fn@usage) of an entry of a PTX text for `target`. Only this entry is assembled. An
/// architecture-specific target such as `sm_90a` is assembled for that target, and any other target for `arch`.
///
/// # Errors
/// Returns the errors of [`usage`](fn@usage).
pub fn usage_of(ptx: &str, entry: &str, target: &str, arch: &str) -> Result<Usage, Error> {
    let part = extract(&Outline::new(ptx), entry, SourceLines::Drop).map_or(Cow::Borrowed(ptx), Cow::Owned);
    usage(&part, entry, if target.ends_with(['a', 'f']) { target } else { arch })
}

/// Assembles a PTX text for an architecture and disassembles one of its entries. If `lines` is true, the source lines
/// appear between the instructions.
///
/// # Errors
/// Returns the errors of [`usages`] for the text, and [`Error::Refused`] when `nvdisasm` fails.
pub fn sass(ptxas: &Found, nvdisasm: &Found, ptx: &str, entry: &str, arch: &str, lines: bool) -> Result<String, Error> {
    let folder = scratch()?;
    let mut options = vec!["--entry", entry];
    if lines {
        options.push("-lineinfo");
    }
    assemble(ptxas, ptx, arch, folder.path(), &options)?;
    let mut command = Command::new(&nvdisasm.path);
    command.arg("-c");
    if lines {
        command.arg("-gi");
    }
    let done = run(command.arg(folder.path().join(CUBIN)))?;
    if done.success {
        Ok(done.out)
    } else {
        Err(Error::Refused { tool: Tool::Nvdisasm, what: format!(" the machine code of {entry}"), said: done.err })
    }
}

/// Returns the architectures that this `ptxas` supports, sorted by number.
///
/// # Errors
/// Returns an error when `ptxas` does not run, or does not list its architectures.
pub fn architectures(ptxas: &Found) -> Result<Vec<String>, Error> {
    let done = run(Command::new(&ptxas.path).arg("--help"))?;
    let known = parse_architectures(&done.out);
    if known.is_empty() {
        return Err(Error::Unread { tool: Tool::Ptxas, what: "its architectures".to_owned() });
    }
    Ok(known)
}

/// Returns the words such as `'sm_90a'` in the help's paragraph on `--gpu-name`.
fn parse_architectures(help: &str) -> Vec<String> {
    let paragraph = help.split_once("--gpu-name").map_or("", |(_, rest)| rest);
    let end = paragraph.find("\n--").unwrap_or(paragraph.len());
    let mut known: Vec<String> = paragraph[..end]
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        // `sm_MN` is a placeholder in the text.
        .filter(|word| word.strip_prefix("sm_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
        .map(str::to_owned)
        .collect();
    let key = |name: &String| {
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        (digits.parse::<u32>().unwrap_or(u32::MAX), name.clone())
    };
    known.sort_by_key(key);
    known.dedup();
    known
}

const CUBIN: &str = "kernels.cubin";

/// Writes the cubin to the folder and returns `ptxas`'s messages.
fn assemble(ptxas: &Found, ptx: &str, arch: &str, folder: &Path, options: &[&str]) -> Result<String, Error> {
    let source = folder.join(SOURCE);
    fs::write(&source, ptx).map_err(|error| Error::Scratch(error.to_string()))?;
    let mut command = Command::new(&ptxas.path);
    command.args(options).arg(format!("-arch={arch}")).arg("-o").args([&folder.join(CUBIN), &source]);
    let done = run(&mut command)?;
    if done.success {
        // The report of `-v` is on standard error, like errors.
        return Ok(done.err);
    }
    // Queried only after a failure, because the query starts a second process.
    if let Ok(known) = architectures(ptxas)
        && !known.iter().any(|name| name == arch)
    {
        return Err(Error::UnknownArch { arch: arch.to_owned(), version: ptxas.version.clone(), known });
    }
    let place = format!("{}/", folder.display());
    Err(Error::Refused {
        tool: Tool::Ptxas,
        what: format!(" the PTX for {arch}"),
        said: done.err.replace(&place, "").trim().to_owned(),
    })
}

struct ProcessOutput {
    success: bool,
    out: String,
    err: String,
}

fn run(command: &mut Command) -> Result<ProcessOutput, Error> {
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|error| Error::Start { program: command.get_program().into(), why: error.to_string() })?;
    Ok(ProcessOutput {
        success: done.status.success(),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    })
}

fn scratch() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(|error| Error::Scratch(error.to_string()))
}

#[cfg(test)]
pub(crate) mod tests;
