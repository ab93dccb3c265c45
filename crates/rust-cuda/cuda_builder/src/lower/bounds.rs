//! Launch bounds and clusters. Launch bounds limit the block size of a kernel, so that ptxas knows how many registers a
//! thread can use. A cluster is a group of blocks that can access each other's shared memory.
//!
//! A kernel declares both in its body, as comments in an `asm!` block. `asm!("// launch_bounds 256 2")` declares at
//! most 256 threads per block and requests a register limit that allows at least 2 blocks per SM.
//! `asm!("// cluster 2")` declares clusters of two blocks in x. The comment reaches the IR and compiles with any
//! backend (upstream's rust-cuda passes it through). Here the comment becomes the attributes that LLVM turns into
//! `.maxntid` and `.minnctapersm`, or `.explicitcluster` and `.reqnctapercluster`.
//!
//! PTX ISA §11.4, "Performance-Tuning Directives", and §11.7, "Cluster Dimension Directives".

use super::LowerError;
use super::ir::{define, demangled, with_function_attributes};
use super::place::Place;

/// A kind of marker: the start of the `asm!` block's text, which follows the block's options, and a function that
/// returns the marker's attributes.
type Marker = (&'static str, fn(&str) -> Result<String, String>);

const MARKERS: [Marker; 2] = [(" \"// launch_bounds ", attributes), (" \"// cluster ", cluster)];

const MAX_THREADS: u32 = 1024;
/// The maximum number of blocks in a cluster on every device with clusters (CUDA C++ Programming Guide, "Thread Block
/// Clusters").
const MAX_CLUSTER: u32 = 8;

/// Removes the markers from the kernels and adds the corresponding attributes.
///
/// # Errors
/// Returns [`LowerError::Bounds`] when launch bounds or clusters are out of range, given twice, or outside a kernel.
pub fn lower(ir: &str) -> Result<String, LowerError> {
    if MARKERS.iter().all(|(marker, _)| !ir.contains(marker)) {
        return Ok(ir.to_owned());
    }
    let mut out: Vec<String> = Vec::new();
    // The index of the function's `define` line in `out`, and the kinds of markers that were found.
    let mut function: Option<(usize, [bool; MARKERS.len()])> = None;
    for line in ir.lines() {
        if define(line).is_some() {
            function = Some((out.len(), [false; MARKERS.len()]));
        }
        let marker = |(kind, (marker, _)): (usize, &Marker)| Some((kind, line.find(marker)? + marker.len()));
        let marker = MARKERS.iter().enumerate().find_map(marker).filter(|_| line.contains(" asm "));
        let (Some((kind, at)), Some((start, mut stated))) = (marker, function) else {
            out.push(line.to_owned());
            continue;
        };
        let header = define(&out[start]).expect("`function` is the index of a `define` line");
        let place = Place::of(ir, line);
        let fail = |problem: String| LowerError::Bounds { function: demangled(header.name), problem, place };
        if !header.kernel {
            return Err(fail("it is not a kernel; state them in the body of the kernel".to_owned()));
        }
        if stated[kind] {
            return Err(fail("they are stated twice".to_owned()));
        }
        let text = &line[at..];
        let attributes = MARKERS[kind].1(&text[..text.find('"').unwrap_or(text.len())]).map_err(fail)?;
        out[start] = with_function_attributes(&out[start], &attributes);
        stated[kind] = true;
        function = Some((start, stated));
    }
    out.push(String::new());
    Ok(out.join("\n"))
}

fn cluster(text: &str) -> Result<String, String> {
    match text.trim().parse() {
        Ok(blocks @ 1..=MAX_CLUSTER) => Ok(format!("\"nvvm.cluster_dim\"=\"{blocks}\"")),
        _ => Err(format!("a cluster of `{text}` blocks; a cluster has 1 to {MAX_CLUSTER}")),
    }
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
        Some(blocks) => return Err(format!("an SM cannot hold {blocks} blocks; it holds 1 to 32")),
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
        let with_a_stack = kernel("1024").replace("sideeffect", "sideeffect alignstack");
        let out = lower(&with_a_stack).expect("good bounds");
        assert!(out.contains("\"nvvm.maxntid\"=\"1024\" !dbg"), "{out}");
    }

    #[test]
    fn a_kernel_has_clusters_and_bounds() {
        let both = kernel("128").replace("  ret", "  call void asm sideeffect \"// cluster 2\", \"\"()\n  ret");
        let out = lower(&both).expect("good bounds");
        assert!(out.contains("\"nvvm.maxntid\"=\"128\" \"nvvm.cluster_dim\"=\"2\" !dbg"), "{out}");
        let error = lower(&both.replace("cluster 2", "cluster 9")).expect_err("9 blocks").to_string();
        assert!(error.contains("1 to 8"), "{error}");
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
    fn each_kernel_has_separate_bounds() {
        let both = format!("{}{}", kernel("64"), kernel("32").replace("@k", "@l"));
        let out = lower(&both).expect("good bounds");
        for (name, threads) in [("k", 64), ("l", 32)] {
            let define = format!("@{name}(ptr %p) #0 \"nvvm.maxntid\"=\"{threads}\"");
            assert!(out.contains(&define), "{out}");
        }
    }
}
