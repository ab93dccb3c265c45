//! The record of what a GPU makes of the pitfalls. A fault ends the context of a GPU, and some kernels never end: each
//! is launched by a process of its own, which is this program again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use std::{process, thread};

use analysis::pitfalls::{Record, Recorded, TOOLS, measure, sanitize, version};
use clap::ValueEnum;
use engine::device::{Choice, DeviceInfo};
use engine::pitfall::{Kernel, Outcome, Pitfall, run};

use super::Arguments;
use cli::Env;
use cli::Error;
use cli::command::progress_bar;

/// How long a process may take longer than its kernel: to start, to load the kernel, and to be looked at by a tool.
const SLACK: Duration = Duration::from_secs(60);

/// Launches one kernel and prints what became of it, as JSON in a line. A kernel that takes too long ends the process.
pub(super) fn alone(
    pitfalls: &[&Pitfall],
    kernel: Kernel,
    device: Choice,
    limit: Duration,
    env: &Env<'_>,
    out: &mut dyn Write,
) -> Result<u8, Error> {
    let [pitfall] = pitfalls else {
        return Err(Error::Request("--alone launches one pitfall: name it".to_owned()));
    };
    let mut device = (env.open)(device)?;
    thread::spawn(move || {
        thread::sleep(limit);
        println!("{}", json(&Outcome::TimeOut));
        // What a process does to end in order waits for its kernels.
        process::abort();
    });
    let outcome = run(&mut *device, pitfall, kernel)?;
    writeln!(out, "{}", json(&outcome))?;
    out.flush()?;
    Ok(0)
}

fn json(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("an outcome has names and numbers")
}

/// Measures these pitfalls, puts them into the record at `path`, which need not be there yet, and returns it. It is
/// written after each pitfall.
pub(super) fn update(
    path: &Path,
    pitfalls: &[&Pitfall],
    args: &Arguments,
    limit: Duration,
    env: &Env<'_>,
) -> Result<Record, Error> {
    let mut record = if path.exists() { Record::read(path)? } else { Record::default() };
    let info = (env.open)(args.device)?.info().clone();
    record.measured = measured(&info, args.compute_sanitizer.as_deref(), env)?;
    let program = std::env::current_exe()?;
    let bar = progress_bar(pitfalls.len(), env.terminal);
    for pitfall in pitfalls {
        bar.set_message(pitfall.name);
        let own = |kernel| arguments(pitfall, kernel, args.device, limit);
        let outcome = |kernel| measure(&program, &own(kernel), limit + SLACK);
        let (faulty, cure) = (outcome(Kernel::Faulty)?, outcome(Kernel::Cure)?);
        let mut tools = match record.pitfalls.remove(pitfall.name) {
            Some(before) => before.tools,
            None => BTreeMap::new(),
        };
        for tool in TOOLS {
            if let Some(sanitizer) = &args.compute_sanitizer {
                let said = sanitize(sanitizer, tool, &program, &own(Kernel::Faulty), limit + SLACK)?;
                tools.insert(tool.to_owned(), said);
            }
        }
        record.pitfalls.insert(pitfall.name.to_owned(), Recorded { faulty, cure, tools });
        record.write(path)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(record)
}

/// The arguments with which this program launches one kernel.
fn arguments(pitfall: &Pitfall, kernel: Kernel, device: Choice, limit: Duration) -> Vec<OsString> {
    let word =
        |value: Option<clap::builder::PossibleValue>| value.map_or(String::new(), |value| value.get_name().to_owned());
    let (kernel, device) = (word(kernel.to_possible_value()), word(device.to_possible_value()));
    let limit = limit.as_secs().to_string();
    let args = ["pitfalls", pitfall.name, "--device", &device, "--alone", &kernel, "--time-limit", &limit];
    args.map(OsString::from).to_vec()
}

/// Where and when it is measured.
fn measured(info: &DeviceInfo, sanitizer: Option<&Path>, env: &Env<'_>) -> Result<Vec<String>, Error> {
    let provenance = (env.provenance)(info);
    let mut measured = vec![info.to_string(), provenance.date, provenance.toolchain];
    if let Some(sanitizer) = sanitizer {
        measured.push(version(sanitizer)?);
    }
    Ok(measured)
}
