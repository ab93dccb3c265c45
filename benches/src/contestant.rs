//! The contestants of a measurement: rungs, their CUDA ports, baselines, and plain reading.

use std::rc::Rc;

use host::launch::Launch;
use host::problem::Verdict;
use host::{Device, DeviceProperties, Error, Options, Problem, Rung, Session};
use serde::{Serialize, Serializer};

use crate::baseline::Baseline;
use crate::library::Library;
use crate::torch::{Step, Torch};

/// A kind of contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A rung of the ladder, in Rust.
    Rung,
    /// The CUDA port of a rung: the same kernel in CUDA C++.
    CudaPort,
    /// A function of a library.
    Baseline,
    /// Reading the problem's largest buffer without any other work, as an upper bound on the bandwidth.
    Read,
}

/// A contestant, and the way to run it.
#[derive(Clone, Serialize)]
pub struct Contestant {
    /// The name, which is unique within a problem: `reduce_shfl`, `reduce_shfl (CUDA C++)`, `CUB DeviceReduce`.
    pub name: String,
    /// The kind of contestant.
    pub kind: Kind,
    /// The rung, or the rung of the CUDA port.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "rung_name")]
    pub rung: Option<&'static Rung>,
    /// Whether the contestant does less than the whole problem.
    pub is_bound: bool,
    /// The minimum number of bytes that the contestant must move.
    #[serde(skip)]
    pub bytes: u64,
    #[serde(skip)]
    work: Work,
}

#[derive(Clone)]
enum Work {
    /// A launch of a rung or of its CUDA port.
    Launch(&'static Rung, Launch),
    /// A baseline, and the library that contains it.
    Call(Baseline, Rc<Library>),
    /// A function of PyTorch, by its name in the worker, for a problem with these options.
    Torch(&'static str, Options, Rc<Torch>),
    Read,
}

fn rung_name<S: Serializer>(rung: &Option<&Rung>, serializer: S) -> Result<S::Ok, S::Error> {
    rung.map(|rung| rung.name).serialize(serializer)
}

impl Contestant {
    /// Returns the launch of a rung or of its CUDA port on a problem.
    pub fn launch(rung: &'static Rung, launch: Launch, is_port: bool, problem: &dyn Problem) -> Self {
        let (name, kind) = match is_port {
            true => (port_name(rung), Kind::CudaPort),
            false => (rung.name.to_owned(), Kind::Rung),
        };
        let (is_bound, bytes, work) = (rung.is_bound, problem.facts().bytes, Work::Launch(rung, launch));
        Self { name, kind, rung: Some(rung), is_bound, bytes, work }
    }

    /// Returns a baseline of a problem, from its library.
    pub fn baseline(baseline: Baseline, library: Rc<Library>, problem: &dyn Problem) -> Self {
        let (name, is_bound) = (baseline.name.to_owned(), baseline.is_copy);
        let (kind, bytes, work) = (Kind::Baseline, problem.facts().bytes, Work::Call(baseline, library));
        Self { name, kind, rung: None, is_bound, bytes, work }
    }

    /// Returns a function of PyTorch: its names in tables and in the worker, and the problem's complete options.
    ///
    /// # Errors
    /// Returns the reason when the function does not compute the problem.
    pub fn torch(
        (name, function): (&str, &'static str),
        torch: &Rc<Torch>,
        options: &Options,
        problem: &dyn Problem,
    ) -> Result<Self, String> {
        torch.request(function, options, Step::Prepare)?;
        let work = Work::Torch(function, options.clone(), torch.clone());
        let (kind, bytes) = (Kind::Baseline, problem.facts().bytes);
        Ok(Self { name: name.to_owned(), kind, rung: None, is_bound: false, bytes, work })
    }

    /// Returns plain reading of a problem's largest buffer.
    pub fn read(problem: &dyn Problem, device: DeviceProperties) -> Self {
        let sizes = problem.buffers(device).into_iter().map(|buffer| buffer.bytes);
        let bytes = sizes.max().unwrap_or(0) / 16 * 16;
        Self { name: READ.to_owned(), kind: Kind::Read, rung: None, is_bound: true, bytes, work: Work::Read }
    }

    /// Returns the reason why the device cannot run the contestant: [`Session::check_supported`].
    pub fn check_supported<D: Device + ?Sized>(&self, session: &Session<'_, D>) -> Option<Error> {
        match &self.work {
            Work::Launch(_, launch) => session.check_supported(launch),
            Work::Call(..) | Work::Torch(..) | Work::Read => None,
        }
    }

    /// Runs the contestant once and compares its result with the reference.
    ///
    /// # Errors
    /// Returns the error when the device or the library refuses the work or fails. A wrong result is a [`Verdict`].
    pub fn check<D: Device + ?Sized>(&self, session: &mut Session<'_, D>) -> Result<Verdict, Error> {
        match &self.work {
            Work::Launch(rung, launch) => session.check(rung, launch),
            Work::Call(baseline, library) => session.check_call(
                &baseline.launch,
                baseline.name,
                &mut |stream, memory| library.enqueue(&baseline.call, stream, memory),
                |problem, outputs| baseline.verdict(problem, outputs),
            ),
            Work::Torch(function, options, torch) => Ok(match torch.request(function, options, Step::Check) {
                Ok(_) => Verdict::Right,
                Err(why) => Verdict::Wrong(why),
            }),
            Work::Read => Ok(Verdict::Right),
        }
    }

    /// Runs the contestant once and returns its time in nanoseconds of the device's clock, or `None` when the device
    /// has no clock.
    ///
    /// # Errors
    /// Returns the error when the device or the library refuses the work or fails.
    pub fn once<D: Device + ?Sized>(&self, session: &mut Session<'_, D>) -> Result<Option<f64>, Error> {
        Ok(match &self.work {
            Work::Launch(rung, launch) => session.once(rung, launch)?.time_ns,
            Work::Call(baseline, library) => {
                session
                    .call(baseline.name, &mut |stream, memory| library.enqueue(&baseline.call, stream, memory))?
                    .time_ns
            }
            Work::Torch(function, options, torch) => torch
                .request(function, options, Step::Time)
                .map_err(|reason| Error::Call { what: self.name.clone(), reason })?,
            Work::Read => session.read()?.map(|(time_ns, _)| time_ns),
        })
    }
}

/// The name of plain reading.
pub const READ: &str = "reading alone";

/// The name of a rung's CUDA port.
pub fn port_name(rung: &Rung) -> String {
    format!("{} (CUDA C++)", rung.name)
}
