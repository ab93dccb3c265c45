//! One kernel's LLVM IR.

use crate::error::Error;

/// The `define` of a function in a module's text, to its closing brace, without the `!dbg` that follows
/// instructions.
pub(super) fn function(ir: &str, name: &str) -> Result<String, Error> {
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
                return Ok(out);
            }
        }
    }
    Err(Error::no_function("the module's LLVM IR", name))
}

/// The line without its `, !dbg !12`; a `define` has it without the comma.
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
