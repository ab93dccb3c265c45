//! Rungs recorded for figures: a problem that is small enough, run once on the simulator.

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

/// The most bytes of a problem that is drawn. The machine runs all of it, which takes seconds.
const MOST_BYTES: u64 = 4 << 20;
/// About how many bytes a problem has for which no size is given.
const USUAL_BYTES: u64 = 256 << 10;

/// Makes sure that a selection's problem is small enough to be drawn, and gives it sizes where none are given.
///
/// # Errors
/// [`Error::Engine`] when the options are not possible, [`Error::Request`] with sizes that fit when those that are given
/// are too large.
pub fn small_enough(selection: &mut Selection) -> Result<(), Error> {
    fit(selection, USUAL_BYTES)
}

/// The same, where a problem for which no sizes are given gets about so many bytes.
///
/// # Errors
/// As those of [`small_enough`].
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
                Err(Error::Request(format!("{size} is too large to draw: {bytes} MiB, of {most} MiB at most{fits}")))
            }
        };
    }
    if bytes > usual_bytes {
        shrink(selection, &*problem, usual_bytes as f64 / bytes as f64)?;
    }
    Ok(())
}

/// Runs a launch of a rung once and [records](profile::record) it. `kernels` are asked for their registers, where there is
/// a `ptxas`.
///
/// # Errors
/// [`Error::Request`] when there is no such block or warp; [`Error::Engine`] when the simulator refuses the launch or
/// its kernel fails.
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
    // Values may grow as the bytes or, in a product of matrices, as their root.
    let smaller = problem.smaller(profile.recording.flow.kept().powi(2) * 0.9);
    profile.recording.fits = smaller.map(|sizes| sizes.command_line());
    let verdict = session.verdict(rung, launch)?;
    profile.recording.exchange = session.launch_with(rung, launch, profile::figures::exchange)?;
    Ok((profile, verdict))
}
