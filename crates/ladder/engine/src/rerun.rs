//! Reruns a launch that failed on a GPU. The rerun uses the simulator's sanitizers to find the cause and the source
//! line.

use crate::catalog::Kernels;
use crate::device::{Checks, Device, Finding, Sim};
use crate::error::Error;
use crate::options::Options;
use crate::problem::{Problem, Verdict, buffer_bytes};
use crate::registry::{DeviceProperties, Ladder, Rung};
use crate::session::Session;

/// The maximum size of the data of a problem that is rerun. The sanitizers run on one thread and take seconds for this
/// size.
const MOST_BYTES: u64 = 1 << 20;

/// The maximum number of warp instructions. A kernel that never ends on a GPU does not end on the simulator either.
const MOST_INSTRUCTIONS: u64 = 1 << 25;

/// Runs a launch with the given block size on the simulator, with all sanitizers. If the problem has too much data, a
/// smaller problem is used. The simulator imitates a device with the properties of the device on which the launch
/// failed. Returns the findings and the notes.
pub fn on_sim(
    kernels: &'static Kernels,
    ladder: &'static Ladder,
    options: &Options,
    (rung, block): (&Rung, [u32; 3]),
    device: DeviceProperties,
) -> (Vec<Finding>, Vec<String>) {
    run(kernels, ladder, options, (rung, block), device)
        .unwrap_or_else(|why| (Vec::new(), vec![format!("not run again on sim: {why}")]))
}

fn run(
    kernels: &'static Kernels,
    ladder: &'static Ladder,
    options: &Options,
    (rung, block): (&Rung, [u32; 3]),
    device: DeviceProperties,
) -> Result<(Vec<Finding>, Vec<String>), Error> {
    let problem = small(ladder, options, device)?;
    let launch = ladder.launch(rung, &*problem, Some(block), device)?;
    let mut sim = Sim::open_like(kernels, 0, None, device)?;
    sim.limit_instructions(MOST_INSTRUCTIONS);
    sim.set_checks(Checks::ALL);
    let mut session = Session::new(&mut sim, &*problem, false)?;
    let verdict = session.attempt(rung, &launch)?.verdict;
    let (findings, mut notes) = (session.take_findings(), session.take_notes());
    let size = problem.labels().size;
    notes.push(match (&verdict, findings.is_empty()) {
        (_, false) => format!("run again on sim with {size}: the sanitizers report the following findings"),
        (Verdict::Wrong(why), true) => format!("run again on sim with {size}: {why}"),
        (Verdict::Right, true) => {
            format!("run again on sim with {size}: right, without findings; use compute-sanitizer on the GPU")
        }
    });
    Ok((findings, notes))
}

/// Returns the problem, or a problem of the same kind with little data.
fn small(ladder: &'static Ladder, options: &Options, device: DeviceProperties) -> Result<Box<dyn Problem>, Error> {
    let problem = ladder.problem(options)?;
    let buffer_size = buffer_bytes(&*problem, device);
    if buffer_size <= MOST_BYTES {
        return Ok(problem);
    }
    let small = problem
        .smaller(MOST_BYTES as f64 / buffer_size as f64)
        .map(|sizes| ladder.problem(&options.clone().with_all(&sizes)));
    match small.transpose()?.filter(|small| buffer_bytes(&**small, device) <= MOST_BYTES) {
        Some(small) => Ok(small),
        None => Err(Error::BadValue(format!("{} needs too much memory", problem.labels().size))),
    }
}
