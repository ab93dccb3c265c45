//! Tests `cargo xtask new project` as a user runs it. It writes a project outside this workspace. The project's tests
//! pass without a GPU, and fail for a wrong kernel with the line of the test. Another test runs the book's first
//! chapter in such a project, command by command.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns the project's empty folder, for one test at a time, so that the tests share compiled code.
fn project() -> (std::path::PathBuf, MutexGuard<'static, ()>) {
    static LOCK: Mutex<()> = Mutex::new(());
    let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("project/vectors");
    let _ = fs::remove_dir_all(&project);
    (project, lock)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn new_project(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(["new", "project"]).arg(folder).output().unwrap()
}

fn printed_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The options of cargo for a project, with which it reuses the third-party crates compiled for this workspace.
/// Optimizing the simulator takes much longer than these tests.
const OPTIONS: [&str; 10] = [
    "--config",
    "profile.dev.debug=false",
    "--config",
    "profile.dev.package.simt-ptx.opt-level=0",
    "--config",
    "profile.dev.package.simt-isa.opt-level=0",
    "--config",
    "profile.dev.package.ladder-driver.opt-level=0",
    "--config",
    "profile.dev.package.ladder-ptx.opt-level=0",
];

/// Runs a program in the environment of a user without a GPU.
fn run(command: &mut Command, folder: &Path) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env("SIMT_TEST_DEVICE", "sim")
        .env("LADDER_DRIVER", "sim");
    // A user does not have the variables of this test.
    for name in ["CARGO_MANIFEST_DIR", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn cargo(project: &Path, arguments: &[&str]) -> Output {
    run(Command::new(env!("CARGO")).args(arguments).args(OPTIONS), project)
}

fn test(project: &Path) -> Output {
    cargo(project, &["test", "--quiet", "--workspace"])
}

/// Returns a document's code blocks of this language, in order.
fn blocks(text: &'static str, language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    text.split(&*begin).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// Returns the kernel and the test of docs/your-kernels.md, and their imports.
fn documented() -> [&'static str; 3] {
    let blocks = blocks(include_str!("../../docs/your-kernels.md"), "rust,ignore");
    ["pub unsafe fn smooth", "use core::", "#[test]"]
        .map(|part| *blocks.iter().find(|block| block.contains(part)).unwrap())
}

/// Asserts that a command printed what the book shows, in which `…` matches any text.
fn assert_shown(output: &Output, block: &str) {
    let printed = printed_text(output);
    let mut rest = &*printed;
    for part in block.trim_end().split('…').map(|part| part.trim_matches('\n')) {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("`{part}` is not printed:\n{printed}")).1;
    }
}

/// Asserts that no published file has a path of this machine. `ladder` is a link, which Git ignores.
fn assert_no_path_of_this_machine(folder: &Path, root: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            assert_no_path_of_this_machine(&path, root);
        } else if !entry.file_type().unwrap().is_symlink() {
            assert!(!fs::read_to_string(&path).unwrap().contains(root), "{}", path.display());
        }
    }
}

#[test]
fn new_project_passes_its_tests() {
    let (project, _lock) = project();
    let made = new_project(&project);
    assert!(made.status.success(), "{}", printed_text(&made));
    let root = root();
    assert_no_path_of_this_machine(&project, root.to_str().unwrap());
    let ci = fs::read_to_string(project.join(".github/workflows/test.yml")).unwrap();
    assert!(
        ci.contains("LADDER_URL: \"\" # FILL IN") == printed_text(&made).contains("fill in LADDER_URL"),
        "{}",
        printed_text(&made)
    );
    // The versions of this workspace's dependencies, so that cargo downloads nothing.
    fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();

    let again = new_project(&project);
    assert_eq!(again.status.code(), Some(2));
    assert!(printed_text(&again).contains("is not empty"), "{}", printed_text(&again));

    let kernels = project.join("kernels/src/lib.rs");
    let written = fs::read_to_string(&kernels).unwrap();
    let [kernel, imports, test_of_kernel] = documented();
    let (before, tests) = written.split_once("#[cfg(test)]").unwrap();
    let tests = tests.trim_end().strip_suffix('}').unwrap();
    let right = format!("{before}{imports}\n{kernel}\n#[cfg(test)]{tests}\n{test_of_kernel}}}\n");
    fs::write(&kernels, &right).unwrap();
    let passed = test(&project);
    assert!(passed.status.success(), "{}", printed_text(&passed));
    assert!(printed_text(&passed).contains("2 passed"), "{}", printed_text(&passed));
    let ptx = fs::read_to_string(project.join("target/kernels.ptx")).unwrap();
    assert!(ptx.contains(".entry add(") && ptx.contains(".entry smooth("), "{ptx}");

    // Other commands compile only the project's packages.
    for arguments in [["test", "--no-run", "--package=vectors-kernels"], ["build", "--bin", "vectors"]] {
        let built = printed_text(&cargo(&project, &arguments));
        let others: Vec<_> =
            built.lines().filter(|line| line.contains("Compiling ") && !line.contains(" vectors")).collect();
        assert!(built.contains("Finished") && others.is_empty(), "{arguments:?}: {built}");
    }

    fs::write(&kernels, right.replace("a[i] + b[i]", "a[i] - b[i]")).unwrap();
    let failed = test(&project);
    let found = printed_text(&failed);
    assert!(!failed.status.success(), "{found}");
    assert!(found.contains("Error: kernels/src/lib.rs:"), "{found}");
    assert!(found.contains("sim, size 31: element 1 is 0.5, expected 1.5; 30 of 31 differ"), "{found}");
}

/// Runs each command of the book's first chapter, and compiles each of its code blocks in the files that the chapter
/// names.
#[test]
fn first_chapter_commands_work() {
    const CHAPTER: &str = include_str!("../../docs/book/src/getting-started.md");
    let consoles = blocks(CHAPTER, "console tested=xtask/tests/project.rs");
    // A backslash at the end of a line continues a command.
    let consoles = consoles.concat().replace("\\\n    ", "");
    let commands: Vec<&str> = consoles.lines().map(|line| &line[2..]).collect();
    let [install, new, first_test, broken_test, build, figure, counters, run_host] = commands[..] else {
        panic!("the chapter has other commands: {commands:?}")
    };
    let [_, kernel, test, broken, expect, main] = blocks(CHAPTER, "rust,ignore")[..] else {
        panic!("the chapter has other blocks of code")
    };
    let [passed, finding, drawn, counted, launched] = blocks(CHAPTER, "text")[..] else {
        panic!("the chapter has other outputs")
    };

    // `cargo install` would compile the program again, so cargo only prints what it would install.
    let arguments: Vec<&str> = install.strip_prefix("cargo ").unwrap().split(' ').collect();
    let mut dry = Command::new(env!("CARGO"));
    dry.args(&arguments).args(["-Zunstable-options", "--dry-run", "--offline"]).env("RUSTC_BOOTSTRAP", "1");
    assert_shown(&run(&mut dry, root()), "bin/ladder\n…");
    let built = run(Command::new(env!("CARGO")).args(["build", "--quiet", "--bin", "ladder"]), root());
    assert!(built.status.success(), "{}", printed_text(&built));

    let (project, _lock) = project();
    assert_eq!(new, "cargo xtask new project ../vectors");
    assert!(new_project(&project).status.success());
    fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let lib = project.join("kernels/src/lib.rs");
    let template = fs::read_to_string(&lib).unwrap();
    let write_kernels = |kernel: &str, test: &str| {
        let (before, tests) = template.split_once("#[cfg(test)]").unwrap();
        let tests = tests.trim_end().strip_suffix('}').unwrap();
        fs::write(&lib, format!("{before}{kernel}\n#[cfg(test)]{tests}\n{test}}}\n")).unwrap();
    };
    let typed = |command: &str| match command.strip_prefix("cargo ") {
        Some(arguments) => cargo(&project, &arguments.split(' ').collect::<Vec<_>>()),
        None => {
            let ladder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("debug/ladder");
            run(Command::new(ladder).args(command.strip_prefix("ladder ").unwrap().split(' ')), &project)
        }
    };

    write_kernels(kernel, test);
    assert_shown(&typed(first_test.strip_prefix("cd ../vectors && ").unwrap()), passed);
    write_kernels(broken, test);
    assert_shown(&typed(broken_test), finding);
    let launch = test.lines().find(|line| line.contains("device.launch")).unwrap();
    write_kernels(kernel, &test.replace(launch, expect));
    assert_shown(&typed(broken_test), passed);
    fs::write(project.join("host/src/main.rs"), main).unwrap();
    let built = typed(build);
    assert!(built.status.success(), "{}", printed_text(&built));
    assert_shown(&typed(figure), drawn);
    assert_shown(&typed(counters), counted);
    assert_shown(&typed(run_host), launched);
}

#[test]
fn invalid_package_names_are_refused() {
    for name in ["2fast", "größe", "a b"] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("project").join(name);
        let refused = new_project(&folder);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(printed_text(&refused).contains("is not a name for a project"), "{}", printed_text(&refused));
        assert!(!folder.exists());
    }
}
