//! Measures the effects of the pitfalls on a GPU. A [child process](isolated) launches each kernel.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use analysis::pitfalls::{BugEffect, FIXED_ON_GPU, ON_GPU};
use engine::device::{BufferId, Choice, Device};
use engine::launch::{Arg, Code, Launch};
use indexmap::IndexMap;
use learn::{Argument, BufferState, Case};
use rung::Pitfall;

use super::sanitizer::{sanitize, version};
use super::{Arguments, MeasuredPitfalls};
use cli::Env;
use cli::Error;
use cli::command::progress_bar;
use cli::isolated::{self, Failure, Isolated};
use cli::output::Context;

/// The time that a process may take in addition to its kernel's time limit. It covers starting the process, loading the
/// kernel, and the overhead of a tool.
const SLACK: Duration = Duration::from_secs(30);

/// Launches one kernel, as a child of [`measure`], and sends the result.
pub(super) fn run_child(
    kernel: &str,
    device: Choice,
    limit: Duration,
    env: &Env<'_>,
    out: &mut dyn Write,
) -> Result<u8, Error> {
    let has_kernel = |pitfall: &&Pitfall| [pitfall.name, pitfall.fixed].contains(&kernel);
    let pitfall = env.catalog.pitfalls.iter().find(has_kernel);
    let pitfall = pitfall.ok_or_else(|| Error::Request(format!("no pitfall has a kernel `{kernel}`")))?;
    let mut device = (env.open)(device)?;
    device.set_time_limit(limit);
    let start = Instant::now();
    let outcome = match launch(&mut *device, kernel, &Case::for_bug(pitfall, kernel))? {
        BugEffect::Error { .. } if start.elapsed() >= limit => BugEffect::TimeOut,
        outcome => outcome,
    };
    isolated::send(Ok(&outcome), out)?;
    Ok(0)
}

/// Launches a kernel in a child process and returns the result.
fn measure(kernel: &str, limit: Duration, env: &Env<'_>) -> Result<BugEffect, Error> {
    let mut child = Isolated::start(isolated::command(env, &kernel)?)?;
    Ok(child.result(limit)?.unwrap_or_else(|why| match why {
        Failure::TimeOut(_) => BugEffect::TimeOut,
        Failure::Exit(says) => BugEffect::Error { says },
    }))
}

/// Launches a kernel once. The buffers have the requested size and no guard, and outputs start with the device's
/// previous memory contents. Pitfalls depend on both the missing guard and the previous contents.
///
/// # Errors
/// Returns [`Error::Engine`] when the device fails before the launch. A failing launch is not an error but a
/// [`BugEffect`].
fn launch(device: &mut dyn Device, kernel: &str, case: &Case) -> Result<BugEffect, Error> {
    let (mut args, mut buffers, mut freed, mut result) = (Vec::new(), Vec::new(), Vec::new(), None);
    for argument in &case.arguments {
        // The only number among the arguments is a null pointer.
        let Argument::Buffer { before, state, after, .. } = argument else {
            args.push(Arg::U64(0));
            continue;
        };
        let buffer: BufferId = device.alloc(before.bytes().len())?;
        if *state != BufferState::Unwritten {
            device.upload(buffer, before.bytes())?;
        }
        if *state == BufferState::Freed {
            freed.push(buffer);
            args.push(Arg::U64(device.address(buffer)?));
            continue;
        }
        if let Some(after) = after.as_ref().filter(|after| *after != before) {
            result = Some((buffer, after));
        }
        args.push(Arg::Buffer(buffers.len()));
        buffers.push(buffer);
    }
    // Free these buffers only after all others are allocated, so that no other buffer receives their memory.
    freed.into_iter().for_each(|buffer| device.free(buffer));
    let entry = kernel.to_owned();
    let (grid, block, shared_bytes) = (case.grid, case.block, case.shared_bytes);
    let launch = Launch { code: Code::Kernels, entry, grid, block, shared_bytes, args };
    // SAFETY: the kernels may fail, but they run in a process that does nothing else. The kernels can only corrupt
    // elements, which are compared afterwards. The simulator checks each address.
    if let Err(error) = unsafe { device.launch(&launch, &buffers) } {
        return Ok(BugEffect::Error {
            says: match error {
                engine::Error::Launch { reason, .. } => reason,
                other => other.to_string(),
            },
        });
    }
    let Some((buffer, after)) = result else { return Ok(BugEffect::Right) };
    let mut bytes = vec![0; after.bytes().len()];
    if let Err(error) = device.download(buffer, &mut bytes) {
        return Ok(BugEffect::Error { says: error.to_string() });
    }
    Ok(match after.like(&bytes).difference(after, 0.0) {
        None => BugEffect::Right,
        Some((_, _, elements)) => BugEffect::Wrong { elements: elements as u32, of: after.len() as u32 },
    })
}

/// Measures these pitfalls on a device.
pub(super) fn measured(
    pitfalls: &[&Pitfall],
    device: Choice,
    args: &Arguments,
    limit: Duration,
    env: &Env<'_>,
) -> Result<MeasuredPitfalls, Error> {
    let info = (env.open)(device)?.info().clone();
    let sanitizer = args.compute_sanitizer.as_deref();
    let conditions = sanitizer.map(version).transpose()?.unwrap_or_default();
    let context = Context { device: info.to_string(), conditions, provenance: (env.provenance)(&info) };
    let bar = progress_bar(pitfalls.len(), env.terminal);
    let mut of = BTreeMap::new();
    for pitfall in pitfalls {
        bar.set_message(pitfall.name);
        let outcome = |kernel| measure(kernel, limit + SLACK, env);
        let launched = [(ON_GPU, outcome(pitfall.name)?), (FIXED_ON_GPU, outcome(pitfall.fixed)?)];
        let mut values: IndexMap<_, _> = launched.map(|(heading, outcome)| (heading, outcome.to_string())).into();
        if let Some(sanitizer) = sanitizer {
            values.extend(sanitize(sanitizer, pitfall.name, limit + SLACK, env)?);
        }
        of.insert(pitfall.name.to_owned(), values);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(MeasuredPitfalls { context: Some(context), of })
}
