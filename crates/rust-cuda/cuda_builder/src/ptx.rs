//! Generates PTX of the lowest sufficient version from optimized LLVM IR.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builder::CudaBuilder;
use crate::compile;
use crate::error::CudaBuilderError;
use crate::limits;
use crate::llvm;
use crate::lower::ir::demangled;
use crate::lower::parameters::describe;
use crate::lower::place::Place;
use crate::parts::{Part, in_parallel};
use crate::toolchain::DeviceToolchain;

/// A PTX ISA version, times ten: 63 stands for 6.3.
type Version = u32;

/// The PTX versions that LLVM can generate, oldest first (PTX ISA §13, "Release Notes").
const VERSIONS: [Version; 24] =
    [60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88];

/// The PTX versions that instructions in `asm!` blocks need. LLVM knows the versions of the instructions that it
/// selects, but copies `asm!` blocks as text. (PTX ISA, "PTX ISA Notes" of each instruction.)
const ASM_NEEDS: [(&str, Version); 21] = [
    ("activemask", 62),
    ("nanosleep", 63),
    ("mma.sync", 64),
    ("ldmatrix", 65),
    ("cp.async", 70),
    ("mbarrier.", 70),
    ("mbarrier.test_wait.parity", 71),
    ("mbarrier.try_wait", 78),
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

/// The first version with a higher limit for a kernel's parameters.
const FOR_LARGE_PARAMETERS: Version = 81;

/// Generates PTX in the lowest version that supports all instructions.
///
/// Older drivers only load older versions, so a higher version than needed would exclude users without any benefit. All
/// parts have the same version, because the instructions that LLVM chooses can depend on it.
pub(crate) fn generate(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    parts: &[Part],
) -> Result<Vec<String>, CudaBuilderError> {
    let for_asm =
        parts.iter().map(|part| version(part, "for_asm", || Ok(lowest_for_asm(&compile::read(&part.optimized)?))));
    let for_asm = for_asm.collect::<Result<Vec<_>, _>>()?;
    let lowest = for_asm.into_iter().fold(lowest_for_arch(builder.arch.capability()), Version::max);
    let compiled = |version: Version| {
        in_parallel(parts, |part| {
            part.cached(&format!("{version}.ptx"), |ptx| {
                run_llc(builder, toolchain, version, &part.optimized, ptx)?;
                compile::write(ptx, &describe(&compile::read(ptx)?, &compile::read(&part.optimized)?))
            })
        })
    };
    let mut refusal = None;
    for version in VERSIONS.into_iter().filter(|version| *version >= lowest) {
        match compiled(version) {
            // LLVM knows which version introduced an instruction, so this loop tries the versions in order.
            Err(CudaBuilderError::Tool { tool, problem }) if refusal.is_none() => {
                refusal = Some(explained(builder, tool, &problem, parts));
                // An instruction that the newest version lacks is not in any version.
                if let Err(CudaBuilderError::Tool { .. }) = compiled(VERSIONS[VERSIONS.len() - 1]) {
                    break;
                }
            }
            Err(CudaBuilderError::Tool { .. }) => {}
            Err(other) => return Err(other),
            Ok(texts) => {
                let all: Vec<_> = parts.iter().zip(&texts).collect();
                let needed = in_parallel(&all, |(part, text)| {
                    let needed = || {
                        let needs_newer = limits::check(builder, text)?;
                        Ok(if needs_newer { FOR_LARGE_PARAMETERS } else { VERSIONS[0] })
                    };
                    self::version(part, &format!("{version}.needed"), needed)
                })?;
                if needed.iter().all(|needed| version >= *needed) {
                    return Ok(texts);
                }
            }
        }
    }
    Err(refusal.unwrap_or_else(|| CudaBuilderError::Tool {
        tool: toolchain.llvm.llc.clone(),
        problem: format!("supports no PTX version of at least {lowest} (the version times ten)"),
    }))
}

/// Returns a version that a part needs. The version is cached in a file of this name.
fn version(
    part: &Part,
    name: &str,
    needed: impl Fn() -> Result<Version, CudaBuilderError>,
) -> Result<Version, CudaBuilderError> {
    let text = part.cached(name, |path| compile::write(path, &needed()?.to_string()))?;
    Ok(text.parse().unwrap_or(VERSIONS[0]))
}

/// Extracts the one line of LLVM's output that helps the kernel's author. LLVM aborts with a stack trace at an
/// instruction that the architecture lacks.
fn explained(builder: &CudaBuilder, tool: PathBuf, problem: &str, parts: &[Part]) -> CudaBuilderError {
    let between = |before: &str, after: char| {
        let (_, rest) = problem.split_once(before)?;
        rest.split(after).next().map(str::trim)
    };
    let Some(name) = between("on function '@", '\'').map(|name| name.trim_matches('"')) else {
        return CudaBuilderError::Tool { tool, problem: problem.to_owned() };
    };
    let (arch, function) = (builder.arch, demangled(name));
    // A part that only calls the function does not contain the function's place.
    let place = |of: &dyn Fn(&str) -> Place| {
        let mut places = parts.iter().map(|part| of(&compile::read(&part.optimized).unwrap_or_default()));
        places.find(|place| *place != Place::default())
    };
    let of_function = || place(&|ir| Place::of_function(ir, name)).unwrap_or_default();
    match between("Cannot select:", '\n') {
        Some(instruction) => {
            // `t5: i32,ch = llvm.nvvm.redux.sync.add …`
            let is_intrinsic = |word: &&str| word.trim_start_matches(['%', '@']).starts_with("llvm.");
            let intrinsic = instruction.split([' ', '<', '>', '(']).find(is_intrinsic);
            let used = intrinsic.map(|intrinsic| intrinsic.trim_start_matches(['%', '@']));
            let place = used.and_then(|used| place(&|ir| Place::of_use_in(ir, name, used)));
            let place = place.unwrap_or_else(of_function);
            CudaBuilderError::NotInArchitecture { arch, function, instruction: instruction.to_owned(), place }
        }
        None => {
            let problem =
                problem.lines().find_map(|line| line.split_once("LLVM ERROR: ")).map_or(problem, |parts| parts.1);
            CudaBuilderError::NotInLlvm { function, problem: problem.to_owned(), place: of_function() }
        }
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
        // Resolving the names in a stack trace would take longer than the compilation.
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .args([level, &format!("-mcpu={}", builder.arch.sm()), &format!("-mattr=+ptx{version}")])
        .args(llvm::float_options(builder))
        .arg(ir)
        .arg("-o")
        .arg(ptx);
    compile::run(command)
}

/// Returns the first version that supports the architecture as a `.target` (PTX ISA §11.1.2).
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

/// Returns the PTX version that the module's `asm!` blocks need.
fn lowest_for_asm(ir: &str) -> Version {
    let is_asm = |line: &&str| line.starts_with(' ') && line.contains(" asm ");
    (ir.lines().filter(is_asm))
        .flat_map(|asm| ASM_NEEDS.iter().filter(|(form, _)| asm.contains(form)).map(|(_, version)| *version))
        .max()
        .unwrap_or(VERSIONS[0])
}

#[cfg(test)]
mod tests;
