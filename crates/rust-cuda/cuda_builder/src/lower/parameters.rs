//! Processes the parameters of kernels: keeps grid constants in place and describes all parameters.
//!
//! A kernel's parameter `#[grid_constant] name: &T` is a reference to a `T` in the launch's arguments, as with CUDA
//! C++'s `const __grid_constant__ T`. Tensor maps must be passed this way. `#[kernel]` leaves a comment in an `asm!`
//! block. For example, `asm!("// grid_constant 0 128 64")` says that the first parameter points to 128 bytes that are
//! aligned to 64. Here the pointer becomes an LLVM `byval` parameter of that size.
//!
//! `#[kernel]` also leaves the names and types of all parameters, `asm!("// parameters 0 [] a: &[f32] | 2 n: u32")`.
//! They become an attribute of the function, from which [`describe`] writes comments into the PTX. The comments do not
//! change the compiled code, and simt reads them (`ptx::Declared`).
//!
//! CUDA C++ Programming Guide, "`__grid_constant__`"; PTX ISA §6.4.2, "cvta.param"; NVPTX usage in LLVM,
//! "nvvm.grid_constant".

use std::collections::HashMap;

use super::LowerError;
use super::ir::{closing, define, demangled, split_item, with_function_attributes};
use super::place::Place;

/// The start of the `asm!` block's text, which follows the block's options.
const MARKER: &str = " \"// grid_constant ";
const DESCRIPTION: &str = " \"// parameters ";

/// The function attribute with the description of the parameters. LLVM keeps unknown attributes.
const ATTRIBUTE: &str = "\"rust-parameters\"=\"";

/// Removes the markers from the kernels and changes the parameters that they name.
///
/// # Errors
/// Returns [`LowerError::Parameter`] when a marker is outside a kernel or does not name a pointer parameter.
pub fn lower(ir: &str) -> Result<String, LowerError> {
    if !ir.contains(MARKER) && !ir.contains(DESCRIPTION) {
        return Ok(ir.to_owned());
    }
    let mut out: Vec<String> = Vec::new();
    let mut start = None; // the function's index in `out`
    for line in ir.lines() {
        if define(line).is_some() {
            start = Some(out.len());
        }
        let description = line.find(DESCRIPTION).filter(|_| line.contains(" asm "));
        if let (Some(at), Some(start)) = (description, start) {
            let text = line[at + DESCRIPTION.len()..].split('"').next().unwrap_or_default();
            out[start] = with_function_attributes(&out[start], &format!("{ATTRIBUTE}{text}\""));
            continue;
        }
        let marker = line.find(MARKER).filter(|_| line.contains(" asm "));
        let (Some(at), Some(start)) = (marker, start) else {
            out.push(line.to_owned());
            continue;
        };
        let header = define(&out[start]).expect("`start` is the index of a `define` line");
        let fail = |problem: &str| LowerError::Parameter {
            function: demangled(header.name),
            problem: problem.to_owned(),
            place: Place::of(ir, line),
        };
        if !header.kernel {
            return Err(fail("it is not a kernel, and only kernels have launch arguments"));
        }
        let text = &line[at + MARKER.len()..];
        let numbers = text.split('"').next().unwrap_or_default().split_whitespace();
        let numbers: Result<Vec<usize>, _> = numbers.map(str::parse).collect();
        let Ok([index, bytes, align]) = numbers.as_deref() else {
            return Err(fail("a marker must have the parameter's index, size and alignment"));
        };
        out[start] = with_value(&out[start], *index, *bytes, *align).ok_or_else(|| fail("it has no such pointer"))?;
    }
    out.push(String::new());
    Ok(out.join("\n"))
}

/// Returns the `define` line with a value of `bytes` bytes instead of the pointer that is parameter `index`.
fn with_value(line: &str, index: usize, bytes: usize, align: usize) -> Option<String> {
    let open = line.find('@').and_then(|at| Some(at + line[at..].find('(')?))?;
    let close = open + closing(&line[open..])?;
    let mut parameters: Vec<&str> = Vec::new();
    let (mut rest, mut begin) = (&line[open + 1..close], open + 1);
    while let Some((_, after)) = split_item(rest) {
        rest = after;
        let end = close - rest.len();
        if rest.is_empty() || rest.starts_with(',') {
            parameters.push(line[begin..end].trim());
            rest = rest.strip_prefix(',').unwrap_or(rest);
            begin = end + 1;
        }
    }
    let name = parameters.get(index)?.strip_prefix("ptr ")?.rsplit(' ').next().filter(|name| name.starts_with('%'))?;
    let value = format!("ptr noundef byval([{bytes} x i8]) align {align} \"nvvm.grid_constant\" {name}");
    parameters[index] = &value;
    Some(format!("{}{}{}", &line[..=open], parameters.join(", "), &line[close..]))
}

/// Writes the parameter descriptions of optimized IR into its PTX, as a comment after each parameter of a kernel.
pub fn describe(ptx: &str, ir: &str) -> String {
    let group = |line: &str| -> Option<(String, String)> {
        let (number, attributes) = line.strip_prefix("attributes #")?.split_once(" = ")?;
        let (_, text) = attributes.split_once(ATTRIBUTE)?;
        Some((format!(" #{number} "), text.split('"').next()?.to_owned()))
    };
    let groups: Vec<(String, String)> = ir.lines().filter_map(group).collect();
    if groups.is_empty() {
        return ptx.to_owned();
    }
    let kernel = |line: &str| {
        let name = define(line).filter(|header| header.kernel)?.name.to_owned();
        let (_, text) = groups.iter().find(|(number, _)| line.contains(number))?;
        Some((name, comments(text)))
    };
    let kernels: HashMap<String, HashMap<usize, String>> = ir.lines().filter_map(kernel).collect();
    let mut out = String::with_capacity(ptx.len());
    let mut entry = None;
    for line in ptx.lines() {
        if let Some((_, name)) = line.split_once(".entry ") {
            let name = name.split('(').next().unwrap_or_default();
            entry = kernels.get(name).map(|comments| (name, comments));
        } else if line.starts_with(')') {
            entry = None;
        }
        out.push_str(line);
        // `.param .u64 .ptr .align 1 add_param_0,` or `.param .align 64 .b8 add_param_1[128]`
        let comment = entry.filter(|_| line.trim_start().starts_with(".param ")).and_then(|(name, comments)| {
            let (_, index) = line.rsplit_once(&format!(" {name}_param_"))?;
            let index = index.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
            comments.get(&index)
        });
        if let Some(comment) = comment {
            out.push_str(" // rust: ");
            out.push_str(comment);
        }
        out.push('\n');
    }
    out
}

/// Returns the comments by parameter index: `a: &[f32]`, `a.len()`, `c: &[Color], 4 bytes`.
fn comments(description: &str) -> HashMap<usize, String> {
    let mut comments = HashMap::new();
    for parameter in description.split(" | ") {
        let Some((head, ty)) = parameter.split_once(": ") else { continue };
        let words: Vec<&str> = head.split(' ').collect();
        if words.len() < 2 {
            continue;
        }
        let (Some(name), Some(index)) = (words.last(), words[0].parse().ok()) else { continue };
        let bytes = words[1].strip_prefix('[').and_then(|bytes| bytes.strip_suffix(']'));
        let size = bytes.filter(|bytes| !bytes.is_empty()).map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
        comments.insert(index, format!("{name}: {ty}{size}"));
        if bytes.is_some() {
            comments.insert(index + 1, format!("{name}.len()"));
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(marker: &str) -> String {
        format!(
            "define ptx_kernel void @k(i32 noundef %n, ptr noalias align 64 captures(address, read_provenance) \
             dereferenceable(128) %map, ptr %p) #0 {{\nstart:\n  \
             call void asm sideeffect \"// grid_constant {marker}\", \"\"() #5\n  ret void\n}}\n"
        )
    }

    #[test]
    fn the_pointer_becomes_a_value() {
        assert_eq!(
            lower(&kernel("1 128 64")),
            Ok("define ptx_kernel void @k(i32 noundef %n, ptr noundef byval([128 x i8]) align 64 \
                \"nvvm.grid_constant\" %map, ptr %p) #0 {\nstart:\n  ret void\n}\n"
                .to_owned())
        );
    }

    #[test]
    fn a_marker_for_anything_but_a_kernel_pointer_is_rejected() {
        let helper = kernel("1 128 64").replace("ptx_kernel ", "");
        for (ir, problem) in [(helper, "not a kernel"), (kernel("0 4 4"), "pointer"), (kernel("3 4 4"), "pointer")] {
            let error = lower(&ir).expect_err(problem).to_string();
            assert!(error.contains("`k`") && error.contains(problem), "{error}");
        }
    }
}
