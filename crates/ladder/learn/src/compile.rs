//! Compiles answers. Each answer is a separate crate that contains only the learner's file and a few helper modules. So
//! it compiles in seconds, and an error in one file does not affect other files.

use std::fs;
use std::path::Path;

use cuda_builder::{CudaBuilder, CudaBuilderError, LintLevel, NvvmArch};
use simt::Module;

use crate::Error;
use crate::check::AnswerError;
use crate::exercise::Exercise;

/// The modules that exercises use, and the folders of their files. [`build`] copies the files into the crate of each
/// answer.
const HELPERS: [(&str, &str); 4] = [
    ("inline", "kernels-gpu/src/pitfalls"),
    ("warp", "crates/ladder/learn/support"),
    ("wide", "crates/ladder/learn/support"),
    ("copy_async", "crates/ladder/learn/support"),
];

/// Returns the text of the root file of a crate that contains the helpers and the given modules. Each module is a name
/// and the path of a file.
#[must_use]
pub fn library<'a>(modules: impl IntoIterator<Item = (&'a str, &'a Path)>) -> String {
    let attributes = [
        "#![no_std]\n",
        "#![cfg_attr(target_arch = \"nvptx64\", feature(asm_experimental_arch))]\n",
        // `cuda_std` contains the panic handler, which every kernel needs.
        "extern crate cuda_std as _;\n",
        "#[allow(unused)] use inline::shared_address;\n",
    ];
    let helpers = HELPERS.map(|(name, _)| format!("#[macro_use] pub mod {name};\n"));
    let module = |(name, path): (&str, &Path)| format!("#[path = {:?}]\npub mod {name};\n", path.display().to_string());
    attributes.map(str::to_owned).into_iter().chain(helpers).chain(modules.into_iter().map(module)).collect()
}

/// Compiles an answer in the target folder of `repository`, which is this repository. The inner error describes an
/// error in the answer.
///
/// # Errors
/// Returns an error when the repository or a compiler for the device is missing, or when files cannot be read or
/// written.
pub fn compile(exercise: &Exercise, file: &Path, repository: &Path) -> Result<Result<Module, AnswerError>, Error> {
    let path = fs::canonicalize(file).map_err(Error::file("read", file))?;
    // The build uses the workspace's target folder, where earlier builds have compiled `core`.
    let folder = repository.join("target/learn").join(exercise.name);
    let root = library([(exercise.name, path.as_path())]);
    let built = build(repository, &folder, &root)?;
    Ok(built.map_err(|messages| AnswerError::Compiler(learner_messages(&messages, &path, file))))
}

/// Compiles a crate with this text as its root file, in this folder of the repository. The inner error contains the
/// compiler's messages.
///
/// # Errors
/// Returns the same errors as [`compile()`].
pub fn build(repository: &Path, folder: &Path, root: &str) -> Result<Result<Module, String>, Error> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let cuda_std = repository.join("crates/rust-cuda/cuda_std");
    let cuda_std = cuda_std.canonicalize().map_err(|_| Error::NoSources { repository: repository.to_owned() })?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         cuda_std = {{ path = {:?}, default-features = false }}\n\n[workspace]\n",
        cuda_std.display().to_string()
    );
    let source = folder.join("src");
    fs::create_dir_all(&source).map_err(Error::file("create", &source))?;
    // Another process may be checking an answer to the same exercise. The lock lets only one process at a time write
    // the crate, build it and read the PTX.
    let lock = folder.join("lock");
    let locked = fs::File::create(&lock).and_then(|file| file.lock().map(|()| file));
    let _locked = locked.map_err(Error::file("lock", &lock))?;
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&source.join("lib.rs"), root)?;
    for (name, support) in HELPERS {
        let from = repository.join(support).join(name).with_extension("rs");
        let text = fs::read_to_string(&from).map_err(Error::file("read", from))?;
        write(&source.join(name).with_extension("rs"), &text)?;
    }
    // The crate uses the same versions of its dependencies as the workspace does.
    let (from, lock) = (repository.join("Cargo.lock"), folder.join("Cargo.lock"));
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    if time(&lock) < time(&from) {
        fs::copy(&from, &lock).map_err(Error::file("copy", from))?;
    }
    let built = CudaBuilder::new(folder).arch(NvvmArch::Compute90).generic_accesses(LintLevel::Deny).build();
    let ptx = match built {
        Ok(path) => fs::read_to_string(&path).map_err(Error::file("read", path))?,
        Err(CudaBuilderError::BuildFailed { messages, .. }) => return Ok(Err(messages)),
        Err(CudaBuilderError::NoKernels { .. }) => {
            return Ok(Err("the file has no kernel: restore `#[kernel]` and the kernel's name".to_owned()));
        }
        Err(CudaBuilderError::Lower { source, .. }) => return Ok(Err(format!("error: {source}"))),
        Err(
            error @ (CudaBuilderError::NotInArchitecture { .. }
            | CudaBuilderError::NotInLlvm { .. }
            | CudaBuilderError::TooManyParameters { .. }
            | CudaBuilderError::TooMuchShared { .. }
            | CudaBuilderError::TooMuchConstant { .. }),
        ) => return Ok(Err(format!("error: {error}"))),
        Err(error @ CudaBuilderError::Tool { .. }) => {
            let remedy = "compiling an answer needs cargo and rustc, which rustup installs";
            return Err(Error::Compiler(format!("{error}; {remedy}")));
        }
        Err(other) => return Err(Error::Compiler(other.to_string())),
    };
    Module::from_ptx(ptx).map(Ok).map_err(|error| Error::Compiler(error.to_string()))
}

/// Writes `text` to a file unless the file already contains it. A write would change the modification time, so cargo
/// would recompile.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    match fs::read_to_string(path) {
        Ok(old) if old == text => Ok(()),
        _ => fs::write(path, text).map_err(Error::file("write", path)),
    }
}

/// Returns the compiler's messages with the file name that the learner knows, and without cargo's last line.
fn learner_messages(messages: &str, path: &Path, file: &Path) -> String {
    let lines = messages.lines().filter(|line| !line.starts_with("error: could not compile `"));
    let text = lines.collect::<Vec<_>>().join("\n");
    text.replace(&path.display().to_string(), &file.display().to_string()).trim().to_owned()
}
