//! Builds the programs.
//!
//! Most of the work of a compilation are the toolkit's headers, so the programs are compiled as one: each in a namespace
//! of its own, with a `main` that calls the one that its first argument names. A program with a line `// nvcc:` is
//! compiled alone, with the options there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;
use std::{env, fs};

use locate::nvidia::{Found, Tool, find};

use crate::run;

/// The folder of the programs.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs");

/// The options of the programs that are compiled as one: nothing but PTX, for all GPUs from compute capability 8.0 on.
const OPTIONS: &str = "-arch=compute_80 -code=compute_80";

/// A program.
pub(crate) struct Program {
    name: String,
    text: String,
}

/// A program that is built.
pub(crate) struct Built {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// The programs: those with an expected output.
pub(crate) fn programs() -> Vec<Program> {
    let entries = fs::read_dir(FOLDER).expect("the folder of the programs").flatten();
    let outputs = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|own| own == "out"));
    let names = outputs.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let read = |name: String| Program { text: read(&format!("{name}.cu")), name };
    let mut programs: Vec<Program> = names.map(read).collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(FOLDER).join(name)).unwrap_or_else(|error| panic!("{FOLDER}/{name}: {error}"))
}

/// The text of a program that is all of these.
fn together(programs: &[&Program]) -> String {
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

/// When a file was written.
fn written(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// `nvcc`, and where what it makes is kept.
pub(crate) struct Compiler {
    nvcc: Found,
    folder: PathBuf,
    /// When the newest of the files was written that all programs are made of.
    newest: SystemTime,
}

impl Compiler {
    /// Looks for it; `None`, with words, on a machine that has none.
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
        fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
        let sources = fs::read_dir(FOLDER).expect("the folder of the programs").flatten().map(|entry| entry.path());
        let newest =
            sources.chain([nvcc.path.clone()]).filter_map(|file| written(&file)).max().expect("there are files");
        Some(Self { nvcc, folder, newest })
    }

    /// Builds programs, as many at a time as there are processors.
    pub(crate) fn build(&self, programs: &[Program]) -> Vec<Built> {
        let options =
            |program: &Program| program.text.lines().find_map(|line| line.strip_prefix("// nvcc: ")).map(str::to_owned);
        let (mut alone, as_one): (Vec<&Program>, Vec<&Program>) =
            programs.iter().partition(|program| options(program).is_some());
        let all = self.write("all", &together(&as_one));
        // The longest first: with CUB, one takes as long as all the programs that are compiled as one.
        alone.sort_by_key(|program| !program.text.contains("<cub/"));
        let mut calls = vec![("all".to_owned(), all, OPTIONS.to_owned())];
        calls.extend(alone.iter().map(|program| {
            let source = Path::new(FOLDER).join(&program.name).with_extension("cu");
            (program.name.clone(), source, options(program).unwrap_or_default())
        }));
        let paths = run::side_by_side(&calls, |(name, source, options)| self.compile(name, source, options));
        let built = |program: &&Program, path: &Path, arguments| Built {
            name: program.name.clone(),
            path: path.to_owned(),
            arguments,
        };
        let as_one = as_one.iter().map(|program| built(program, &paths[0], vec![program.name.clone()]));
        as_one.chain(alone.iter().zip(&paths[1..]).map(|(program, path)| built(program, path, Vec::new()))).collect()
    }

    /// Builds a program of one file.
    pub(crate) fn compile_text(&self, name: &str, text: &str, options: &str) -> Built {
        let source = self.write(name, text);
        Built { name: name.to_owned(), path: self.compile(name, &source, options), arguments: Vec::new() }
    }

    /// Writes a source, unless it is there.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name).with_extension("cu");
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return path;
        }
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Compiles a file, unless it was since the sources changed. Names of files among the options are in the programs' folder.
    fn compile(&self, name: &str, source: &Path, options: &str) -> PathBuf {
        let program = self.folder.join(name);
        if written(&program) > written(source).max(Some(self.newest)) {
            return program;
        }
        let mut command = Command::new(&self.nvcc.path);
        // The host's part need not be fast.
        command.args(["-Xcompiler", "-O0", "-I", FOLDER, "-o"]).arg(&program).arg(source);
        command.args(options.split(' ')).current_dir(FOLDER).stdin(Stdio::null());
        let done = command.output().unwrap_or_else(|error| panic!("{}: {error}", self.nvcc.path.display()));
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.trim().is_empty(), "nvcc says of {name}:\n{said}");
        program
    }
}
