//! Compiles CUDA C++ with the nvcc of the machine that the program runs on, once for each text, architecture and
//! compiler.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use toolkit::Tool;

use crate::error::Error;

/// The environment variable that names an nvcc.
pub const NVCC: &str = "NVCC";
/// The environment variable that names the folder for nvcc's results.
pub const CACHE: &str = "LADDER_CACHE";

/// A CUDA C++ compiler.
#[derive(Clone, Debug)]
pub struct Nvcc {
    program: PathBuf,
    version: String,
}

/// A text to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The file's name, for messages and for nvcc: `reduce.cu`.
    pub file: &'static str,
    /// The CUDA C++ in it.
    pub text: &'static str,
    /// The kind of result.
    pub product: Product,
}

/// The results that nvcc can make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Product {
    /// PTX for a virtual architecture, `compute_90`.
    Ptx(String),
    /// A shared library for a real architecture, `sm_90`, with cuBLAS.
    Library(String),
}

impl Nvcc {
    /// The nvcc that [`NVCC`] names, else the one on `PATH`, else that of `cargo xtask setup --nvidia` or of
    /// an installation in a usual place.
    ///
    /// # Errors
    /// [`Error::NoNvcc`] when no nvcc is found, and when the program that was found does not report its version.
    pub fn find() -> Result<Self, Error> {
        let named = env::var_os(NVCC).filter(|name| !name.is_empty());
        if let Some(name) = named {
            // A name without a folder is looked for as the shell would.
            let program = locate::on_path(&name)
                .into_iter()
                .next()
                .unwrap_or_else(|| name.into());
            return Self::at(program);
        }
        if let Some(program) = locate::on_path("nvcc").into_iter().next() {
            return Self::at(program);
        }
        let found = toolkit::find(Tool::Nvcc).map_err(|error| Error::NoNvcc {
            why: match error {
                toolkit::Error::Unusable { refused, .. } => refused.join("; "),
                _ => "it is nowhere to be found".to_owned(),
            },
        })?;
        Self::at(found.path)
    }

    /// This program.
    ///
    /// # Errors
    /// [`Error::NoNvcc`] when the program cannot be run or does not report its version.
    pub fn at(program: PathBuf) -> Result<Self, Error> {
        let broken = |why| Error::NoNvcc { why };
        let said = locate::output(Command::new(&program).arg("--version")).map_err(broken)?;
        // `Cuda compilation tools, release 13.0, V13.0.88`.
        let version = said
            .split_whitespace()
            .find_map(|word| word.strip_prefix('V').filter(|rest| rest.contains('.')))
            .map(str::to_owned)
            .ok_or_else(|| broken(format!("{} says no version", program.display())))?;
        Ok(Self { version, program })
    }

    /// Its version, `13.0.88`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The program itself.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Compiles all units at once, each in its own process, into `folder`. A result that exists for the same text,
    /// architecture and compiler is used again.
    pub fn compile(&self, units: &[Unit], folder: &Path) -> Vec<Result<PathBuf, Error>> {
        thread::scope(|scope| {
            let running: Vec<_> = units
                .iter()
                .map(|unit| scope.spawn(|| self.compile_one(unit, folder)))
                .collect();
            running
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .expect("compiling returns its failures and does not panic")
                })
                .collect()
        })
    }

    fn compile_one(&self, unit: &Unit, folder: &Path) -> Result<PathBuf, Error> {
        let made = folder.join(self.name(unit));
        if made.is_file() {
            return Ok(made);
        }
        let io = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| Error::Cache {
                path,
                why: error.to_string(),
            }
        };
        fs::create_dir_all(folder).map_err(io(folder))?;
        // Each run compiles in its own folder: nvcc writes its result piece by piece, and two runs may happen at the
        // same time.
        let scratch = tempfile::Builder::new()
            .prefix(".nvcc-")
            .tempdir_in(folder)
            .map_err(io(folder))?;
        let source = scratch.path().join(unit.file);
        fs::write(&source, unit.text).map_err(io(&source))?;
        let result = scratch.path().join("result");
        let output = Command::new(&self.program)
            .args(self.arguments(&unit.product))
            .arg("-o")
            .args([&result, &source])
            .args(libraries(&unit.product))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::NoNvcc {
                why: format!("cannot run {}: {error}", self.program.display()),
            })?;
        if !output.status.success() {
            let written = [&output.stderr[..], &output.stdout].concat();
            let written = String::from_utf8_lossy(&written).trim().to_owned();
            return Err(Error::Nvcc {
                file: unit.file,
                output: if written.is_empty() {
                    output.status.to_string()
                } else {
                    written
                },
            });
        }
        fs::rename(&result, &made).map_err(io(&made))?;
        Ok(made)
    }

    fn arguments(&self, product: &Product) -> Vec<OsString> {
        let common = ["-O3", "-std=c++17"].map(OsString::from);
        let mut arguments = Vec::from(common);
        match product {
            Product::Ptx(arch) => {
                arguments.extend(["-ptx".into(), format!("-arch={arch}").into()]);
            }
            Product::Library(arch) => {
                arguments.extend(
                    ["-shared", "-Xcompiler", "-fPIC"]
                        .map(OsString::from)
                        .into_iter()
                        .chain([format!("-arch={arch}").into()]),
                );
                // Where this toolkit's cuBLAS is, for the loader.
                for folder in self.library_folders() {
                    let mut path = OsString::from("-rpath=");
                    path.push(folder);
                    arguments.extend(["-Xlinker".into(), path]);
                }
            }
        }
        arguments
    }

    fn library_folders(&self) -> Vec<PathBuf> {
        let program = fs::canonicalize(&self.program).unwrap_or_else(|_| self.program.clone());
        let toolkit = program.parent().and_then(Path::parent);
        let folders = ["lib64", "lib", "targets/x86_64-linux/lib"];
        toolkit.map_or(Vec::new(), |toolkit| {
            folders
                .iter()
                .map(|folder| toolkit.join(folder))
                .filter(|folder| folder.is_dir())
                .collect()
        })
    }

    /// The file name of a unit's result. It depends on the text, the compiler, and the compiler's arguments.
    fn name(&self, unit: &Unit) -> String {
        let mut hasher = DefaultHasher::new();
        unit.text.hash(&mut hasher);
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

/// The libraries to link. They come behind the source, because a linker may leave out a library that nothing before it
/// needs.
fn libraries(product: &Product) -> &'static [&'static str] {
    match product {
        Product::Ptx(_) => &[],
        Product::Library(_) => &["-lcublas"],
    }
}

/// The folder for nvcc's results: the one that [`CACHE`] names, else one in cargo's target folder if this program is
/// in one, else one in the user's cache.
pub fn cache() -> PathBuf {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable(CACHE) {
        return folder.into();
    }
    if let Some(target) = locate::target_dir() {
        return target.join("cuda");
    }
    let user = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")));
    user.unwrap_or_else(env::temp_dir).join("ladder")
}
