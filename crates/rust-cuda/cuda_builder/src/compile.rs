//! Runs cargo and rustc in a device build.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arch::NvvmArch;
use crate::builder::CudaBuilder;
use crate::error::CudaBuilderError;
use crate::first_build;
use crate::lock;
use crate::toolchain::{DeviceToolchain, LLVM_OVERRIDE, RUSTC_OVERRIDE, TARGET};

/// The paths of a build's files.
pub(crate) struct Paths {
    target_dir: PathBuf,
    pub(crate) raw: PathBuf,
    /// The folder for the crate's codegen units and for the library members that they use.
    pub(crate) units: PathBuf,
    pub(crate) parts: PathBuf,
    pub(crate) optimized: PathBuf,
    pub(crate) ptx: PathBuf,
}

impl Paths {
    pub(crate) fn of(builder: &CudaBuilder) -> Result<Self, CudaBuilderError> {
        let krate = builder.path_to_crate();
        let krate = krate.canonicalize().map_err(io(krate))?;
        let name = krate.file_name().unwrap_or_default();
        let name = name.to_string_lossy().replace('-', "_");
        let profile = if builder.release { "release" } else { "debug" };
        // cargo locks a target folder while it builds, so concurrent builds for several architectures need separate
        // folders.
        let folder = target_dir(&krate).join(format!("{}-{profile}", builder.arch.sm()));
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        Ok(Self {
            raw: folder.join(format!("{name}.rustc.ll")),
            units: folder.join(format!("{name}.units")),
            parts: folder.join(format!("{name}.parts")),
            optimized: folder.join(format!("{name}.ll")),
            ptx: folder.join(format!("{name}.ptx")),
            target_dir: folder,
        })
    }

    /// Returns the libraries (`.rlib`) that the crate of this name was compiled with.
    pub(crate) fn libraries(&self, krate: &str) -> Result<Vec<PathBuf>, CudaBuilderError> {
        let list = self.target_dir.join(TARGET).join(PROFILE).join("deps").join(format!("{krate}.d"));
        let files = dep_info(&read(&list)?);
        Ok(files.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rlib")).collect())
    }
}

/// Returns a folder for the workspace below the target folder, because the outer cargo locks the target folder. Two
/// copies of a workspace can share one target folder, but must not share this folder: cargo would confuse their crates.
fn target_dir(krate: &Path) -> PathBuf {
    // The outermost Cargo.lock belongs to the workspace.
    let locks = krate.ancestors().filter(|folder| folder.join("Cargo.lock").is_file());
    let root = locks.last().unwrap_or(krate);
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let target = variable("CARGO_TARGET_DIR").filter(|target| target.is_absolute());
    let target = target.or_else(|| target_dir_of(&variable("OUT_DIR")?, &variable("TARGET").unwrap_or_default()));
    let target = target.unwrap_or_else(|| root.join("target"));
    target.join("cuda-builder").join(hash(root))
}

/// Returns the target folder for a build script's `OUT_DIR`. All profiles, and all targets of the program that the
/// script belongs to, share this folder. The script's folder is target/PROFILE/build/PACKAGE/out, or
/// target/TARGET/PROFILE/build/PACKAGE/out if cargo was given a target.
fn target_dir_of(out_dir: &Path, target: &Path) -> Option<PathBuf> {
    let folder = out_dir.ancestors().nth(4)?;
    match folder.file_name() == Some(target.as_os_str()) {
        true => folder.parent(),
        false => Some(folder),
    }
    .map(Path::to_owned)
}

/// Returns whether this process runs as a build script. cargo also sets the first two variables for programs that it
/// runs.
fn in_build_script() -> bool {
    ["OUT_DIR", "CARGO_MANIFEST_DIR", "NUM_JOBS"].iter().all(|name| std::env::var_os(name).is_some())
}

/// Shows a build warning.
pub(crate) fn warn(text: &str) {
    match in_build_script() {
        true => text.lines().for_each(|line| println!("cargo::warning={line}")),
        false => eprintln!("warning: {text}"),
    }
}

/// Tells cargo which variables a build depends on.
pub(crate) fn watch_environment() {
    if in_build_script() {
        println!("cargo::rerun-if-env-changed={RUSTC_OVERRIDE}");
        println!("cargo::rerun-if-env-changed={LLVM_OVERRIDE}");
    }
}

/// If the same condition appears before and after a barrier, this rustc pass copies the barrier into both branches of
/// the first condition. Threads of one block then wait at two different barriers. Unlike LLVM's passes, this pass does
/// not know about convergent calls, which threads must execute together.
const NO_JUMP_THREADING: &str = "-Zmir-enable-passes=-JumpThreading";

/// Cargo's profile for device code, which inherits from `release` or `dev`. It is also the name of the folder of
/// compiled files, because cargo would attribute the files in a folder of another name to another profile.
const PROFILE: &str = "gpu";

/// The form in which rustc compiles the crate. rustc does not link, because it would run a system-dependent linker.
/// This crate reads the bitcode itself.
#[derive(Clone, Copy)]
pub(crate) enum Output {
    /// Many codegen units, in the folder of units. Libraries stay unchanged.
    Units,
    /// One module that contains the crate and its libraries. In this form, link-time optimization only joins them.
    Module,
}

/// Runs cargo, which runs rustc on the crate and on all changed dependencies.
pub(crate) fn run_cargo(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    paths: &Paths,
    output: Output,
) -> Result<(), CudaBuilderError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(&cargo);
    clear_outer_cargo(&mut command);
    let inherited = if builder.release { "release" } else { "dev" };
    let set = |setting: &str| ["--config".to_owned(), format!("profile.{PROFILE}.{setting}")];
    command
        .args(["rustc", "--quiet", "--manifest-path"])
        .arg(builder.path_to_crate().join("Cargo.toml"))
        .args(["--lib", "--crate-type=cdylib", "--target", TARGET, "--profile", PROFILE])
        .args(set(&format!("inherits={inherited:?}")))
        .arg("--target-dir")
        .arg(&paths.target_dir)
        // Allow the dependencies to be linked in either form.
        .args(set("lto=\"fat\""))
        .args(set("codegen-units=1"))
        .args(set("panic=\"abort\""))
        // The line table setting of the host's profile does not apply to device code.
        .args(set("debug=false"))
        .arg("-Zprofile-rustflags")
        .args(set(&format!("rustflags={:?}", rustc_flags(builder.arch))))
        .args(&builder.build_args)
        .env("RUSTC", &toolchain.rustc.path)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CUDA_ARCH", format!("{}0", builder.arch.capability()));
    command.arg("-Zbuild-std=core,alloc");
    // These crates do not synchronize threads, so jump threading is safe. Without it, their iterators are slower than
    // loops.
    for name in ["core", "alloc"] {
        command.args(set(&format!("package.{name}.rustflags=[]")));
    }
    // These settings are the same in both profiles, so that the profiles share compiled crates.
    command.args(set("incremental=false"));
    let packages = ["core", "alloc", "compiler_builtins"].map(|name| (format!("package.{name}"), 3));
    for (which, level) in packages.into_iter().chain([("build-override".to_owned(), 0)]) {
        for setting in [&*format!("opt-level={level}"), "debug-assertions=false", "overflow-checks=false"] {
            command.args(set(&format!("{which}.{setting}")));
        }
    }
    command.arg("--").arg(joined("--emit=llvm-ir=", &paths.raw)).args([
        // `#[kernel]` expands to this entry-point ABI. The crate that uses `#[kernel]` need not enable the feature
        // itself.
        "-Zcrate-attr=feature(abi_ptx)",
        // The target has no `std`, and upstream's crates do not declare `no_std`.
        "-Zcrate-attr=no_std",
        "-Cno-prepopulate-passes",
    ]);
    command.arg(format!("-Ctarget-cpu={}", builder.arch.sm()));
    if builder.line_info() {
        command.arg("-Cdebuginfo=line-directives-only");
    }
    if builder.release {
        // `incremental` would disable this pass.
        command.arg("-Zinline-mir=yes");
    }
    command.arg("-Zno-link").arg(joined("-Ztemps-dir=", &paths.units));
    if let Output::Units = output {
        command
            // The last option adds the libraries to rustc's list of a crate's sources.
            .args(["-Clto=off", "-Ccodegen-units=256", "-Zbinary-dep-depinfo"])
            .arg(joined("-Cincremental=", paths.target_dir.join("incremental")));
    }
    let first = first_build::copy_or_wait(&paths.target_dir, PROFILE).map_err(io(&paths.target_dir))?;
    let output = command.output();
    drop(first);
    let output = output.map_err(|error| CudaBuilderError::Tool {
        tool: PathBuf::from(cargo),
        problem: format!("cannot be run: {error}"),
    })?;
    if !output.status.success() {
        // If the crate does not compile, it must be compiled again when its source changes.
        watch_folder(builder.path_to_crate());
        let messages = errors(&String::from_utf8_lossy(&output.stderr));
        let krate = builder.path_to_crate().to_owned();
        return Err(match lock::unusable_cuda_std(&krate) {
            Some(found) => CudaBuilderError::UnusableCudaStd { krate, found },
            None => CudaBuilderError::BuildFailed { krate, messages },
        });
    }
    watch_sources(builder, paths);
    Ok(())
}

/// Returns rustc's flags for the crate and all its dependencies except the standard library.
fn rustc_flags(arch: NvvmArch) -> Vec<String> {
    // Upstream's feature names, such as `compute_80`. rustc accepts only names such as `sm_80` in `-Ctarget-feature`,
    // so upstream's names are passed as `--cfg`.
    let features = arch.features().flat_map(|feature| ["--cfg".to_owned(), format!("target_feature=\"{feature}\"")]);
    let known: Vec<String> = NvvmArch::all().map(|arch| format!("\"{arch}\"")).collect();
    let known = format!("--check-cfg=cfg(target_feature,values({}))", known.join(","));
    [NO_JUMP_THREADING, "-Aexplicit-builtin-cfgs-in-flags", &known]
        .map(str::to_owned)
        .into_iter()
        .chain(features)
        .collect()
}

/// Returns rustc's messages without the warnings, which would hide the errors.
fn errors(messages: &str) -> String {
    let mut is_warning = false;
    let mut errors = String::new();
    for line in messages.lines() {
        if line.starts_with("error") || line.starts_with("warning") {
            is_warning = line.starts_with("warning");
        }
        if !is_warning {
            errors = errors + line + "\n";
        }
    }
    errors.trim().to_owned()
}

/// Removes the variables that the outer cargo sets for build scripts, because they would mislead the inner cargo.
fn clear_outer_cargo(command: &mut Command) {
    const KEPT: [&str; 4] = ["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_TERM_COLOR", "CARGO_NET_OFFLINE"];
    const OTHERS: [&str; 6] = ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC", "OUT_DIR", "TARGET"];
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

/// Reports every source file of the crate to cargo, from the list that the inner cargo wrote.
fn watch_sources(builder: &CudaBuilder, paths: &Paths) {
    if !in_build_script() {
        return;
    }
    // Builds of other crates share the folder. The crate's list is the one that contains its sources.
    let krate = builder.path_to_crate().canonicalize().unwrap_or_default();
    let mut sources: Vec<PathBuf> = std::fs::read_dir(paths.target_dir.join(TARGET).join(PROFILE))
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
    // The list also contains the compiled files of other crates.
    let compiled = ["rlib", "rmeta", std::env::consts::DLL_EXTENSION].map(OsStr::new);
    for source in sources.iter().filter(|path| !path.extension().is_some_and(|ending| compiled.contains(&ending))) {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    println!("cargo::rerun-if-changed={}", builder.path_to_crate().join("Cargo.toml").display());
}

fn watch_folder(folder: &Path) {
    if in_build_script() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}

/// Returns the files after the colon of a `.d` file. A backslash escapes a space; before other characters it is a
/// literal backslash.
fn dep_info(text: &str) -> Vec<PathBuf> {
    let Some((_, files)) = text.lines().next().unwrap_or_default().split_once(": ") else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    let mut path = String::new();
    let mut characters = files.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&' ') => path.extend(characters.next()),
            ' ' => paths.push(std::mem::take(&mut path)),
            c => path.push(c),
        }
    }
    paths.push(path);
    paths.into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

/// Joins two strings: an option and a path, or a path and a file extension.
pub(crate) fn joined(start: impl AsRef<OsStr>, end: impl AsRef<OsStr>) -> OsString {
    let mut joined = start.as_ref().to_owned();
    joined.push(end);
    joined
}

/// Runs a program that prints nothing on success.
pub(crate) fn run(mut command: Command) -> Result<(), CudaBuilderError> {
    let tool = PathBuf::from(command.get_program());
    let output = command
        .output()
        .map_err(|error| CudaBuilderError::Tool { tool: tool.clone(), problem: format!("cannot be run: {error}") })?;
    if output.status.success() {
        return Ok(());
    }
    Err(CudaBuilderError::Tool { tool, problem: format!("failed: {}", String::from_utf8_lossy(&output.stderr).trim()) })
}

pub(crate) fn read(path: &Path) -> Result<String, CudaBuilderError> {
    std::fs::read_to_string(path).map_err(io(path))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    std::fs::write(path, text).map_err(io(path))
}

/// Returns a folder name for the data that belongs to `value`.
pub(crate) fn hash(value: impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> CudaBuilderError {
    let path = path.to_owned();
    move |source| CudaBuilderError::Io { path, source }
}

#[cfg(test)]
mod tests;
