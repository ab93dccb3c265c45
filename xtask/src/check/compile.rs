//! The compiler that cargo is given for this workspace's crates: it lints and documents what it compiles. With `cargo
//! clippy` and `cargo doc` beside `cargo test`, each crate would be read three times and all crates of others twice.
//!
//! `clippy-driver` is a complete compiler, but one that optimizes less: crates that are optimized are compiled by rustc,
//! and linted on their own.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The variable that says that lints and documents are wanted. Tests that start cargo have it unset: what was compiled
/// for the workspace serves them too, since they have the same compiler, and what they compile themselves nobody lints.
pub(super) const WANTED: &str = "XTASK_LINTS";

/// The line for a crate whose documents rustdoc does not accept begins with this. The crate's name comes behind it.
pub(super) const UNDOCUMENTED: &str = "error: could not document ";

/// Does what cargo calls a compiler for: the arguments are rustc's path and what rustc takes.
pub(super) fn unit(arguments: &[OsString]) -> ExitCode {
    match compile(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => failed,
    }
}

fn compile(arguments: &[OsString]) -> Result<(), ExitCode> {
    let (rustc, rest) = arguments.split_first().ok_or(ExitCode::FAILURE)?;
    let unit = Unit::of(rest);
    let is_wanted = std::env::var_os(WANTED).is_some() && !unit.is_a_question();
    let Some(out) = unit.value("--out-dir").filter(|_| is_wanted) else {
        return run(Command::new(rustc).args(rest));
    };
    // Beside cargo's own folders.
    let out = Path::new(out).with_file_name("checked");
    let mut clippy = tool(rustc, "clippy-driver");
    clippy.arg(rustc);
    if unit.is_optimized() {
        // First, because other crates wait for it.
        run(Command::new(rustc).args(rest).arg("--cap-lints=allow"))?;
        // Cargo is not to take what is written now for the crate.
        let own = ["--emit=metadata", "--json=diagnostic-rendered-ansi,future-incompat", "--out-dir"];
        clippy.args(unit.without(&["--emit", "--json", "--out-dir", "-C incremental"])).args(own).arg(&out);
    } else {
        clippy.args(rest);
    }
    // These are errors otherwise, which would stop the tests.
    run(clippy.arg("-Wclippy::correctness"))?;
    if unit.is_documented() {
        document(rustc, &unit);
    }
    Ok(())
}

/// Has rustdoc say what is wrong with the documents. The tests need not wait until that is mended. It writes no pages, which
/// is an option of nightly compilers only.
fn document(rustc: &OsString, unit: &Unit<'_>) {
    let name = unit.value("--crate-name").unwrap_or_default();
    let without = ["--emit", "--json", "--error-format", "--out-dir", "-C incremental", "--test"];
    let mut rustdoc = tool(rustc, "rustdoc");
    rustdoc.args(unit.without(&without)).args(["-Dwarnings", "-Zunstable-options", "--check"]);
    rustdoc.env("RUSTC_BOOTSTRAP", "1");
    if unit.value("--crate-type").is_none_or(|kind| kind == "bin") {
        // As cargo does for a program.
        rustdoc.args(["--document-private-items", "-Arustdoc::private-intra-doc-links"]);
    }
    if run(&mut rustdoc).is_err() {
        eprintln!("{UNDOCUMENTED}`{name}`");
    }
}

/// A program that is installed beside rustc.
fn tool(rustc: &OsString, name: &str) -> Command {
    Command::new(Path::new(rustc).with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Runs a compiler. It prints what it has to say itself.
fn run(command: &mut Command) -> Result<(), ExitCode> {
    match command.status().map(|status| status.success()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(ExitCode::FAILURE),
        Err(error) => {
            eprintln!("error: cannot run {}: {error}", command.get_program().display());
            Err(ExitCode::FAILURE)
        }
    }
}

/// What cargo wants compiled.
struct Unit<'a> {
    /// Rustc's options, each with its value behind a blank or `=`, and the arguments that each is.
    options: Vec<(String, &'a [OsString])>,
}

impl<'a> Unit<'a> {
    fn of(arguments: &'a [OsString]) -> Self {
        const WITH_VALUE: [&str; 8] =
            ["-C", "-L", "--cfg", "--check-cfg", "--crate-name", "--crate-type", "--extern", "--out-dir"];
        let mut options = Vec::new();
        let mut rest = arguments;
        while let [first, ..] = rest {
            let has_value = WITH_VALUE.iter().any(|option| first == option);
            let (option, behind) = rest.split_at(if has_value { 2.min(rest.len()) } else { 1 });
            let words: Vec<_> = option.iter().map(|word| word.to_string_lossy()).collect();
            options.push((words.join(" "), option));
            rest = behind;
        }
        Self { options }
    }

    /// The value of an option.
    fn value(&self, option: &str) -> Option<&str> {
        let value = |text: &'_ str| text.strip_prefix(option).map(|value| value.trim_start_matches([' ', '=']).len());
        self.options.iter().find_map(|(text, _)| value(text).map(|length| &text[text.len() - length..]))
    }

    /// The arguments without some options.
    fn without(&self, options: &[&str]) -> impl Iterator<Item = &'a OsString> {
        let left_out = |text: &str| options.iter().any(|option| text.starts_with(option));
        self.options.iter().filter(move |(text, _)| !left_out(text)).flat_map(|(_, arguments)| arguments.iter())
    }

    /// Whether cargo asks about the compiler.
    fn is_a_question(&self) -> bool {
        self.value("--crate-name").is_none_or(|name| name == "___")
    }

    fn is_optimized(&self) -> bool {
        self.value("-C opt-level").is_some_and(|level| level != "0")
    }

    /// Whether `cargo doc` takes it: a library, or a program that does not have its library's name.
    fn is_documented(&self) -> bool {
        let name = self.value("--crate-name").unwrap_or_default();
        let library = format!("--extern {name}=");
        let is_left_out = |text: &str| ["--test", "--cfg test"].contains(&text) || text.starts_with(&library);
        let is_example = self.value("--out-dir").is_some_and(|folder| Path::new(folder).ends_with("examples"));
        !is_example && name != "build_script_build" && !self.options.iter().any(|(text, _)| is_left_out(text))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::Unit;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(Into::into).collect()
    }

    #[test]
    fn cargos_arguments() {
        let line = "--crate-name host --edition=2024 host/src/lib.rs --error-format=json --json=artifacts --crate-type lib \
                    --emit=dep-info,metadata,link -C opt-level=2 -C incremental=a/b --cfg feature=\"x\" --out-dir a/deps";
        let arguments = words(line);
        let unit = Unit::of(&arguments);
        assert_eq!(unit.value("--out-dir"), Some("a/deps"));
        assert_eq!(unit.value("--emit"), Some("dep-info,metadata,link"));
        assert!(unit.is_optimized() && unit.is_documented() && !unit.is_a_question());
        let rest: Vec<_> =
            unit.without(&["--emit", "--json", "-C incremental", "--cfg", "--out-dir"]).cloned().collect();
        let expected =
            "--crate-name host --edition=2024 host/src/lib.rs --error-format=json --crate-type lib -C opt-level=2";
        assert_eq!(rest, words(expected));
    }

    #[test]
    fn tests_and_questions_are_not_documented() {
        let of = |line: &str| {
            let arguments = words(line);
            let unit = Unit::of(&arguments);
            [unit.is_optimized(), unit.is_documented(), unit.is_a_question()]
        };
        assert_eq!(of("--crate-name a --test"), [false; 3]);
        assert_eq!(of("--crate-name a --crate-type bin --out-dir target/debug/examples"), [false; 3]);
        assert_eq!(of("--crate-name a --crate-type bin --extern a=liba.rmeta --out-dir target/debug/deps"), [false; 3]);
        assert_eq!(of("--crate-name a --crate-type bin --extern b=libb.rmeta"), [false, true, false]);
        assert_eq!(of("--crate-name a --cfg test -C opt-level=0"), [false; 3]);
        assert_eq!(of("--crate-name build_script_build --crate-type bin"), [false; 3]);
        assert!(of("- --crate-name ___ --print=file-names")[2]);
        assert!(of("-vV")[2]);
    }
}
