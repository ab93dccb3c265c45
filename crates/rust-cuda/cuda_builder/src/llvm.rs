//! Runs LLVM's programs in a device build.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builder::CudaBuilder;
use crate::compile::{hash, io, run, write};
use crate::error::CudaBuilderError;
use crate::lower::spaces;
use crate::toolchain::DeviceToolchain;

/// The number of instructions up to which a loop of constant length is fully unrolled.
///
/// LLVM's default of 300 is meant for CPUs. On a GPU, an array that the loop's counter indexes stays in local memory
/// until the loop is fully unrolled. Once the loop is fully unrolled, the array moves to registers. nvcc unrolls to the
/// same extent. Loops whose length is not a constant are not affected.
const UNROLL_THRESHOLD: u32 = 20_000;

/// The source files of this crate that process a part. Their hash identifies the version of the code. The executable
/// cannot identify this version, because cargo compiles a build script once for clippy and once to run it.
const PART_CODE: [&str; 21] = [
    include_str!("build.rs"),
    include_str!("compile.rs"),
    include_str!("limits.rs"),
    include_str!("llvm.rs"),
    include_str!("lower.rs"),
    include_str!("lower/bounds.rs"),
    include_str!("lower/builtins.rs"),
    include_str!("lower/convergent.rs"),
    include_str!("lower/ir.rs"),
    include_str!("lower/local_atomics.rs"),
    include_str!("lower/parameters.rs"),
    include_str!("lower/place.rs"),
    include_str!("lower/signs.rs"),
    include_str!("lower/spaces.rs"),
    include_str!("lower/verify.rs"),
    include_str!("lower/window.rs"),
    include_str!("module.rs"),
    include_str!("module/program.rs"),
    include_str!("module/write.rs"),
    include_str!("parts.rs"),
    include_str!("ptx.rs"),
];

/// Returns a text with everything that a part's optimized IR and PTX depend on, except for the part's text and the PTX
/// version.
pub(crate) fn tools(builder: &CudaBuilder, toolchain: &DeviceToolchain) -> String {
    let tool = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok();
        (path.clone(), file.map(|metadata| (metadata.len(), metadata.modified().ok())))
    };
    let llvm = &toolchain.llvm;
    format!(
        "{} {:?} {:?} {} {} {} {:?}",
        hash(PART_CODE),
        tool(&llvm.opt),
        tool(&llvm.llc),
        llvm.version,
        builder.arch.sm(),
        builder.release,
        float_options(builder),
    )
}

/// Runs LLVM's optimizer.
pub(crate) fn optimize(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    roots: &str,
    ir: &str,
    optimized: &Path,
) -> Result<(), CudaBuilderError> {
    let level = if builder.release { "default<O3>" } else { "default<O1>" };
    let lowered = optimized.with_extension("lowered.ll");
    write(&lowered, ir)?;
    let mut command = Command::new(&toolchain.llvm.opt);
    let mut level = level.to_owned();
    if !roots.is_empty() {
        level += ",internalize,globaldce";
        command.arg(format!("-internalize-public-api-list={roots}"));
    }
    // LLVM would turn a `match` that returns pointers into a table of addresses. A table in global memory cannot
    // contain an address in shared memory, because this address is different for each block.
    if spaces::has_moved(ir) {
        command.arg("-switch-to-lookup=false");
    }
    command
        // llc would infer the address spaces too, but only at this point can the result still be checked.
        .arg(format!("-passes={level},function(infer-address-spaces)"))
        .arg(format!("-mcpu={}", builder.arch.sm()))
        .args(float_options(builder))
        .arg(format!("-unroll-threshold={UNROLL_THRESHOLD}"))
        .arg("-S")
        .arg(&lowered)
        .arg("-o")
        .arg(optimized);
    run(command)?;
    std::fs::remove_file(&lowered).map_err(io(&lowered))
}

/// Returns LLVM's options for the builder's f32 settings.
pub(crate) fn float_options(builder: &CudaBuilder) -> Vec<&'static str> {
    let mut options = Vec::new();
    if builder.ftz {
        options.push("-denormal-fp-math-f32=preserve-sign");
    }
    if builder.fast_sqrt {
        options.push("-nvptx-prec-sqrtf32=0");
    }
    if builder.fast_div {
        options.push("-nvptx-prec-divf32=0");
    }
    options.push(if builder.fma_contraction { "-fp-contract=fast" } else { "-fp-contract=off" });
    options
}

/// Writes optimized IR as bitcode.
pub(crate) fn assemble_bitcode(toolchain: &DeviceToolchain, ir: &Path, bitcode: &Path) -> Result<(), CudaBuilderError> {
    let mut command = Command::new(&toolchain.llvm.opt);
    command.arg("-passes=verify").arg(ir).arg("-o").arg(bitcode);
    run(command)
}

/// Writes bitcode as text, then removes the bitcode.
pub(crate) fn disassemble(toolchain: &DeviceToolchain, bitcode: &Path, text: &Path) -> Result<(), CudaBuilderError> {
    let mut command = Command::new(&toolchain.llvm.opt);
    command.arg("-S").arg(bitcode).arg("-o").arg(text);
    run(command)?;
    std::fs::remove_file(bitcode).map_err(io(bitcode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_is_part_of_the_cache_key() {
        let lower = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/lower");
        let files = std::fs::read_dir(lower).expect("the passes").map(|entry| entry.expect("an entry").path());
        for file in files.filter(|path| path.is_file()) {
            let text = std::fs::read_to_string(&file).expect("a file");
            assert!(PART_CODE.contains(&text.as_str()), "{} is not in PART_CODE", file.display());
        }
    }
}
