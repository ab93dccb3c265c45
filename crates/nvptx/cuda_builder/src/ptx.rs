//! From optimized LLVM IR to PTX of the lowest sufficient version.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builder::CudaBuilder;
use crate::compile;
use crate::error::CudaBuilderError;
use crate::lower::ir::demangled;
use crate::parts::{Part, in_parallel};
use crate::toolchain::DeviceToolchain;

/// A PTX ISA version, times ten: 63 is 6.3.
type Version = u32;

/// The versions of PTX that LLVM can be asked for, oldest first (PTX ISA §13, "Release Notes").
const VERSIONS: [Version; 24] =
    [60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88];

/// The PTX versions that instructions in `asm!` blocks need. LLVM knows this of the instructions it
/// selects itself, but copies `asm!` as text. (PTX ISA, "PTX ISA Notes" of each instruction.)
const ASM_NEEDS: [(&str, Version); 19] = [
    ("activemask", 62),
    ("nanosleep", 63),
    ("mma.sync", 64),
    ("ldmatrix", 65),
    ("cp.async", 70),
    ("mbarrier.", 70),
    ("redux.", 70),
    (".L2::", 74),
    (".L1::", 74),
    ("tanh.", 70),
    ("ex2.approx.f16", 70),
    ("stmatrix", 78),
    ("barrier.cluster", 78),
    ("cluster", 78),
    ("elect.sync", 80),
    ("cp.async.bulk", 80),
    ("wgmma", 80),
    ("setmaxnreg", 80),
    ("red.async", 81),
];

/// Generates PTX, of the lowest version for which LLVM has all the instructions.
///
/// Older drivers load only older versions, so a higher version than needed would shut out users for
/// nothing. All parts have the same version, because the instructions that LLVM chooses can depend on it.
pub(crate) fn generate(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    parts: &[Part],
) -> Result<Vec<String>, CudaBuilderError> {
    let for_asm = parts.iter().map(|part| lowest_for_asm(&part.optimized));
    let for_arch = lowest_for_arch(builder.arch.capability());
    let lowest = for_asm.fold(for_arch, Version::max);
    let mut refusal = None;
    for version in VERSIONS.into_iter().filter(|version| *version >= lowest) {
        let compiled = in_parallel(parts, |part| {
            part.made(&format!("{version}.ptx"), |ptx| {
                run_llc(builder, toolchain, version, &part.path, ptx)?;
                refuse_generic_shared(builder, &compile::read(ptx)?)
            })
        });
        match compiled {
            // LLVM knows which version introduced an instruction, and trying the versions in order asks
            // it.
            Err(CudaBuilderError::Tool { tool, problem }) => {
                refusal = refusal.or_else(|| Some(explained(builder, tool, &problem)));
            }
            other => return other,
        }
    }
    Err(refusal.unwrap_or_else(|| CudaBuilderError::Tool {
        tool: toolchain.llvm.llc.clone(),
        problem: format!("knows no PTX version from {lowest} (times ten) on"),
    }))
}

/// LLVM aborts with a stack trace at an instruction that the architecture lacks. This finds the one line
/// in it that concerns the kernel's author.
fn explained(builder: &CudaBuilder, tool: PathBuf, problem: &str) -> CudaBuilderError {
    let between = |before: &str, after: char| {
        let (_, rest) = problem.split_once(before)?;
        rest.split(after).next().map(str::trim)
    };
    let (Some(node), Some(function)) = (between("Cannot select:", '\n'), between("on function '@", '\'')) else {
        return CudaBuilderError::Tool { tool, problem: problem.to_owned() };
    };
    CudaBuilderError::NotInArchitecture {
        arch: builder.arch,
        function: demangled(function.trim_matches('"')),
        instruction: node.to_owned(),
    }
}

fn run_llc(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    version: Version,
    ir: &Path,
    ptx: &Path,
) -> Result<(), CudaBuilderError> {
    let level = if builder.release { "-O3" } else { "-O1" };
    let mut command = Command::new(&toolchain.llvm.llc);
    command
        .args([level, &format!("-mcpu={}", builder.arch.sm()), &format!("-mattr=+ptx{version}")])
        .args(compile::float_options(builder))
        .arg(ir)
        .arg("-o")
        .arg(ptx);
    compile::run(command)
}

/// The first version that has the architecture as a `.target` (PTX ISA §11.1.2).
fn lowest_for_arch(capability: u32) -> Version {
    match capability {
        ..=70 => 60,
        71..=72 => 61,
        73..=75 => 63,
        76..=80 => 70,
        81..=86 => 71,
        87 => 74,
        88..=90 => 78,
        91..=100 => 86,
        101..=119 => 87,
        120 => 87,
        _ => 88,
    }
}

/// The PTX version that the module's `asm!` blocks need.
fn lowest_for_asm(ir: &str) -> Version {
    ir.match_indices(" asm ")
        .filter_map(|(at, _)| ir[at..].lines().next())
        .flat_map(|asm| ASM_NEEDS.iter().filter(|(form, _)| asm.contains(form)).map(|(_, version)| *version))
        .max()
        .unwrap_or(VERSIONS[0])
}

/// Checks the PTX itself for shared addresses that are made generic. The check of the IR comes first and
/// names the static and the access, so nothing should be left to find here. `asm!` blocks are their
/// authors' responsibility and are not checked.
fn refuse_generic_shared(builder: &CudaBuilder, ptx: &str) -> Result<(), CudaBuilderError> {
    let mut entry = "";
    let mut in_asm = false;
    for line in ptx.lines() {
        match line.trim() {
            "// begin inline asm" => in_asm = true,
            "// end inline asm" => in_asm = false,
            _ => {}
        }
        if let Some((_, name)) = line.split_once(".entry ") {
            entry = name.trim_end_matches('(');
        }
        if !in_asm && line.trim_start().starts_with("cvta.shared") {
            return Err(builder.cannot_lower(crate::lower::LowerError::StaysGeneric {
                space: "shared",
                name: "(not known)".to_owned(),
                function: entry.to_owned(),
                line: line.trim().to_owned(),
            }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
