//! The programs of a device build: cargo and rustc, then LLVM's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::builder::CudaBuilder;
use crate::error::CudaBuilderError;
use crate::toolchain::{CoreLibrary, DeviceToolchain, LLVM_OVERRIDE, RUSTC_OVERRIDE, TARGET};

/// Where a build keeps its files.
pub(crate) struct Paths {
    target_dir: PathBuf,
    raw: PathBuf,
    pub(crate) lowered: PathBuf,
    pub(crate) optimized: PathBuf,
    pub(crate) ptx: PathBuf,
}

impl Paths {
    pub(crate) fn of(builder: &CudaBuilder) -> Result<Self, CudaBuilderError> {
        let krate = builder.path_to_crate();
        let krate = krate.canonicalize().map_err(io(krate))?;
        let target_dir = target_dir(&krate)?;
        let name = krate
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .replace('-', "_");
        let profile = if builder.release { "release" } else { "debug" };
        let folder = target_dir.join(format!("{}-{profile}", builder.arch.sm()));
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        Ok(Self {
            raw: folder.join(format!("{name}.rustc.ll")),
            lowered: folder.join(format!("{name}.lowered.ll")),
            optimized: folder.join(format!("{name}.ll")),
            ptx: folder.join(format!("{name}.ptx")),
            target_dir,
        })
    }
}

/// cargo locks a target folder while it builds, so a build inside a build needs another one.
fn target_dir(krate: &Path) -> Result<PathBuf, CudaBuilderError> {
    if let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) {
        // target/PROFILE/build/PACKAGE/out: one folder for all profiles of the host.
        if let Some(target) = out.ancestors().nth(4) {
            return Ok(target.join("cuda-builder"));
        }
    }
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        return Ok(PathBuf::from(target).join("cuda-builder"));
    }
    // Outside a build script: beside the outermost Cargo.lock, which is the workspace's.
    let root = krate
        .ancestors()
        .filter(|folder| folder.join("Cargo.lock").is_file())
        .last()
        .unwrap_or(krate);
    let target = root.join("target/cuda-builder");
    std::fs::create_dir_all(&target).map_err(io(&target))?;
    Ok(target)
}

fn in_build_script() -> bool {
    std::env::var_os("OUT_DIR").is_some() && std::env::var_os("CARGO_MANIFEST_DIR").is_some()
}

/// Tells cargo which variables a build depends on.
pub(crate) fn watch_environment() {
    if in_build_script() {
        println!("cargo::rerun-if-env-changed={RUSTC_OVERRIDE}");
        println!("cargo::rerun-if-env-changed={LLVM_OVERRIDE}");
    }
}

/// Compiles the crate and all it uses into one module of unoptimized LLVM IR.
pub(crate) fn to_ir(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    paths: &Paths,
) -> Result<String, CudaBuilderError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(&cargo);
    clear_outer_cargo(&mut command);
    let profile = if builder.release { "release" } else { "dev" };
    command
        .args(["rustc", "--quiet", "--manifest-path"])
        .arg(builder.path_to_crate().join("Cargo.toml"))
        .args([
            "--lib",
            "--crate-type=cdylib",
            "--target",
            TARGET,
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(&paths.target_dir)
        .args(["--config", &format!("profile.{profile}.lto=\"fat\"")])
        .args(["--config", &format!("profile.{profile}.codegen-units=1")])
        .args(["--config", &format!("profile.{profile}.panic=\"abort\"")])
        // A setting for line tables in the host's profile does not apply to device code.
        .args(["--config", &format!("profile.{profile}.debug=false")])
        .args(&builder.build_args)
        .env("RUSTC", &toolchain.rustc.path)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CUDA_ARCH", format!("{}0", builder.arch.capability()));
    if let CoreLibrary::Sources(_) = toolchain.rustc.core {
        command.arg("-Zbuild-std=core");
    }
    let mut emit = OsString::from("--emit=llvm-ir=");
    emit.push(&paths.raw);
    command.arg("--").arg(emit).args([
        // The entry-point ABI that `#[kernel]` expands to: no business of the crate that uses it.
        "-Zcrate-attr=feature(abi_ptx)",
        "-Cno-prepopulate-passes",
        // Only the IR is wanted, so the link step may do nothing.
        "-Clinker=true",
    ]);
    command.arg(format!("-Ctarget-cpu={}", builder.arch.sm()));
    if builder.line_info() {
        command.arg("-Cdebuginfo=line-directives-only");
    }
    // Builds for several architectures share the folder, for the sake of one `core` for all, and with it the
    // list of sources: it must be read before the next build writes its own.
    // A crate that failed to compile for one architecture is not compiled for the next, because the errors would be
    // the same.
    static FAILED: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    let krate = builder.path_to_crate().to_owned();
    if in_build_script()
        && let Some((_, messages)) = failed.iter().find(|(other, _)| *other == krate)
    {
        let messages = messages.clone();
        return Err(CudaBuilderError::BuildFailed { krate, messages });
    }
    let output = command.output().map_err(|error| CudaBuilderError::Tool {
        tool: PathBuf::from(cargo),
        problem: format!("cannot be run: {error}"),
    })?;
    if !output.status.success() {
        // A crate that does not compile must be compiled again when its source changes.
        watch_folder(builder.path_to_crate());
        let messages = String::from_utf8_lossy(&output.stderr)
            .trim_end()
            .to_owned();
        failed.push((krate.clone(), messages.clone()));
        return Err(CudaBuilderError::BuildFailed { krate, messages });
    }
    watch_sources(builder, paths, profile);
    read(&paths.raw)
}

/// Removes the variables that the outer cargo sets for build scripts, which would mislead the inner one.
fn clear_outer_cargo(command: &mut Command) {
    const KEPT: [&str; 4] = [
        "CARGO_HOME",
        "CARGO_MAKEFLAGS",
        "CARGO_TERM_COLOR",
        "CARGO_NET_OFFLINE",
    ];
    const OTHERS: [&str; 6] = [
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTDOC",
        "OUT_DIR",
        "TARGET",
    ];
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let of_cargo = name.starts_with("CARGO_")
            && !KEPT.contains(&name.as_str())
            && !name.starts_with("CARGO_REGISTR")
            && !name.starts_with("CARGO_HTTP");
        if of_cargo || OTHERS.contains(&name.as_str()) {
            command.env_remove(name);
        }
    }
}

/// Tells cargo every file that the crate was made from, as the inner cargo wrote them down.
fn watch_sources(builder: &CudaBuilder, paths: &Paths, profile: &str) {
    if !in_build_script() {
        return;
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    // The folder is shared with other crates' builds; the crate's own list has its sources in it.
    let krate = builder.path_to_crate().canonicalize().unwrap_or_default();
    let mut sources: Vec<PathBuf> = std::fs::read_dir(paths.target_dir.join(TARGET).join(folder))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "d"))
        .map(|path| dep_info(&std::fs::read_to_string(path).unwrap_or_default()))
        .filter(|sources| sources.iter().any(|source| source.starts_with(&krate)))
        .flatten()
        .collect();
    sources.sort();
    sources.dedup();
    if sources.is_empty() {
        watch_folder(builder.path_to_crate());
    }
    for source in sources {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    println!(
        "cargo::rerun-if-changed={}",
        builder.path_to_crate().join("Cargo.toml").display()
    );
}

fn watch_folder(folder: &Path) {
    if in_build_script() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}

/// The files after the colon of a `.d` file, whose spaces are escaped with a backslash.
fn dep_info(text: &str) -> Vec<PathBuf> {
    let Some((_, files)) = text.lines().next().unwrap_or_default().split_once(": ") else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    let mut path = String::new();
    let mut characters = files.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => path.extend(characters.next()),
            ' ' => paths.push(std::mem::take(&mut path)),
            c => path.push(c),
        }
    }
    paths.push(path);
    paths
        .into_iter()
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// Instructions up to which a loop of constant length is written out in full.
///
/// LLVM's 300 is meant for CPUs. Here an array that is indexed by such a loop's counter lives in registers
/// only once the loop is gone, and in local memory until then; nvcc unrolls as far. Loops whose length is not
/// a constant are not touched by it.
const UNROLL_THRESHOLD: u32 = 20_000;

/// Runs LLVM's optimizer.
pub(crate) fn optimize(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    paths: &Paths,
) -> Result<(), CudaBuilderError> {
    let level = if builder.release {
        "default<O3>"
    } else {
        "default<O1>"
    };
    let mut command = Command::new(&toolchain.llvm.opt);
    command
        // llc would infer the address spaces later; here the result can still be checked.
        .arg(format!("-passes={level},function(infer-address-spaces)"))
        .arg(format!("-mcpu={}", builder.arch.sm()))
        .args(float_options(builder))
        .arg(format!("-unroll-threshold={UNROLL_THRESHOLD}"))
        .arg("-S")
        .arg(&paths.lowered)
        .arg("-o")
        .arg(&paths.optimized);
    run(command)
}

/// LLVM's names for the builder's choices about f32.
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
    options.push(if builder.fma_contraction {
        "-fp-contract=fast"
    } else {
        "-fp-contract=off"
    });
    options
}

/// Writes optimized IR as bitcode.
pub(crate) fn assemble_bitcode(
    toolchain: &DeviceToolchain,
    ir: &Path,
    bitcode: &Path,
) -> Result<(), CudaBuilderError> {
    let mut command = Command::new(&toolchain.llvm.opt);
    command.arg("-passes=verify").arg(ir).arg("-o").arg(bitcode);
    run(command)
}

/// Runs a program that prints nothing on success.
pub(crate) fn run(mut command: Command) -> Result<(), CudaBuilderError> {
    let tool = PathBuf::from(command.get_program());
    let output = command.output().map_err(|error| CudaBuilderError::Tool {
        tool: tool.clone(),
        problem: format!("cannot be run: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(CudaBuilderError::Tool {
        tool,
        problem: format!("failed: {}", String::from_utf8_lossy(&output.stderr).trim()),
    })
}

pub(crate) fn read(path: &Path) -> Result<String, CudaBuilderError> {
    std::fs::read_to_string(path).map_err(io(path))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    std::fs::write(path, text).map_err(io(path))
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), CudaBuilderError> {
    std::fs::copy(from, to).map_err(io(to))?;
    Ok(())
}

pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> CudaBuilderError {
    let path = path.to_owned();
    move |source| CudaBuilderError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dep_info_is_read_with_its_escapes() {
        let text = "/t/release/k.ptx: /a/src/lib.rs /a\\ b/src/x.rs\n\n/other: /c\n";
        assert_eq!(
            dep_info(text),
            ["/a/src/lib.rs", "/a b/src/x.rs"].map(PathBuf::from)
        );
        assert_eq!(dep_info(""), Vec::<PathBuf>::new());
    }
}
