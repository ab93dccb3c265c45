//! The `agree` program, apart from its process: its arguments come in and its output goes out through parameters,
//! and so do the GPU and what it is asked with.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, FromArgMatches};

use super::cases::{Case, cases};
use super::record::{Record, Run};
use super::{AgreeError, Explain, Gpu, compare, show};
use crate::cli::profile::{all_options, arg};
use crate::cli::{self, progress_bar};
use crate::device::{Choice, Device, DeviceInfo, Sim};
use crate::error::Error;
use crate::profile::ProfileError;
use crate::profile::ncu::{self, Ncu, Runner};
use crate::profile::plan::Given;
use crate::report::{Setting, readme};
use crate::run::Plan;
use crate::size::parse_block;

/// Exit code where a difference is unexplained.
const UNEXPLAINED: u8 = 1;
/// What is said where there is no Nsight Compute: nothing but it counts on a GPU.
const NO_NCU: &str = "Nsight Compute's `ncu` is neither in PATH nor where it is usually installed; install \
                      nsight-compute (part of the CUDA toolkit) or name it with --ncu";
/// What the report's markers in a file are called.
pub const MARKER: &str = "agreement";

/// Finds what explains differences on a GPU of this compute capability, or what is missing for that.
pub type FindExplain<'a> = dyn Fn(Option<(u32, u32)>) -> Result<Box<dyn Explain>, Vec<String>> + 'a;

/// What the program finds around it.
pub struct Surroundings<'a> {
    /// Opens a device.
    pub open: &'a dyn Fn(Choice) -> Result<Box<dyn Device>, Error>,
    /// Runs Nsight Compute.
    pub runner: &'a dyn Runner,
    /// Finds what explains differences.
    pub explain: &'a FindExplain<'a>,
    /// Whether a person reads the output on a terminal.
    pub terminal: bool,
    /// The day, and the toolchain for a device.
    pub setting: &'a dyn Fn(&DeviceInfo) -> Setting,
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("record").args(["update_fixture", "from"])))]
struct Asked {
    /// Only these ladders [default: all]
    #[arg(value_name = "LADDER")]
    ladders: Vec<String>,
    /// Threads of a block, for all rungs [default: each ladder's cases]
    #[arg(long, value_parser = parse_block, allow_hyphen_values = true)]
    block: Option<[u32; 3]>,
    /// Nsight Compute's program [default: found in PATH and where it is installed]
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
    /// Put what was compared into a record, in the place of what it has of these ladders; the tests read
    /// simt/tests/fixtures/ncu/agree.json
    #[arg(long, value_name = "PATH")]
    update_fixture: Option<PathBuf>,
    /// Compare nothing, and report what is in a record
    #[arg(long, value_name = "PATH", conflicts_with_all = ["ladders", "block", "ncu", "update_fixture"])]
    from: Option<PathBuf>,
    /// Put the report of the whole record between the markers ladder:agreement:begin and ladder:agreement:end of
    /// a file: docs/agreement.md
    #[arg(long, value_name = "PATH", requires = "record")]
    update_doc: Option<PathBuf>,
}

fn program() -> clap::Command {
    let command = clap::Command::new("agree")
        .version(env!("CARGO_PKG_VERSION"))
        .about(
            "Compares what the simulator counts of every rung with what Nsight Compute counts of it on a GPU. Ends \
             with 1 where a difference is unexplained",
        );
    Asked::augment_args(command)
        .next_help_heading("What to compute, for the ladders that have it")
        .args(
            all_options()
                .into_iter()
                .map(|option| arg(option).conflicts_with("from")),
        )
}

/// Runs the program and gives its exit code: 0; 1 where a difference is unexplained or a device or tool failed;
/// 2 for what cannot be done as asked. `agree run …` is `ladder run …`: Nsight Compute is run on this very program.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|first| first == "run") {
        let surroundings = cli::Surroundings {
            open: surroundings.open,
            terminal: surroundings.terminal,
        };
        return cli::main(args, &surroundings, out, err);
    }
    let read = program()
        .try_get_matches_from(&args)
        .and_then(|matches| Ok((Asked::from_arg_matches(&matches)?, given(&matches))));
    let (asked, given) = match read {
        Ok(read) => read,
        Err(error) => return cli::not_run(&error, "cargo xtask agree --help", out, err),
    };
    let executed = run(&asked, &given, surroundings, out);
    cli::ended(executed, out, err)
}

fn given(matches: &clap::ArgMatches) -> Vec<Given> {
    let given = all_options().into_iter().filter_map(|option| {
        let text = matches.get_one::<String>(option.name)?;
        Some((option.name, text.clone()))
    });
    given.collect()
}

fn run(
    asked: &Asked,
    given: &[Given],
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
) -> Result<u8, Error> {
    // What cannot be written later is refused before minutes are spent.
    if let Some(doc) = &asked.update_doc {
        readme::check(doc, MARKER)?;
    }
    if let Some(path) = &asked.from {
        let record = Record::read(path, false)?;
        return report(&record, &record, asked, out);
    }
    let cases = cases(&asked.ladders, given, asked.block)?;
    let mut whole = match &asked.update_fixture {
        Some(path) => Record::read(path, true)?,
        None => Record::default(),
    };
    let mut shown = Record::default();
    // A ladder that was compared is kept, whatever becomes of the next.
    let measured = measure(&cases, asked.ncu.as_deref(), surroundings, |runs| {
        shown.runs.extend(runs.iter().cloned());
        whole.replace(runs);
        match &asked.update_fixture {
            Some(path) => Ok(whole.write(path)?),
            None => Ok(()),
        }
    });
    let code = match shown.runs.is_empty() {
        true => 0,
        false => report(&shown, &whole, asked, out)?,
    };
    measured?;
    Ok(code)
}

/// Shows a record, puts the whole one into the file that was asked for, and gives the exit code.
fn report(shown: &Record, whole: &Record, asked: &Asked, out: &mut dyn Write) -> Result<u8, Error> {
    if let Some(path) = &asked.update_doc {
        readme::update(path, MARKER, &show::markdown(whole))?;
    }
    write!(out, "{}", show::markdown(shown))?;
    Ok(match shown.is_explained() {
        true => 0,
        false => UNEXPLAINED,
    })
}

/// Compares the cases. `keep` takes the runs of each ladder when it is done.
fn measure(
    cases: &[Case],
    named: Option<&Path>,
    surroundings: &Surroundings<'_>,
    mut keep: impl FnMut(Vec<Run>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut plans = Vec::new();
    for case in cases {
        plans.push(case.plan(&[])?);
    }
    let (gpu, device) = gpu(named, surroundings)?;
    let mut ready = Vec::new();
    for (case, plan) in cases.iter().zip(plans) {
        ready.push(Ready::new(case, plan, &*device)?);
    }
    // It is not held while another process is profiled on it.
    drop(device);
    // Tools that do not work are told of before minutes are spent.
    if let Some((_, launch)) = ready.iter().flat_map(|one| one.plan.launches()).next() {
        gpu.changes(&launch.entry)?;
    }

    let mut sim = Sim::open_as(0, gpu.info.compute_capability)?;
    // For each rung of the simulator, and for each case of Nsight Compute and of ptxas.
    let steps = ready.iter().map(|one| one.plan.launches().len() + 2);
    let bar = progress_bar(steps.sum(), surroundings.terminal);
    for ladder in ready.chunk_by(|a, b| a.case.ladder.name == b.case.ladder.name) {
        let mut runs = Vec::new();
        for Ready {
            case,
            plan,
            left_out,
        } in ladder
        {
            let left_out = left_out.clone();
            runs.push(compare(case, plan, left_out, &gpu, &mut sim, |doing| {
                bar.set_message(doing.to_owned());
                bar.inc(1);
            })?);
        }
        keep(runs)?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// A case without what the GPU cannot run.
struct Ready<'a> {
    case: &'a Case,
    plan: Plan,
    /// What it cannot run, in words.
    left_out: Vec<String>,
}

impl<'a> Ready<'a> {
    /// # Errors
    /// [`ProfileError::Nothing`] where it can run none of it.
    fn new(case: &'a Case, plan: Plan, device: &dyn Device) -> Result<Self, Error> {
        let mut left_out = plan.left_out().to_vec();
        let mut names = Vec::new();
        for (rung, launch) in plan.launches() {
            match device.lacks(launch) {
                Some(error) => left_out.push(error.to_string()),
                None => names.push(rung.name.to_owned()),
            }
        }
        if names.is_empty() {
            let why = left_out.join("; ");
            return Err(Error::Profile(ProfileError::Nothing { why }));
        }
        let plan = match names.len() == plan.launches().len() {
            true => plan,
            false => case.plan(&names)?,
        };
        Ok(Self {
            case,
            plan,
            left_out,
        })
    }
}

/// Finds the GPU and all that it is asked with.
///
/// # Errors
/// [`AgreeError::Missing`] with everything that is missing, so that it can be mended at once.
fn gpu<'a>(
    named: Option<&Path>,
    surroundings: &Surroundings<'a>,
) -> Result<(Gpu<'a>, Box<dyn Device>), Error> {
    let mut missing = Vec::new();
    let device = match (surroundings.open)(Choice::Gpu) {
        Ok(device) => Some(device),
        Err(Error::NoGpu { what }) => {
            missing.push(format!("there is no GPU: {what}"));
            None
        }
        Err(error) => return Err(error),
    };
    let capability = device
        .as_ref()
        .map(|device| device.info().compute_capability);
    let program = ncu::find(named).map_err(|error| {
        missing.push(match error {
            ProfileError::NoNcu(_) => NO_NCU.to_owned(),
            other => other.to_string(),
        });
    });
    // Without a GPU, the tools are looked for as for the newest.
    let newest = crate::kernels_for(None).map(|ptx| ptx.capability);
    let explain = (surroundings.explain)(capability.unwrap_or(newest));
    let explain = explain.map_err(|why| missing.extend(why));
    match (device, program, explain) {
        (Some(device), Ok(program), Ok(explain)) => {
            let info = device.info().clone();
            let gpu = Gpu {
                ncu: Ncu {
                    program,
                    own: std::env::current_exe()?,
                    device: info.name.clone(),
                    runner: surroundings.runner,
                },
                explain,
                setting: (surroundings.setting)(&info),
                info,
            };
            Ok((gpu, device))
        }
        _ => Err(AgreeError::Missing { missing }.into()),
    }
}
