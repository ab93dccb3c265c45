//! Runs the launches of `ladder run` and `ladder check`, either on a device of this process or, for a GPU, in child
//! processes.

use std::io::stdout;
use std::time::Duration;
use std::{iter, mem};

use clap::Args;
use engine::Device;
use engine::run::Step;
use serde::{Deserialize, Serialize};
use simt::run::is_interrupted;

use crate::command::Env;
use crate::error::Error;
use crate::isolated::{self, Isolated};

/// The maximum time between two results of a child, as a multiple of a launch's time limit. This time is longer than a
/// launch's time limit because a child also works on the host.
const SILENCE: u32 = 15;

/// The time limit of a launch.
#[derive(Args, Clone, Copy, Debug)]
pub struct LaunchLimit {
    /// The time limit of a launch on a GPU
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
}

impl LaunchLimit {
    /// Returns the time limit of a launch.
    pub fn time_limit(self) -> Duration {
        Duration::from_secs(self.time_limit)
    }
}

/// The arguments of commands that launch on a GPU.
#[derive(Args, Debug)]
pub(crate) struct ProcessArguments {
    #[command(flatten)]
    limit: LaunchLimit,
    /// Launch on a GPU in this process, for tools that observe only one process. No launch runs after a failed launch
    #[arg(long)]
    one_process: bool,
}

impl ProcessArguments {
    /// Returns the time limit of a launch.
    pub(crate) fn time_limit(&self) -> Duration {
        self.limit.time_limit()
    }

    /// Creates the launcher. If children will use the GPU, this process closes it.
    ///
    /// # Errors
    /// Returns an error when this process is a child with a request of another kind.
    pub(crate) fn launcher<'e>(&self, env: &'e Env<'e>, device: Box<dyn Device>) -> Result<Launcher<'e>, Error> {
        let request = isolated::request(env)?;
        let is_child = request.is_some();
        let is_isolated = device.info().kind == "gpu" && env.command.is_some() && !self.one_process && !is_child;
        let runner = match is_isolated {
            true => Runner::Children(Children { env, silence: self.time_limit() * SILENCE, child: None }),
            false => Runner::Device { device, is_usable: true, is_child },
        };
        Ok(Launcher { runner, next: request.unwrap_or_default() })
    }
}

/// The position of a launch in a command.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct LaunchPlace {
    /// The number of the problem within the command.
    problem: usize,
    /// The number of the launch within the problem.
    launch: usize,
}

/// Runs the launches that the command requests, problem by problem. A child runs the same command and therefore
/// requests the same problems.
pub(crate) struct Launcher<'e> {
    runner: Runner<'e>,
    /// In a parent, the position of the next problem. In a child, the numbers of problems and launches that precede its
    /// first launch.
    next: LaunchPlace,
}

enum Runner<'e> {
    Device {
        device: Box<dyn Device>,
        is_usable: bool,
        /// Whether this process is a child, which sends its results to its parent.
        is_child: bool,
    },
    Children(Children<'e>),
}

/// The children that launch on a GPU, one at a time.
struct Children<'e> {
    env: &'e Env<'e>,
    /// The maximum time between two results of a child.
    silence: Duration,
    child: Option<Isolated>,
}

impl Launcher<'_> {
    /// Returns whether this process is a child, which shows no results.
    pub(crate) fn is_child(&self) -> bool {
        matches!(self.runner, Runner::Device { is_child: true, .. })
    }

    /// Returns whether the next problem is skipped because the parent already has its results.
    pub(crate) fn skips_problem(&mut self) -> bool {
        let is_skipped = self.is_child() && self.next.problem > 0;
        self.next.problem -= usize::from(is_skipped);
        is_skipped
    }

    /// Returns the reason why no further launch can run, if there is one.
    pub(crate) fn stop_reason(&self) -> Option<&'static str> {
        match self.runner {
            _ if is_interrupted() => Some("interrupted"),
            Runner::Device { is_usable: false, .. } => Some("the device is no longer usable in this process"),
            _ => None,
        }
    }

    /// Returns the results of the launches of the next problem, in order. The iterator ends early when no further
    /// launch can run. `on_device` runs the launches on a device, starting with the launch that has the given number.
    ///
    /// # Errors
    /// Returns an error when the device fails. The iterator returns [`Error::Failed`] when a child fails in a way that
    /// would also stop other children.
    pub(crate) fn steps<'a, I: Iterator<Item = Result<Step, engine::Error>> + 'a>(
        &'a mut self,
        on_device: impl FnOnce(&'a mut (dyn Device + 'a), usize) -> Result<I, engine::Error>,
    ) -> Result<Box<dyn Iterator<Item = Result<Step, Error>> + 'a>, Error> {
        match &mut self.runner {
            Runner::Device { is_usable: false, .. } => Ok(Box::new(iter::empty())),
            Runner::Device { device, is_usable, is_child } => {
                let steps = on_device(&mut **device, mem::take(&mut self.next.launch))?;
                let steps = steps.map(|step| step.map_err(Error::from)).inspect(|step| {
                    *is_usable = step.as_ref().is_ok_and(|step| step.is_usable);
                });
                if !*is_child {
                    return Ok(Box::new(steps));
                }
                for step in steps {
                    isolated::send(Ok(step?), &mut stdout())?;
                }
                Ok(Box::new(iter::empty()))
            }
            Runner::Children(children) => {
                let problem = self.next.problem;
                self.next.problem += 1;
                let mut places = (0..).map(move |launch| LaunchPlace { problem, launch });
                Ok(Box::new(iter::from_fn(move || match children.step(places.next()?) {
                    Err(Error::Engine(engine::Error::Interrupted)) => None,
                    step => Some(step),
                })))
            }
        }
    }

    /// Waits until the child has exited after the last launch.
    pub(crate) fn finish(self) {
        if let Runner::Children(Children { child: Some(child), .. }) = self.runner {
            child.finish();
        }
    }
}

impl Children<'_> {
    /// Waits for the result of the launch at `place`. If no child is running, starts a child that begins with that
    /// launch.
    fn step(&mut self, place: LaunchPlace) -> Result<Step, Error> {
        let child = match self.child.take() {
            Some(child) => child,
            None => Isolated::start(isolated::command(self.env, &place)?)?,
        };
        let result = self.child.insert(child).result(self.silence)?;
        let step = result.unwrap_or_else(|why| Step::failed(&why.to_string(), false));
        if !step.is_usable {
            self.child = None;
        }
        Ok(step)
    }
}
