//! Builds the programs.
//!
//! Parsing the toolkit's headers dominates compile time, so most programs are compiled together. Each program is in a
//! separate namespace, and `main` calls the program that its first argument names. A program with a line `// nvcc:` is
//! compiled separately with the options on that line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;
use std::{env, fs};

use locate::nvidia::{Found, Tool, find};

use crate::run;

/// The folder with the programs.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs");

/// The options for the programs that are compiled together: only PTX, for all GPUs with compute capability 8.0 and
/// newer.
const OPTIONS: &str = "-arch=compute_80 -code=compute_80";

/// A test program.
pub(crate) struct Program {
    name: String,
    text: String,
}

/// A compiled program.
pub(crate) struct Built {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// Returns the programs that have an expected output.
pub(crate) fn programs() -> Vec<Program> {
    let entries = fs::read_dir(FOLDER).expect("the folder with the programs is readable").flatten();
    let outputs =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "out"));
    let names = outputs.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let read = |name: String| Program { text: read(&format!("{name}.cu")), name };
    let mut programs: Vec<Program> = names.map(read).collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(FOLDER).join(name)).unwrap_or_else(|error| panic!("{FOLDER}/{name}: {error}"))
}

/// Returns the source of one program that contains all of these programs.
fn combined_source(programs: &[&Program]) -> String {
    let headers: std::collections::BTreeSet<&str> =
        programs.iter().flat_map(|program| program.text.lines().filter(|line| line.starts_with("#include"))).collect();
    let mut text = format!("// nvcc: {OPTIONS}\n");
    text.extend(headers.iter().map(|line| format!("{line}\n")));
    for Program { name, .. } in programs {
        text += &format!("#define main {name}\nnamespace of_{name} {{\n#include \"{name}.cu\"\n}}\n#undef main\n");
    }
    text += "#include <cstring>\nint main(int, char** arguments) {\n";
    for Program { name, .. } in programs {
        text += &format!("    if (!std::strcmp(arguments[1], \"{name}\")) return of_{name}::{name}();\n");
    }
    text + "    return 99;\n}\n"
}

/// Returns the time at which a file was last modified.
fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// The compiler `nvcc` and the folder for its output.
pub(crate) struct Compiler {
    nvcc: Found,
    folder: PathBuf,
    /// The modification time of the newest file that all programs depend on.
    newest: SystemTime,
}

impl Compiler {
    /// Finds `nvcc`. Returns `None` and prints the reason if it is not installed; in CI, a missing `nvcc` is a failure.
    pub(crate) fn find() -> Option<Self> {
        let nvcc = match find(Tool::Nvcc) {
            Ok(nvcc) => nvcc,
            Err(error) if env::var_os("CI").is_none() => {
                eprintln!("not tested: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        fs::create_dir_all(&folder).expect("cargo's folder for tests is writable");
        let sources =
            fs::read_dir(FOLDER).expect("the folder with the programs is readable").flatten().map(|entry| entry.path());
        let newest =
            sources.chain([nvcc.path.clone()]).filter_map(|file| modified(&file)).max().expect("there are files");
        Some(Self { nvcc, folder, newest })
    }

    /// Compiles programs, one per processor at a time.
    pub(crate) fn build(&self, programs: &[Program]) -> Vec<Built> {
        let options =
            |program: &Program| program.text.lines().find_map(|line| line.strip_prefix("// nvcc: ")).map(str::to_owned);
        let (mut separate, combined): (Vec<&Program>, Vec<&Program>) =
            programs.iter().partition(|program| options(program).is_some());
        let all = self.write("all", &combined_source(&combined));
        // The slowest compilations start first. A program with CUB takes as long as all the programs that are compiled
        // together.
        separate.sort_by_key(|program| !program.text.contains("<cub/"));
        let mut calls = vec![("all".to_owned(), all, OPTIONS.to_owned())];
        calls.extend(separate.iter().map(|program| {
            let source = Path::new(FOLDER).join(&program.name).with_extension("cu");
            (program.name.clone(), source, options(program).unwrap_or_default())
        }));
        let paths = run::run_in_parallel(&calls, |(name, source, options)| self.compile(name, source, options));
        let built = |program: &&Program, path: &Path, arguments| Built {
            name: program.name.clone(),
            path: path.to_owned(),
            arguments,
        };
        let combined = combined.iter().map(|program| built(program, &paths[0], vec![program.name.clone()]));
        combined
            .chain(separate.iter().zip(&paths[1..]).map(|(program, path)| built(program, path, Vec::new())))
            .collect()
    }

    /// Compiles a program from a single source text.
    pub(crate) fn compile_text(&self, name: &str, text: &str, options: &str) -> Built {
        let source = self.write(name, text);
        Built { name: name.to_owned(), path: self.compile(name, &source, options), arguments: Vec::new() }
    }

    /// Writes a source file unless it already has this text.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name).with_extension("cu");
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return path;
        }
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Compiles a file unless the program is newer than all sources. File names in the options are relative to the
    /// programs' folder.
    fn compile(&self, name: &str, source: &Path, options: &str) -> PathBuf {
        let program = self.folder.join(name);
        if modified(&program) > modified(source).max(Some(self.newest)) {
            return program;
        }
        let mut command = Command::new(&self.nvcc.path);
        // The host code does not have to be fast.
        command.args(["-Xcompiler", "-O0", "-I", FOLDER, "-o"]).arg(&program).arg(source);
        command.args(options.split(' ')).current_dir(FOLDER).stdin(Stdio::null());
        let result = command.output().unwrap_or_else(|error| panic!("{}: {error}", self.nvcc.path.display()));
        let output = String::from_utf8_lossy(&result.stdout) + String::from_utf8_lossy(&result.stderr);
        assert!(result.status.success() && output.trim().is_empty(), "nvcc reports for {name}:\n{output}");
        program
    }
}
