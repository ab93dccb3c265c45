//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::console::{Failure, Result, nearest};
use crate::sim::Run;

/// The output of `cargo xtask --help`.
pub(crate) const HELP: &str = include_str!("help.txt");

/// The commands of the program `ladder`.
const LADDER: [&str; 8] = ["list", "run", "check", "why", "ptx", "learn", "report", "devices"];

const TASKS: [&str; 13] =
    ["setup", "doctor", "test", "circles", "new", "run", "ptx", "lab", "sim", "samples", "playground", "book", "site"];

/// A parsed task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Print [`HELP`].
    Help,
    /// Install missing tools; with `nvidia`, also NVIDIA's tools.
    Setup { nvidia: bool },
    /// Report the tools of this machine.
    Doctor,
    /// Run the checks; with `all`, also the long tests.
    Test { all: bool },
    /// Run only the check for import cycles.
    Circles,
    /// Write a new rung after an existing one.
    NewRung { name: String, after: String },
    /// Write a new ladder.
    NewLadder { name: String },
    /// Write a project into this folder.
    NewProject { folder: String },
    /// Run `ladder` with these arguments.
    Ladder(Vec<OsString>),
    /// Run `lab` with these arguments.
    Lab(Vec<OsString>),
    /// Write the finished chapters of the book.
    Book,
    /// Run a program on `sim`.
    Sim(Run),
    /// Print the folder of Ladder's `libcuda.so.1`.
    SimPath,
    /// Build the playground into this folder, for users or for tests.
    Playground { folder: Option<String>, is_for_tests: bool },
    /// Build the site into this folder, for users or for tests.
    Site { folder: Option<String>, is_for_tests: bool },
    /// Run NVIDIA's samples of this checkout on `sim`.
    Samples { checkout: String },
}

/// Parses the arguments of `cargo xtask`.
///
/// # Errors
/// Returns a failure that suggests the nearest name when the task does not exist, and a failure when a task does not
/// accept an argument.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Task> {
    let mut arguments = arguments.into_iter();
    let Some(task) = arguments.next() else {
        return Ok(Task::Help);
    };
    let task = task.to_string_lossy().into_owned();
    let rest: Vec<OsString> = arguments.collect();
    if matches!(task.as_str(), "--help" | "-h" | "help") {
        return Ok(Task::Help);
    }
    match task.as_str() {
        "lab" => return Ok(Task::Lab(forwarded_arguments(rest))),
        "sim" => return sim(rest),
        "run" => return Ok(Task::Ladder(ladder(forwarded_arguments(rest)))),
        "ptx" => return Ok(Task::Ladder([task.into()].into_iter().chain(forwarded_arguments(rest)).collect())),
        _ => {}
    }
    if !TASKS.contains(&task.as_str()) {
        let help = match nearest(&task, TASKS) {
            _ if LADDER.contains(&task.as_str()) => format!("`cargo xtask run {task}` runs this command of `ladder`"),
            Some(near) => format!("did you mean `cargo xtask {near}`?"),
            None => "`cargo xtask --help` lists the tasks".to_owned(),
        };
        return Err(Failure::request(format!("there is no task `{task}`")).help(help));
    }
    let words: Vec<_> = rest.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    if words.iter().any(|word| matches!(*word, "--help" | "-h")) {
        return Ok(Task::Help);
    }
    match (task.as_str(), &words[..]) {
        ("setup", []) => Ok(Task::Setup { nvidia: false }),
        ("setup", ["--nvidia"]) => Ok(Task::Setup { nvidia: true }),
        ("doctor", []) => Ok(Task::Doctor),
        ("test", []) => Ok(Task::Test { all: false }),
        ("test", ["--all"]) => Ok(Task::Test { all: true }),
        ("circles", []) => Ok(Task::Circles),
        ("new", ["rung", name, "--after", after] | ["rung", "--after", after, name]) => {
            let [name, after] = [name, after].map(|word| (*word).to_owned());
            Ok(Task::NewRung { name, after })
        }
        ("playground" | "site", []) | ("playground" | "site", [_]) | ("playground" | "site", [_, "--for-tests"])
            if words.first().is_none_or(|folder| !folder.starts_with('-')) =>
        {
            let folder = words.first().map(|folder| (*folder).to_owned());
            let is_for_tests = words.len() == 2;
            Ok(match &*task {
                "site" => Task::Site { folder, is_for_tests },
                _ => Task::Playground { folder, is_for_tests },
            })
        }
        ("book", []) => Ok(Task::Book),
        ("samples", [checkout]) => Ok(Task::Samples { checkout: (*checkout).to_owned() }),
        ("new", ["ladder", name]) => {
            let name = (*name).to_owned();
            Ok(Task::NewLadder { name })
        }
        ("new", ["project", folder]) => Ok(Task::NewProject { folder: (*folder).to_owned() }),
        ("new", _) => Err(Failure::request(format!("`cargo xtask new` does not take `{}`", words.join(" "))).help(
            "`new rung NAME --after RUNG` writes a rung, `new ladder NAME` a ladder, `new project PATH` a project",
        )),
        _ => Err(Failure::request(format!("`cargo xtask {task}` does not take `{}`", words.join(" ")))
            .help("`cargo xtask --help` lists the arguments of each task")),
    }
}

/// Parses the arguments of `sim`: its options come before the program, and the program's arguments follow it.
fn sim(rest: Vec<OsString>) -> Result<Task> {
    let mut run = Run::default();
    let mut words = rest.into_iter().peekable();
    while let Some(option) = words.next_if(|word| word.to_string_lossy().starts_with('-')) {
        let option = option.to_string_lossy().into_owned();
        match option.as_str() {
            "--help" | "-h" => return Ok(Task::Help),
            "--print-path" if words.peek().is_none() => return Ok(Task::SimPath),
            "--profile" | "--profile-every" | "--sanitize" | "--sanitize-exit" | "--schedules" => {
                let value = words.next().ok_or_else(|| Failure::request(format!("`{option}` needs a value")))?;
                let before = match option.as_str() {
                    "--profile" => run.profile.replace(value.into()).map(PathBuf::into_os_string),
                    "--profile-every" => run.profile_every.replace(value),
                    "--sanitize" => run.sanitize.replace(value),
                    "--schedules" => run.schedules.replace(value),
                    _ => run.sanitize_exit.replace(value),
                };
                if before.is_some() {
                    return Err(Failure::request(format!("`{option}` is given twice")).help("give it once"));
                }
            }
            "--" => break,
            _ => {
                return Err(Failure::request(format!("`cargo xtask sim` does not take `{option}`"))
                    .help("`sim -- PROGRAM ...` runs a program, `sim --print-path` prints the library's folder"));
            }
        }
    }
    run.program = words.collect();
    if run.program.is_empty() {
        return Err(Failure::request("`cargo xtask sim` needs a program").help("run `cargo xtask sim -- PROGRAM ...`"));
    }
    if run.profile.is_none() && run.profile_every.is_some() {
        return Err(Failure::request("`--profile-every` needs `--profile`").help("add `--profile report.html`"));
    }
    let code = run.sanitize_exit.as_ref().map(|code| code.to_string_lossy());
    for (option, is_given) in [("--sanitize-exit", code.is_some()), ("--schedules", run.schedules.is_some())] {
        if is_given && run.sanitize.is_none() {
            return Err(Failure::request(format!("`{option}` needs `--sanitize`")).help("add `--sanitize all`"));
        }
    }
    if let Some(code) = code.filter(|code| !matches!(code.parse(), Ok(1..=u8::MAX))) {
        return Err(Failure::request(format!("`--sanitize-exit` does not take `{code}`"))
            .help("give the exit code of a program with findings, from 1 to 255"));
    }
    Ok(Task::Sim(run))
}

/// Returns the arguments for another program, without a leading `--`.
fn forwarded_arguments(mut rest: Vec<OsString>) -> Vec<OsString> {
    if rest.first().is_some_and(|first| first == "--") {
        rest.remove(0);
    }
    rest
}

/// Returns the arguments for `ladder`. Arguments that begin with a command stay unchanged. Without a command, `ladder`
/// runs the named ladder or rung, or the reduction if none is named.
fn ladder(words: Vec<OsString>) -> Vec<OsString> {
    let first = words.first().map(|first| first.to_string_lossy());
    let before: &[&str] = match first.as_deref() {
        Some("--help" | "-h" | "--version" | "-V") => &[],
        Some(first) if LADDER.contains(&first) => &[],
        Some(first) if !first.starts_with('-') => &["run"],
        _ => &["run", "reduce"],
    };
    before.iter().map(OsString::from).chain(words).collect()
}

#[cfg(test)]
mod tests {
    use super::{LADDER, TASKS, Task, parse};
    use crate::console::Result;
    use crate::sim::Run;

    fn parsed(line: &str) -> Result<Task> {
        parse(line.split_whitespace().map(Into::into))
    }

    fn ladder(line: &str) -> Result<Task> {
        Ok(Task::Ladder(line.split(' ').map(Into::into).collect()))
    }

    #[test]
    fn run_forwards_all_arguments() {
        assert_eq!(parsed("run"), ladder("run reduce"));
        assert_eq!(parsed("run -- --n 2^20"), ladder("run reduce --n 2^20"));
        assert_eq!(parsed("run --n 2^20"), ladder("run reduce --n 2^20"));
        let line = "run transpose --rows 33 --device sim --json";
        assert_eq!(parsed(line), ladder(line));
    }

    #[test]
    fn run_and_lab_forward_commands() {
        for words in ["why transpose_smem", "learn hint guard", "run reduce --help", "--help", "list"] {
            assert_eq!(parsed(&format!("run {words}")), ladder(words));
        }
        for line in ["ptx", "ptx --diff a b"] {
            assert_eq!(parsed(line), ladder(line));
        }
        let versus = ["versus", "reduce", "--json"].map(Into::into).to_vec();
        assert_eq!(parsed("lab versus reduce --json"), Ok(Task::Lab(versus)));
        let why = parsed("why transpose").expect_err("it is a command of ladder");
        assert_eq!(why.help.as_deref(), Some("`cargo xtask run why` runs this command of `ladder`"));
    }

    #[test]
    fn sim_forwards_program_arguments() {
        let program = |program: &str| Run { program: vec![program.into()], ..Run::default() };
        let run =
            |words: &[&str]| Ok(Task::Sim(Run { program: words.iter().map(Into::into).collect(), ..Run::default() }));
        assert_eq!(parsed("sim ./program"), run(&["./program"]));
        assert_eq!(parsed("sim -- ./program -x -- --help"), run(&["./program", "-x", "--", "--help"]));
        assert_eq!(parsed("sim ./program --print-path"), run(&["./program", "--print-path"]));
        assert_eq!(parsed("sim -- --print-path"), run(&["--print-path"]));
        let profile = Run { profile: Some("a.html".into()), profile_every: Some("9".into()), ..program("./a") };
        assert_eq!(parsed("sim --profile a.html --profile-every 9 -- ./a"), Ok(Task::Sim(profile)));
        let sanitize = Run { sanitize: Some("race".into()), sanitize_exit: Some("7".into()), ..program("./a") };
        assert_eq!(parsed("sim --sanitize race --sanitize-exit 7 -- ./a"), Ok(Task::Sim(sanitize)));
        assert_eq!(parsed("sim --print-path"), Ok(Task::SimPath));
        assert_eq!(parsed("sim --help"), Ok(Task::Help));
        for line in [
            "sim",
            "sim --",
            "sim --print-path program",
            "sim --device h100 program",
            "sim --profile",
            "sim --profile-every 9 a",
            "sim --sanitize",
            "sim --sanitize-exit 1 a",
            "sim --schedules 10 a",
            "sim --sanitize all --sanitize-exit 0 a",
            "sim --sanitize all --sanitize-exit 256 a",
            "sim --sanitize all --sanitize race a",
        ] {
            assert_eq!(parsed(line).expect_err("`sim` does not accept these arguments").code, 2, "{line}");
        }
        let checkout = "../cuda-samples".to_owned();
        assert_eq!(parsed("samples ../cuda-samples"), Ok(Task::Samples { checkout }));
        assert_eq!(parsed("samples").expect_err("`samples` needs a folder").code, 2);
    }

    #[test]
    fn repository_tasks() {
        assert_eq!(parsed(""), Ok(Task::Help));
        assert_eq!(parsed("help"), Ok(Task::Help));
        assert_eq!(parsed("test --help"), Ok(Task::Help));
        assert_eq!(parsed("setup"), Ok(Task::Setup { nvidia: false }));
        assert_eq!(parsed("setup --nvidia"), Ok(Task::Setup { nvidia: true }));
        assert_eq!(parsed("doctor"), Ok(Task::Doctor));
        assert_eq!(parsed("test"), Ok(Task::Test { all: false }));
        assert_eq!(parsed("test --all"), Ok(Task::Test { all: true }));
        assert_eq!(parsed("circles"), Ok(Task::Circles));
        assert_eq!(parsed("playground"), Ok(Task::Playground { folder: None, is_for_tests: false }));
        let folder = Some("a/b".to_owned());
        assert_eq!(parsed("playground a/b"), Ok(Task::Playground { folder: folder.clone(), is_for_tests: false }));
        assert_eq!(parsed("playground a/b --for-tests"), Ok(Task::Playground { folder, is_for_tests: true }));
        assert_eq!(parsed("book"), Ok(Task::Book));
        assert_eq!(parsed("site"), Ok(Task::Site { folder: None, is_for_tests: false }));
        let folder = Some("pages".to_owned());
        assert_eq!(parsed("site pages"), Ok(Task::Site { folder, is_for_tests: false }));
        let name = "a".to_owned();
        assert_eq!(parsed("new ladder a"), Ok(Task::NewLadder { name }));
        let (name, after) = ("a".to_owned(), "b".to_owned());
        assert_eq!(parsed("new rung a --after b"), Ok(Task::NewRung { name, after }));
    }

    #[test]
    fn unknown_tasks_suggest_the_nearest_name() {
        let error = parsed("rnu").expect_err("there is no such task");
        assert_eq!(error.code, 2);
        assert_eq!(error.help.as_deref(), Some("did you mean `cargo xtask run`?"));
        for line in [
            "setup --nvida",
            "doctor now",
            "test reduce",
            "new rung a",
            "new",
            "playground --serve",
            "playground a --serve",
            "site --for-tests",
            "book pages",
        ] {
            let error = parsed(line).expect_err("the task does not accept these arguments");
            assert_eq!(error.code, 2, "{line}");
            assert!(error.message.contains("does not take"), "{line}");
        }
    }

    #[test]
    fn help_names_every_task() {
        for task in TASKS.into_iter().chain(LADDER) {
            assert!(super::HELP.contains(task), "{task}");
        }
    }
}
