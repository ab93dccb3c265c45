//! A rank with its device, and the runs of all ranks.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::Kernels;
use engine::device::{Choice, Device};
use libcuda::Simulation;

use crate::communicator::{self, Communicator, Nccl};
use crate::devices::{DeviceSource, Devices, STARTING, is_simulation, sources};
use crate::divide::Share;
use crate::error::{Error, failed};
use crate::host_memory::HostMemory;
use crate::meeting::Meeting;
use crate::through_host::ThroughHost;

/// How ranks run.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The kernels.
    pub kernels: &'static Kernels,
    /// The time limit of a launch.
    pub time_limit: Duration,
    /// How long ranks wait for each other.
    pub wait: Duration,
    /// Whether the host combines results even where NCCL could.
    pub through_host: bool,
}

/// A rank, with its device and its connections to the others.
pub struct Member {
    // The communicator is dropped before the device, because NCCL has memory there.
    pub(crate) communicator: Box<dyn Communicator>,
    /// The rank's device.
    pub device: Box<dyn Device>,
    pub(crate) meeting: Meeting,
    /// The number of the device.
    pub(crate) number: u32,
    /// Whether the other ranks are threads of this process, which have the same addresses.
    pub(crate) shares_addresses: bool,
    /// Whether the devices are simulated, so that their kernels run one after another.
    pub(crate) is_simulated: bool,
    /// Whether the devices may copy pieces of results to each other, past the communicator.
    pub(crate) copies_pieces: bool,
}

/// Opens devices, each in a thread that is a rank, and runs `job` on each. Returns the ranks' results in their order.
///
/// # Errors
/// Returns the errors of [`numbers`](crate::numbers) when there are no such devices, [`Error::Rank`] when a rank fails.
pub fn run_threads<R: Send>(
    choice: Choice,
    devices: &Devices,
    settings: Settings,
    job: impl Fn(&mut Member) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let (sources, numbers) = sources(choice, devices)?;
    let count = sources.len();
    look_for_nccl(choice);
    let meeting = |error: std::io::Error| failed("connecting the ranks", error);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(meeting)?;
    let address = listener.local_addr().map_err(meeting)?.to_string();
    let mut listener = Some(listener);
    let memory = Arc::new(HostMemory::new(count));
    let each: Vec<Result<R, Error>> = thread::scope(|scope| {
        let rank = |(index, (source, number)): (usize, (DeviceSource, u32))| {
            let listener = listener.take();
            let (address, job, memory) = (&address, &job, Arc::clone(&memory));
            scope.spawn(move || {
                let mut meeting = Meeting::new(Share { index, count }, address, listener, settings.wait)?;
                meeting.memory = Some(memory);
                Member::open(source, number, meeting, settings, true).and_then(|mut member| member.act(job))
            })
        };
        let threads: Vec<_> = sources.into_iter().zip(numbers).enumerate().map(rank).collect();
        let panicked = |rank| Error::Rank { rank, reason: "its thread panicked".to_owned() };
        threads.into_iter().enumerate().map(|(rank, own)| own.join().unwrap_or_else(|_| Err(panicked(rank)))).collect()
    });
    each.into_iter().collect()
}

/// Runs `job` on this process as one of several ranks, which meet at the address.
///
/// # Errors
/// Returns the errors of [`run_threads`].
pub fn run_process<R>(
    choice: Choice,
    number: u32,
    rank: Share,
    address: &str,
    settings: Settings,
    job: impl Fn(&mut Member) -> Result<R, Error>,
) -> Result<R, Error> {
    look_for_nccl(choice);
    let meeting = Meeting::new(rank, address, None, settings.wait)?;
    let source = match is_simulation(choice) {
        true => DeviceSource::Sim(Simulation::new(0).map_err(|why| failed(STARTING, why))?),
        false => DeviceSource::Gpu(number),
    };
    Member::open(source, number, meeting, settings, false)?.act(&job)
}

/// Finds NCCL, if the devices are GPUs, before the ranks' threads start.
fn look_for_nccl(choice: Choice) {
    if !is_simulation(choice) && !libcuda::status().is_simulated() {
        // SAFETY: no rank's thread has been started, and the program's other threads only compute and do not read the
        // environment. Each rank reports the error.
        let _ = unsafe { nccl::find() };
    }
}

impl Member {
    fn open(
        source: DeviceSource,
        number: u32,
        mut meeting: Meeting,
        settings: Settings,
        shares_addresses: bool,
    ) -> Result<Self, Error> {
        communicator::check_versions(&mut meeting, "ladder", Ok(env!("CARGO_PKG_VERSION").into()))?;
        let opened = source.open(settings.kernels);
        meeting.report(&opened)?;
        let mut device = opened?;
        device.set_time_limit(settings.time_limit);
        device.set_watch(meeting.watch());
        let is_simulated = device.info().kind == "sim" || libcuda::status().is_simulated();
        let communicator: Box<dyn Communicator> = match is_simulated || settings.through_host {
            true => Box::new(ThroughHost),
            false => {
                // SAFETY: `look_for_nccl` has called it before the ranks' threads started, so it only returns what it found.
                let library = unsafe { nccl::find() };
                Box::new(Nccl::new(&mut meeting, library, settings.wait)?)
            }
        };
        let copies_pieces = shares_addresses && (is_simulated || !settings.through_host);
        Ok(Self { device, communicator, meeting, number, shares_addresses, is_simulated, copies_pieces })
    }

    /// Runs a rank's job, and reports an error to the other ranks.
    fn act<R>(&mut self, job: impl Fn(&mut Self) -> Result<R, Error>) -> Result<R, Error> {
        let done = job(self);
        if done.is_err() {
            self.communicator.abort();
        }
        self.agree(done)
    }

    /// Returns the number of this rank, and the number of ranks.
    pub fn rank(&self) -> Share {
        self.meeting.rank
    }

    /// Returns the number of each rank's device for the driver.
    pub(crate) fn device_numbers(&mut self) -> Result<Vec<u32>, Error> {
        // Simulated devices are numbered in the order of their ranks.
        let is_simulation = self.device.info().kind == "sim";
        let own = if is_simulation { self.rank().index as u64 } else { self.number.into() };
        Ok(self.meeting.exchange_number(own)?.into_iter().map(|number| number as u32).collect())
    }

    /// Returns the name of what combines the ranks' data.
    pub fn combined_by(&self) -> String {
        self.communicator.describe()
    }

    /// Waits until all ranks have done the same step, and returns this rank's result. When one rank has failed, all ranks
    /// return the same error.
    pub(crate) fn agree<T>(&mut self, own: Result<T, impl Into<Error>>) -> Result<T, Error> {
        match own.map_err(Into::into) {
            // All ranks have this error already.
            Err(error @ Error::Rank { .. }) => Err(error),
            Err(error) => {
                self.communicator.abort();
                Err(self.meeting.exchange(Err(error.to_string())).err().unwrap_or(error))
            }
            Ok(own) => self.meeting.barrier().map(|()| own),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // The memory is pinned by the driver of the device, which is still open.
        if let Some(memory) = &self.meeting.memory {
            memory.free(self.meeting.rank.index);
        }
    }
}
