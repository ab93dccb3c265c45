//! Replaces instructions that LLVM cannot compile to PTX, or miscompiles, with calls to `cuda_std`'s functions.
//!
//! LLVM computes the remainder of floats from a rounded quotient, so the remainder is correct only for small quotients.
//! LLVM does not support conversions between floats and 128-bit integers. `cuda_std::builtins` contains weak
//! definitions of functions for these operations, and of the C library functions that `core` calls. Nothing outside the
//! PTX can replace these functions, so this pass makes them ordinary definitions of the program. Functions that nothing
//! calls are removed.

use super::LowerError;
use super::ir::{demangled, function_at, has, split_item, with_function_attributes};
use super::place::Place;

/// Functions with pointer parameters. The pointers' address spaces stay known only if the functions are inlined.
const MEMORY: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// Replaces unsupported instructions with calls and makes weak functions hidden. Returns `None` if there is nothing to
/// rewrite.
///
/// # Errors
/// Returns [`LowerError::Remainder`] for a remainder of a float type that has no remainder function.
pub fn lower(ir: &str) -> Result<Option<String>, LowerError> {
    if !["define weak ", " frem ", " i128"].iter().any(|needed| has(ir, needed)) {
        return Ok(None);
    }
    let mut out = String::with_capacity(ir.len());
    for line in ir.lines() {
        if let Some(rest) = line.strip_prefix("define weak ").filter(|rest| !rest.contains("ptx_kernel ")) {
            let define = format!("define hidden {}", rest.strip_prefix("hidden ").unwrap_or(rest));
            let is_of_memory = MEMORY.iter().any(|name| rest.contains(&format!(" @{name}(")));
            out.push_str(&if is_of_memory { with_function_attributes(&define, "alwaysinline") } else { define });
        } else if let Some(call) = Call::read(line) {
            call.write(&mut out);
        } else if line.starts_with(' ') && line.contains(" = frem ") {
            let function = demangled(function_at(ir, line).map_or("", |define| define.name));
            return Err(LowerError::Remainder { function, line: line.trim().to_owned(), place: Place::of(ir, line) });
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    Ok(Some(out))
}

/// An instruction to be replaced: `%r = frem float %a, %b, !dbg !7`.
struct Call<'a> {
    /// The start of the line, including the name of the result.
    result: &'a str,
    /// The functions for `float` and `double`.
    functions: [&'static str; 2],
    from: &'a str,
    operands: Vec<&'a str>,
    to: &'a str,
    /// The rest of the line after the instruction.
    rest: &'a str,
}

impl<'a> Call<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (result, right) = line.split_once(" = ")?;
        let (instruction, rest) = right.split_once(' ')?;
        let functions = match instruction {
            "frem" => ["fmodf", "fmod"],
            "uitofp" => ["__floatuntisf", "__floatuntidf"],
            "sitofp" => ["__floattisf", "__floattidf"],
            "fptoui" => ["__fixunssfti", "__fixunsdfti"],
            "fptosi" => ["__fixsfti", "__fixdfti"],
            "call" | "tail" if right.contains(" i128 @llvm.fptoui.sat.i128.") => ["__fixunssfti", "__fixunsdfti"],
            "call" | "tail" if right.contains(" i128 @llvm.fptosi.sat.i128.") => ["__fixsfti", "__fixdfti"],
            _ => return None,
        };
        let (from, operands, to, rest) = if let Some((_, call)) = rest.split_once(".sat.i128.") {
            let (argument, rest) = call.split_once('(')?.1.split_once(')')?;
            let (from, operand) = argument.split_once(' ')?;
            (from, vec![operand.trim_start_matches("noundef ")], "i128", rest)
        } else {
            // Flags with assumptions about the operands come first.
            let (mut ty, mut rest) = split_item(rest)?;
            while !["float", "double", "half", "i128"].contains(&ty) {
                if !ty.bytes().all(|byte| byte.is_ascii_lowercase()) {
                    return None;
                }
                (ty, rest) = split_item(rest)?;
            }
            let (operand, rest) = split_item(rest)?;
            if instruction == "frem" {
                let (second, rest) = split_item(rest.strip_prefix(',')?)?;
                (ty, vec![operand, second], ty, rest)
            } else {
                let (to, rest) = split_item(rest.strip_prefix(" to ")?)?;
                (ty, vec![operand], to, rest)
            }
        };
        let is_replaced =
            matches!((from, to), ("float" | "double" | "half", "i128") | ("i128", "float" | "double" | "half"))
                || instruction == "frem" && from != "i128";
        is_replaced.then_some(Self { result, functions, from, operands, to, rest })
    }

    fn write(&self, out: &mut String) {
        let Self { result, functions, from, to, rest, .. } = *self;
        let indent = &result[..result.len() - result.trim_start().len()];
        let name = result.trim_start().trim_start_matches('%');
        // A half-precision value is converted through a float, which can represent all results of these functions.
        let wide = |ty| if ty == "half" { "float" } else { ty };
        let function = functions[usize::from(from == "double" || to == "double")];
        let mut arguments = Vec::new();
        for (number, operand) in self.operands.iter().enumerate() {
            arguments.push(if from == "half" {
                *out += &format!("{indent}%wide.{number}.{name} = fpext half {operand} to float\n");
                format!("float %wide.{number}.{name}")
            } else {
                format!("{from} {operand}")
            });
        }
        let call = format!("call {} @{function}({}){rest}", wide(to), arguments.join(", "));
        *out += &if to == "half" {
            format!("{indent}%wide.{name} = {call}\n{result} = fptrunc float %wide.{name} to half")
        } else {
            format!("{result} = {call}")
        };
    }
}

#[cfg(test)]
mod tests;
