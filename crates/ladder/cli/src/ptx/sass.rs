//! Extracts one kernel's SASS from the output of `nvdisasm`.

use super::highlight;
use super::source::Interleave;
use crate::error::Error;

/// Returns a function's instructions and the labels that they branch to, without addresses and encodings.
///
/// `disassembly` is the output of `nvdisasm -c`, or of `nvdisasm -gi`, which includes source lines. `interleave` shows
/// the source lines.
pub(super) fn function(disassembly: &str, name: &str, mut interleave: Option<Interleave>) -> Result<String, Error> {
    let header = format!(".text.{name}:");
    let section = disassembly.lines().skip_while(|line| line.trim() != header).skip(1);
    let body: Vec<&str> = section.take_while(|line| !line.starts_with("//-")).collect();
    if body.is_empty() {
        return Err(Error::no_function("nvdisasm's output", name));
    }
    let mut out = String::new();
    // The frames that were printed since the last instruction, innermost first, as nvdisasm prints them.
    let mut frames = Vec::new();
    // NOPs pad the end of a function. They are kept only if another instruction follows.
    let mut padding = String::new();
    for line in &body {
        if let Some(frame) = source_line(line) {
            frames.push(frame);
        } else if let Some(instruction) = instruction(line) {
            if instruction == "NOP" {
                padding.push_str("        NOP\n");
                continue;
            }
            out += &std::mem::take(&mut padding);
            let frames: Vec<_> = frames.drain(..).rev().collect();
            if let Some(interleave) = &mut interleave
                && !frames.is_empty()
            {
                out += &interleave.frames(frames);
            }
            out += &highlight::sass(&format!("        {instruction}"));
            out += "\n";
        } else if let Some(label) = label(line)
            && body.iter().any(|other| other.contains(&format!("({label})")))
        {
            out += &std::mem::take(&mut padding);
            out += &highlight::sass(&format!("{label}:"));
            out += "\n";
        }
    }
    out.push_str(&interleave.map(Interleave::notes).unwrap_or_default());
    Ok(out)
}

/// Extracts the instruction `@P0 EXIT` from `        /*0070*/               @P0 EXIT ;`.
fn instruction(line: &str) -> Option<String> {
    let (address, rest) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let is_address = !address.is_empty() && address.chars().all(|digit| digit.is_ascii_hexdigit());
    let (text, _) = rest.split_once(';')?;
    // Labels are quoted: `(.L_x_3).
    is_address.then(|| text.trim().replace('`', ""))
}

fn label(line: &str) -> Option<&str> {
    line.strip_suffix(':').filter(|label| label.starts_with(".L") || label.starts_with('$'))
}

/// Returns the first location of `//## File "a.rs", line 9 inlined at "b.rs", line 47`. The call site follows on a
/// separate line.
fn source_line(line: &str) -> Option<(String, u32)> {
    let rest = line.trim_start().strip_prefix("//## File \"")?;
    let (path, rest) = rest.split_once("\", line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((path.to_owned(), digits.parse().ok()?))
}

#[cfg(test)]
mod tests;
