//! The `versus` program, apart from its process: rungs against their twins and against NVIDIA's libraries, in
//! one process and in turn.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};
use host::cli::per_ladder::{of_ladder, options, per_ladder};
use host::cli::progress_bar;
use host::device::DeviceInfo;
use host::report::{Setting, readme};
use host::{Device, Ladder, Options};

use crate::cases::{Case, written};
use crate::contest::contest;
use crate::error::Error;
use crate::opponents::Opponents;
use crate::show::{self, Circumstances, Results};

/// Exit code where a result was wrong or something could not be measured.
const WRONG: u8 = 1;
/// Fewer rounds than this have no quartiles to speak of.
const FEWEST_RUNS: u32 = 5;

/// What the program finds around it.
pub struct Surroundings<'a> {
    /// Opens the GPU.
    pub open: &'a dyn Fn() -> Result<Box<dyn Device>, host::Error>,
    /// Finds what there is to measure against.
    pub opponents: &'a dyn Fn() -> Opponents,
    /// Whether a person reads the output on a terminal.
    pub terminal: bool,
    /// The day, and the toolchain for a device.
    pub setting: &'a dyn Fn(&DeviceInfo) -> Setting,
}

#[derive(Args, Debug)]
struct Asked {
    /// Only these rungs
    #[arg(long, num_args = 1.., value_name = "NAME")]
    rung: Vec<String>,
    /// How many rounds to take the medians of
    #[arg(long, value_name = "K", default_value_t = 31)]
    runs: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Put each ladder's tables between its markers, ladder:versus-NAME, in a file
    #[arg(long, value_name = "PATH", conflicts_with = "rung")]
    update_readme: Option<PathBuf>,
}

fn program() -> Command {
    per_ladder(
        Asked::augment_args(
            Command::new("versus")
                .version(env!("CARGO_PKG_VERSION"))
                .about(
                    "Measures rungs against the same kernels in CUDA C++ and the top rungs against CUB, \
                     cuBLAS and memcpy, in turn in one process",
                )
                .subcommand_negates_reqs(true),
        ),
        Asked::augment_args,
        |arg| arg.action(ArgAction::Set).allow_hyphen_values(true),
    )
}

/// Runs the program and gives its exit code: 0, 1 for a wrong result or what failed, 2 for what cannot be done
/// as asked.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let matches = match program().try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(error) => {
            let text = error.render();
            // A reader that went away has seen what it wanted.
            let _ = if error.use_stderr() {
                write!(err, "{}", text.ansi())
            } else {
                write!(out, "{}", text.ansi())
            };
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let command: Vec<_> = args
        .iter()
        .skip(1)
        .map(|arg| arg.to_string_lossy())
        .collect();
    let command = format!("cargo xtask versus {}", command.join(" "));
    match run(&matches, command.trim_end(), surroundings, out, err) {
        Ok(code) => code,
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            let _ = writeln!(err, "error: {error}");
            error.exit_code()
        }
    }
}

fn run(
    matches: &ArgMatches,
    command: &str,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Error> {
    let chosen = of_ladder(matches)?;
    let read = |matches| Asked::from_arg_matches(matches).map_err(|error| bad(&error));
    let asked = read(chosen.map_or(matches, |(_, matches)| matches))?;
    if asked.runs < FEWEST_RUNS {
        return Err(Error::FewRuns(asked.runs));
    }
    let cases = cases(chosen, &asked)?;
    let mut ladders: Vec<&'static Ladder> = cases.iter().map(|case| case.ladder).collect();
    ladders.dedup_by_key(|ladder| ladder.name);
    if let Some(path) = &asked.update_readme {
        for ladder in &ladders {
            readme::check(path, &marker(ladder))?;
        }
    }

    let mut device = (surroundings.open)()?;
    let bar = progress_bar(cases.len(), surroundings.terminal);
    bar.set_message("nvcc");
    bar.tick();
    let mut opponents = (surroundings.opponents)();
    let names: Vec<&str> = ladders.iter().map(|ladder| ladder.name).collect();
    opponents.prepare(&mut *device, &names, true);

    let mut contests = Vec::new();
    let mut failed = Vec::new();
    for case in &cases {
        let name = format!("{} {}", case.ladder.name, case.label);
        let result = contest(
            &mut *device,
            case,
            &asked.rung,
            &mut opponents,
            asked.runs,
            |doing| bar.set_message(format!("{name}: {doing}")),
        );
        bar.inc(1);
        match result {
            Ok(contest) => contests.push(contest),
            // Of several, one that does not fit does not stop the others.
            Err(error) if cases.len() > 1 => failed.push((name, error.to_string())),
            Err(error) => return Err(error),
        }
    }
    bar.finish_and_clear();

    let results = Results {
        circumstances: Circumstances {
            setting: (surroundings.setting)(device.info()),
            device: device.info().to_string(),
            nvcc: opponents.nvcc_version().map(str::to_owned),
            peers: opponents.peers().and_then(Result::ok).map(str::to_owned),
            runs: asked.runs,
            command: command.to_owned(),
        },
        contests,
        failed,
    };
    let text = if asked.json {
        show::json(&results) + "\n"
    } else {
        show::table(&results, surroundings.terminal)
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if !results.all_right() {
        if let Some(path) = &asked.update_readme {
            let path = path.display();
            writeln!(
                err,
                "error: {path} is left as it was: not everything is right"
            )?;
        }
        return Ok(WRONG);
    }
    if let Some(path) = &asked.update_readme {
        for ladder in ladders {
            let own: Vec<_> = results
                .contests
                .iter()
                .filter(|contest| contest.ladder.name == ladder.name)
                .collect();
            let text = show::markdown(&own, &results.circumstances);
            readme::update(path, &marker(ladder), &text)?;
        }
    }
    Ok(0)
}

/// What the markers of a ladder's tables in the README are called.
fn marker(ladder: &Ladder) -> String {
    format!("versus-{}", ladder.name)
}

/// The cases that are asked for: one where the ladder's options say which, else those that are written.
fn cases(
    chosen: Option<(&'static Ladder, &ArgMatches)>,
    asked: &Asked,
) -> Result<Vec<Case>, Error> {
    let Some((ladder, matches)) = chosen else {
        let all = written(None);
        let own = all
            .iter()
            .filter(|case| case.ladder.named(&asked.rung).is_ok());
        let own: Vec<Case> = own.cloned().collect();
        if let (true, Some(case)) = (own.is_empty(), all.first()) {
            case.ladder.named(&asked.rung)?;
        }
        return Ok(own);
    };
    ladder.named(&asked.rung)?;
    let given = options(ladder, matches);
    let own = written(Some(ladder));
    if given != Options::default() || own.is_empty() {
        return Ok(vec![Case {
            ladder,
            label: "",
            options: given,
            top: None,
        }]);
    }
    Ok(own)
}

/// clap's words for what its definitions let through and could not be.
fn bad(error: &clap::Error) -> Error {
    Error::Output(std::io::Error::other(error.to_string()))
}
