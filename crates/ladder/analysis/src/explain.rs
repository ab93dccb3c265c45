//! Records rungs for figures, by running a small problem once on the simulator.

use engine::Kernels;
use engine::device::Sim;
use engine::launch::Launch;
use engine::problem::{Problem, Verdict, buffer_bytes};
use engine::registry::{DeviceProperties, Rung};
use engine::run::Session;
use engine::selection::Selection;
use profile::{LaunchProfile, Watch};

use crate::selection::{has_sizes, shrink};
use crate::{Error, occupancy};

/// The maximum size in bytes of a problem that is drawn. The simulator runs the whole problem, which takes seconds.
const MOST_BYTES: u64 = 4 << 20;
/// The approximate size in bytes of a problem if no size is given.
const USUAL_BYTES: u64 = 256 << 10;

/// Checks that a selection's problem is small enough to be drawn, and sets sizes if none are given.
///
/// # Errors
/// Returns [`Error::Engine`] when the ladder does not support the options, and [`Error::Request`] with sizes that fit
/// when the given sizes are too large.
pub fn small_enough(selection: &mut Selection) -> Result<(), Error> {
    fit(selection, USUAL_BYTES)
}

/// Does the same as [`small_enough`], but a problem without given sizes gets about `usual_bytes` bytes.
///
/// # Errors
/// Returns the errors of [`small_enough`].
pub fn fit(selection: &mut Selection, usual_bytes: u64) -> Result<(), Error> {
    let ladder = selection.ladder;
    let problem = ladder.problem(&selection.options())?;
    let bytes = buffer_bytes(&*problem, DeviceProperties::default());
    let smaller = |most: u64| problem.smaller(most as f64 / bytes.max(1) as f64);
    if has_sizes(selection) {
        return match bytes > MOST_BYTES {
            false => Ok(()),
            true => {
                let fits =
                    smaller(MOST_BYTES).map_or(String::new(), |sizes| format!("; {} fits", sizes.command_line()));
                let size = problem.labels().size;
                let (bytes, most) = (bytes >> 20, MOST_BYTES >> 20);
                Err(Error::Request(format!(
                    "{size} is too large to draw: it needs {bytes} MiB, but the limit is {most} MiB{fits}"
                )))
            }
        };
    }
    if bytes > usual_bytes {
        shrink(selection, &*problem, usual_bytes as f64 / bytes as f64)?;
    }
    Ok(())
}

/// Runs a launch of a rung once and [records](profile::record) it. If `kernels` is given and `ptxas` is installed,
/// `ptxas` reports the registers.
///
/// # Errors
/// Returns [`Error::Request`] when there is no such block or warp, and [`Error::Engine`] when the simulator refuses the
/// launch or its kernel fails.
pub fn record(
    sim: &mut Sim,
    problem: &dyn Problem,
    rung: &Rung,
    launch: &Launch,
    mut watch: Watch,
    kernels: Option<&'static Kernels>,
) -> Result<(LaunchProfile, Verdict), Error> {
    let usage = kernels.and_then(|kernels| occupancy::usage(kernels, launch, &watch.device.arch).ok());
    watch.usage = usage.map(occupancy::counted);
    let mut session = Session::new(sim, problem, false)?;
    watch.buffers = Some(session.ranges()?);
    let mut profile = session.launch_with(rung, launch, |simulator, prepared| {
        match profile::record(simulator, prepared, watch) {
            Err(profile::Error::Launch(error)) => Err(error),
            done => Ok(done),
        }
    })??;
    // The number of values that are kept can be proportional to the bytes or, in a matrix product, to their square
    // root.
    let smaller = problem.smaller(profile.recording.flow.kept().powi(2) * 0.9);
    profile.recording.fits = smaller.map(|sizes| sizes.command_line());
    let verdict = session.verdict(rung, launch)?;
    profile.recording.exchange = session.launch_with(rung, launch, profile::figures::exchange)?;
    Ok((profile, verdict))
}
