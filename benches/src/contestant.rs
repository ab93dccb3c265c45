//! The contestants of a measurement: rungs, their CUDA ports, baselines, and plain reading.

use std::rc::Rc;

use host::launch::Launch;
use host::problem::Verdict;
use host::{Device, Error, Problem, Rung, Session};
use serde::Serialize;

use crate::baseline::Baseline;
use crate::library::Library;

/// A kind of contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A rung of the ladder, in Rust.
    Rung,
    /// The same kernel in CUDA C++.
    CudaPort,
    /// A call of one of NVIDIA's libraries.
    Baseline,
    /// Reading the problem's largest buffer and nothing else: a ceiling.
    Read,
}

/// A contestant, and how it is run.
#[derive(Clone)]
pub enum Contestant {
    /// A launch of a rung or of its CUDA port.
    Launch {
        /// The rung.
        rung: &'static Rung,
        /// Its launch.
        launch: Launch,
        /// Whether the launch is of the CUDA port.
        is_port: bool,
    },
    /// A baseline, and the library that has it.
    Baseline(Baseline, Rc<Library>),
    /// Plain reading.
    Read,
}

impl Contestant {
    /// Its name, which no other of the same problem has: `reduce_shfl`, `reduce_shfl (CUDA C++)`,
    /// `CUB DeviceReduce`.
    pub fn name(&self) -> String {
        match self {
            Self::Launch { rung, is_port: true, .. } => port_name(rung),
            Self::Launch { rung, .. } => rung.name.to_owned(),
            Self::Baseline(baseline, _) => baseline.name.to_owned(),
            Self::Read => READ.to_owned(),
        }
    }

    /// The kind of contestant.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Launch { is_port: false, .. } => Kind::Rung,
            Self::Launch { is_port: true, .. } => Kind::CudaPort,
            Self::Baseline(..) => Kind::Baseline,
            Self::Read => Kind::Read,
        }
    }

    /// The rung that it is, or that it is a CUDA port of.
    pub fn rung(&self) -> Option<&'static Rung> {
        match self {
            Self::Launch { rung, .. } => Some(rung),
            Self::Baseline(..) | Self::Read => None,
        }
    }

    /// Whether it does less than the problem asks for.
    pub fn is_bound(&self) -> bool {
        match self {
            Self::Launch { rung, .. } => rung.is_bound,
            Self::Baseline(baseline, _) => baseline.rung.is_bound,
            Self::Read => true,
        }
    }

    /// The least bytes that it has to move.
    pub fn bytes(&self, problem: &dyn Problem) -> u64 {
        match self {
            Self::Launch { .. } | Self::Baseline(..) => problem.bytes(),
            Self::Read => {
                let sizes = problem.buffers().into_iter().map(|buffer| buffer.bytes);
                sizes.max().unwrap_or(0) / 16 * 16
            }
        }
    }

    /// The reason why the device cannot run it: [`Session::check_supported`].
    pub fn check_supported<D: Device + ?Sized>(&self, session: &Session<'_, D>) -> Option<Error> {
        match self {
            Self::Launch { launch, .. } => session.check_supported(launch),
            Self::Baseline(..) | Self::Read => None,
        }
    }

    /// Runs it once and compares its result with the reference.
    ///
    /// # Errors
    /// When the device or the library refuses the work or fails. A wrong result is a [`Verdict`].
    pub fn check<D: Device + ?Sized>(&self, session: &mut Session<'_, D>) -> Result<Verdict, Error> {
        match self {
            Self::Launch { rung, launch, .. } => session.check(rung, launch),
            Self::Baseline(baseline, library) => {
                session.check_call((baseline.rung, &baseline.launch), baseline.name, &mut |stream, memory| {
                    library.enqueue(&baseline.call, stream, memory)
                })
            }
            Self::Read => Ok(Verdict::Right),
        }
    }

    /// Runs it once and returns its time in nanoseconds of the device's clock. `None` when the device has no clock.
    ///
    /// # Errors
    /// When the device or the library refuses the work or fails.
    pub fn once<D: Device + ?Sized>(&self, session: &mut Session<'_, D>) -> Result<Option<f64>, Error> {
        Ok(match self {
            Self::Launch { rung, launch, .. } => session.once(rung, launch)?.time_ns,
            Self::Baseline(baseline, library) => {
                session
                    .call(baseline.name, &mut |stream, memory| library.enqueue(&baseline.call, stream, memory))?
                    .time_ns
            }
            Self::Read => session.read()?.map(|(time_ns, _)| time_ns),
        })
    }
}

/// The name of plain reading.
pub const READ: &str = "reading alone";

/// The name of a rung's CUDA port.
pub fn port_name(rung: &Rung) -> String {
    format!("{} (CUDA C++)", rung.name)
}
