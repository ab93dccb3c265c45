//! Launch bounds: how large a block a kernel is launched with, so that ptxas knows how many registers
//! a thread may have.
//!
//! A kernel states them in its body as a comment in an `asm!` block,
//! `asm!("// launch_bounds 256 2")`: at most 256 threads a block, and registers for at least 2 blocks
//! an SM. The comment reaches the IR, compiles anywhere (upstream's rust-cuda passes it through), and
//! here it becomes the attributes that LLVM turns into `.maxntid` and `.minnctapersm`.
//!
//! PTX ISA §11.4, "Performance-Tuning Directives".

use super::LowerError;
use super::ir::{define, demangled, with_function_attributes};
use super::place::Place;

const MARKER: &str = "asm sideeffect \"// launch_bounds ";
const MAX_THREADS: u32 = 1024;

/// Takes the markers out of the kernels and gives the kernels their attributes.
///
/// # Errors
/// [`LowerError::Bounds`] when launch bounds are out of range, given twice, or outside a kernel.
pub fn lower(ir: &str) -> Result<String, LowerError> {
    if !ir.contains(MARKER) {
        return Ok(ir.to_owned());
    }
    let mut out: Vec<String> = Vec::new();
    let mut function: Option<(usize, bool)> = None; // its `define` line in `out`, and whether it is bounded
    for line in ir.lines() {
        if define(line).is_some() {
            function = Some((out.len(), false));
        }
        let (Some(at), Some((start, bounded))) = (line.find(MARKER), function) else {
            out.push(line.to_owned());
            continue;
        };
        let header = define(&out[start]).expect("`function` is the index of a `define` line");
        let place = Place::of(ir, line);
        let fail = |problem: String| LowerError::Bounds { function: demangled(header.name), problem, place };
        if !header.kernel {
            return Err(fail("it is not a kernel; state them in the kernel's own body".to_owned()));
        }
        if bounded {
            return Err(fail("stated twice".to_owned()));
        }
        let text = &line[at + MARKER.len()..];
        let text = &text[..text.find('"').unwrap_or(text.len())];
        let attributes = attributes(text).map_err(fail)?;
        out[start] = with_function_attributes(&out[start], &attributes);
        function = Some((start, true));
    }
    out.push(String::new());
    Ok(out.join("\n"))
}

fn attributes(text: &str) -> Result<String, String> {
    let numbers: Vec<u32> = text
        .split_whitespace()
        .map(|word| word.parse().map_err(|_| format!("`{word}` is not a number")))
        .collect::<Result<_, _>>()?;
    let (max_threads, min_blocks) = match numbers[..] {
        [max_threads] => (max_threads, None),
        [max_threads, min_blocks] => (max_threads, Some(min_blocks)),
        _ => return Err(format!("`{text}` is not `MAX_THREADS [MIN_BLOCKS]`")),
    };
    if !(1..=MAX_THREADS).contains(&max_threads) {
        return Err(format!("{max_threads} threads; a block has 1 to {MAX_THREADS}"));
    }
    let mut attributes = format!("\"nvvm.maxntid\"=\"{max_threads}\"");
    match min_blocks {
        None => {}
        Some(blocks @ 1..=32) => attributes += &format!(" \"nvvm.minctasm\"=\"{blocks}\""),
        Some(blocks) => return Err(format!("{blocks} blocks; an SM holds 1 to 32")),
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(text: &str) -> String {
        format!(
            "define ptx_kernel void @k(ptr %p) #0 !dbg !5 {{\nstart:\n  \
             call void asm sideeffect \"// launch_bounds {text}\", \"\"() #5\n  ret void\n}}\n"
        )
    }

    #[test]
    fn the_marker_becomes_attributes() {
        let out = lower(&kernel("128 2")).expect("good bounds");
        let expected = "define ptx_kernel void @k(ptr %p) #0 \"nvvm.maxntid\"=\"128\" \
                        \"nvvm.minctasm\"=\"2\" !dbg !5 {\nstart:\n  ret void\n}\n";
        assert!(out.starts_with(expected), "{out}");
        let out = lower(&kernel("1024")).expect("good bounds");
        assert!(out.contains("\"nvvm.maxntid\"=\"1024\" !dbg"), "{out}");
    }

    #[test]
    fn bad_bounds_name_the_kernel() {
        for (bounds, problem) in [
            ("0", "1 to 1024"),
            ("2048", "1 to 1024"),
            ("128 99", "1 to 32"),
            ("many", "not a number"),
            ("1 2 3", "MAX_THREADS"),
        ] {
            let error = lower(&kernel(bounds)).expect_err(bounds).to_string();
            assert!(error.contains("`k`") && error.contains(problem), "{error}");
        }
    }

    #[test]
    fn only_kernels_and_only_once() {
        let helper = kernel("128").replace("ptx_kernel ", "");
        let line = "  call void asm sideeffect \"// launch_bounds 64\", \"\"()\n";
        let twice = kernel("64").replace("  ret", &format!("{line}  ret"));
        for (ir, problem) in [(helper, "not a kernel"), (twice, "twice")] {
            let error = lower(&ir).expect_err(problem).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_second_kernel_keeps_its_own() {
        let both = format!("{}{}", kernel("64"), kernel("32").replace("@k", "@l"));
        let out = lower(&both).expect("good bounds");
        for (name, threads) in [("k", 64), ("l", 32)] {
            let own = format!("@{name}(ptr %p) #0 \"nvvm.maxntid\"=\"{threads}\"");
            assert!(out.contains(&own), "{out}");
        }
    }
}
