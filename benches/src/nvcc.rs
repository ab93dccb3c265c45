//! Compiles CUDA C++ with the installed nvcc, once for each text, architecture and compiler.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use locate::nvidia::Tool;

use crate::error::Error;

/// The environment variable that names an nvcc.
pub const NVCC: &str = "NVCC";
/// The environment variable that names the folder for nvcc's results.
pub const CACHE: &str = "LADDER_CACHE";

/// A CUDA C++ compiler.
#[derive(Clone, Debug)]
pub struct Nvcc {
    /// The path of the program.
    pub program: PathBuf,
    /// The version of the compiler, such as `13.0.88`.
    pub version: String,
}

/// A text to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The file's name, for messages and for nvcc: `reduce.cu`.
    pub file: &'static str,
    /// The CUDA C++ text.
    pub text: &'static str,
    /// The included files: their names and texts.
    pub headers: &'static [(&'static str, &'static str)],
    /// The kind of result.
    pub product: Product,
}

/// The kinds of results of nvcc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Product {
    /// PTX for a virtual architecture, `compute_90`.
    Ptx(String),
    /// A shared library for a real architecture, `sm_90`, with cuBLAS.
    Library(String),
}

impl Nvcc {
    /// Finds an nvcc: the one that [`NVCC`] names, otherwise the one on `PATH`, otherwise the one from `cargo xtask
    /// setup --nvidia` or from an installation in a usual place.
    ///
    /// # Errors
    /// Returns [`Error::Cuda`] when no nvcc is found, and when the program does not report its version.
    pub fn find() -> Result<Self, Error> {
        // Like a shell, searches `PATH` for a name without a folder.
        let on_path = |name: &OsStr| locate::on_path(name).into_iter().next();
        if let Some(name) = variable(NVCC) {
            return Self::at(on_path(&name).unwrap_or_else(|| name.into()));
        }
        if let Some(program) = on_path(OsStr::new("nvcc")) {
            return Self::at(program);
        }
        let found = locate::nvidia::find(Tool::Nvcc).map_err(|unavailable| match &unavailable.refused[..] {
            [] => Error::no_nvcc("it was not found"),
            refused => Error::no_nvcc(&refused.join("; ")),
        })?;
        Self::at(found.path)
    }

    /// Uses this program.
    ///
    /// # Errors
    /// Returns [`Error::Cuda`] when the program cannot be run or does not report its version.
    pub fn at(program: PathBuf) -> Result<Self, Error> {
        let said = locate::output(Command::new(&program).arg("--version"));
        let said = said.map_err(|why| Error::no_nvcc(&why))?;
        // `Cuda compilation tools, release 13.0, V13.0.88`.
        let version = said
            .split_whitespace()
            .find_map(|word| word.strip_prefix('V').filter(|rest| rest.contains('.')))
            .map(str::to_owned)
            .ok_or_else(|| Error::no_nvcc(&format!("{} reports no version", program.display())))?;
        Ok(Self { version, program })
    }

    /// Compiles all units at the same time into `folder`, each in a separate process. Reuses a result for the same
    /// text, architecture and compiler.
    pub fn compile(&self, units: &[Unit], folder: &Path) -> Vec<Result<PathBuf, Error>> {
        thread::scope(|scope| {
            let start = |unit| scope.spawn(move || self.compile_one(unit, folder));
            let running: Vec<_> = units.iter().map(start).collect();
            let made = running.into_iter().map(|thread| thread.join());
            made.map(|made| made.expect("compiling returns its failures and does not panic")).collect()
        })
    }

    fn compile_one(&self, unit: &Unit, folder: &Path) -> Result<PathBuf, Error> {
        let made = folder.join(self.name(unit));
        if made.is_file() {
            return Ok(made);
        }
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| Error::cache(&path, &error)
        };
        fs::create_dir_all(folder).map_err(io(folder))?;
        // Each run compiles in a separate folder: nvcc writes its result incrementally, and two runs may happen at the
        // same time.
        let scratch = tempfile::Builder::new().prefix(".nvcc-").tempdir_in(folder).map_err(io(folder))?;
        let source = scratch.path().join(unit.file);
        fs::write(&source, unit.text).map_err(io(&source))?;
        for (name, text) in unit.headers {
            let header = scratch.path().join(name);
            fs::write(&header, text).map_err(io(&header))?;
        }
        let result = scratch.path().join("result");
        let output = Command::new(&self.program)
            .args(self.arguments(&unit.product))
            .arg("-o")
            .args([&result, &source])
            .args(libraries(&unit.product))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::no_nvcc(&format!("cannot run {}: {error}", self.program.display())))?;
        if !output.status.success() {
            let written = [&output.stderr[..], &output.stdout].concat();
            let why = match String::from_utf8_lossy(&written).trim() {
                "" => output.status.to_string(),
                written => written.to_owned(),
            };
            let file = unit.file;
            return Err(Error::Cuda(format!("nvcc could not compile {file}: {why}")));
        }
        fs::rename(&result, &made).map_err(io(&made))?;
        Ok(made)
    }

    fn arguments(&self, product: &Product) -> Vec<OsString> {
        let (kind, arch, folders) = match product {
            Product::Ptx(arch) => (&["-ptx"][..], arch, Vec::new()),
            Product::Library(arch) => {
                let kind = &["-shared", "-Xcompiler", "-fPIC"];
                (&kind[..], arch, self.library_folders())
            }
        };
        let common = ["-O3", "-std=c++17"].iter().chain(kind);
        let mut arguments: Vec<OsString> = common.map(OsString::from).collect();
        arguments.push(format!("-arch={arch}").into());
        // The loader must find this toolkit's cuBLAS.
        for folder in folders {
            let mut path = OsString::from("-rpath=");
            path.push(folder);
            arguments.extend(["-Xlinker".into(), path]);
        }
        arguments
    }

    fn library_folders(&self) -> Vec<PathBuf> {
        let program = fs::canonicalize(&self.program).unwrap_or_else(|_| self.program.clone());
        let toolkit = program.parent().and_then(Path::parent);
        let folders = ["lib64", "lib", "targets/x86_64-linux/lib"];
        toolkit.map_or(Vec::new(), |toolkit| {
            folders.iter().map(|folder| toolkit.join(folder)).filter(|folder| folder.is_dir()).collect()
        })
    }

    /// Returns the file name of a unit's result. The name depends on the texts, the compiler, and the compiler's
    /// arguments.
    fn name(&self, unit: &Unit) -> String {
        let mut hasher = DefaultHasher::new();
        (unit.text, unit.headers).hash(&mut hasher);
        self.version.hash(&mut hasher);
        self.arguments(&unit.product).hash(&mut hasher);
        libraries(&unit.product).hash(&mut hasher);
        let stem = unit.file.trim_end_matches(".cu");
        let (arch, ending) = match &unit.product {
            Product::Ptx(arch) => (arch, "ptx"),
            Product::Library(arch) => (arch, "so"),
        };
        format!("{stem}-{arch}-{:016x}.{ending}", hasher.finish())
    }
}

/// Returns the libraries to link. The libraries follow the source, because a linker may omit a library that no earlier
/// argument needs.
fn libraries(product: &Product) -> &'static [&'static str] {
    match product {
        Product::Ptx(_) => &[],
        Product::Library(_) => &["-lcublas", "-lcublasLt"],
    }
}

/// Returns the value of an environment variable, if it is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the folder for nvcc's results: the folder that [`CACHE`] names, otherwise a folder in cargo's target folder
/// if this program is there, otherwise a folder in the user's cache.
pub fn cache() -> PathBuf {
    if let Some(folder) = variable(CACHE) {
        return folder.into();
    }
    if let Some(target) = locate::target_dir() {
        return target.join("cuda");
    }
    let user =
        variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")));
    user.unwrap_or_else(env::temp_dir).join("ladder")
}
