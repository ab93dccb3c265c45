//! Finds one kernel's LLVM IR.

use std::path::Path;

use super::read;
use crate::error::Error;

/// Returns the `define` of a function in one of a folder's modules.
///
/// # Errors
/// Returns an error when the folder or a module cannot be read, and when no module contains the function.
pub(super) fn function_in(folder: &Path, name: &str) -> Result<String, Error> {
    let unreadable = |error| Error::Source(format!("cannot read {}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let ir = read(&entry.map_err(unreadable)?.path())?;
        if let Some(text) = function(&ir, name) {
            return Ok(text);
        }
    }
    Err(Error::no_function("the kernels' LLVM IR", name))
}

/// Returns the `define` of a function in a module's text, up to its closing brace, without the `!dbg` attachments of
/// instructions. Returns `None` when the module does not contain the function.
fn function(ir: &str, name: &str) -> Option<String> {
    let plain = format!("@{name}(");
    let quoted = format!("@\"{name}\"(");
    let mut out = String::new();
    let mut inside = false;
    for line in ir.lines() {
        inside |= line.starts_with("define ") && (line.contains(&plain) || line.contains(&quoted));
        if inside {
            if !line.trim_start().starts_with("#dbg_") {
                out.push_str(&without_debug(line));
                out.push('\n');
            }
            if line == "}" {
                return Some(out);
            }
        }
    }
    None
}

/// Returns the line without its `, !dbg !12`. On a `define` line, no comma precedes `!dbg`.
fn without_debug(line: &str) -> String {
    match line.split_once(" !dbg !") {
        Some((before, after)) => {
            let before = before.strip_suffix(',').unwrap_or(before);
            before.to_owned() + after.trim_start_matches(|digit: char| digit.is_ascii_digit())
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
