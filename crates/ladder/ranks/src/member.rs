//! A rank with its device, and the functions that run a job on all ranks.

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

/// The settings of a run on several ranks.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The kernels of the program.
    pub kernels: &'static Kernels,
    /// The time limit of a launch.
    pub time_limit: Duration,
    /// The time limit for waiting for other ranks.
    pub wait: Duration,
    /// Whether the host combines results even when NCCL is available.
    pub through_host: bool,
}

/// A rank, with its device and its connections to the other ranks.
pub struct Member {
    // Drop the communicator before the device, because NCCL owns memory on the device.
    pub(crate) communicator: Box<dyn Communicator>,
    /// The rank's device.
    pub device: Box<dyn Device>,
    pub(crate) meeting: Meeting,
    /// The number of the device.
    pub(crate) number: u32,
    /// Whether the other ranks are threads of this process and therefore share its addresses.
    pub(crate) shares_addresses: bool,
    /// Whether the ranks run on the simulator, where kernels of different devices run one after another.
    pub(crate) is_simulated: bool,
    /// Whether the devices copy pieces of results to each other without the communicator.
    pub(crate) copies_pieces: bool,
}

/// Opens devices, each in the thread of a rank, and runs `job` on each rank. Returns the ranks' results in order.
///
/// # Errors
/// Returns the errors of [`numbers`](crate::numbers) when a selected device does not exist, [`Error::Rank`] when a rank
/// fails.
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
    let results: Vec<Result<R, Error>> = thread::scope(|scope| {
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
        threads
            .into_iter()
            .enumerate()
            .map(|(rank, thread)| thread.join().unwrap_or_else(|_| Err(panicked(rank))))
            .collect()
    });
    results.into_iter().collect()
}

/// Runs `job` in this process, which is one of several ranks that meet at `address`.
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

/// If the devices are GPUs, finds NCCL before the ranks' threads start.
fn look_for_nccl(choice: Choice) {
    if !is_simulation(choice) && !libcuda::status().is_simulated() {
        // SAFETY: no rank's thread has started, and the program's other threads only compute and do not read the
        // environment. Each rank reports the error of `find`, so its result is ignored here.
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
                // SAFETY: `look_for_nccl` called `find` before the ranks' threads started, so this call only returns
                // the saved result.
                let library = unsafe { nccl::find() };
                Box::new(Nccl::new(&mut meeting, library, settings.wait)?)
            }
        };
        let copies_pieces = shares_addresses && (is_simulated || !settings.through_host);
        Ok(Self { device, communicator, meeting, number, shares_addresses, is_simulated, copies_pieces })
    }

    /// Runs a rank's job and reports an error to the other ranks.
    fn act<R>(&mut self, job: impl Fn(&mut Self) -> Result<R, Error>) -> Result<R, Error> {
        let done = job(self);
        if done.is_err() {
            self.communicator.abort();
        }
        self.agree(done)
    }

    /// Returns the number of this rank and the number of ranks.
    pub fn rank(&self) -> Share {
        self.meeting.rank
    }

    /// Returns the device number of each rank, as the driver counts devices.
    pub(crate) fn device_numbers(&mut self) -> Result<Vec<u32>, Error> {
        // The simulator's devices are numbered in the order of their ranks.
        let is_simulation = self.device.info().kind == "sim";
        let number = if is_simulation { self.rank().index as u64 } else { self.number.into() };
        Ok(self.meeting.exchange_number(number)?.into_iter().map(|number| number as u32).collect())
    }

    /// Returns the name of the communicator that combines the ranks' data.
    pub fn combined_by(&self) -> String {
        self.communicator.describe()
    }

    /// Waits until all ranks have finished the same step, and returns this rank's result. If a rank failed, all ranks
    /// return the same error.
    pub(crate) fn agree<T>(&mut self, result: Result<T, impl Into<Error>>) -> Result<T, Error> {
        match result.map_err(Into::into) {
            // All ranks already have this error.
            Err(error @ Error::Rank { .. }) => Err(error),
            Err(error) => {
                self.communicator.abort();
                Err(self.meeting.exchange(Err(error.to_string())).err().unwrap_or(error))
            }
            Ok(result) => self.meeting.barrier().map(|()| result),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Free the shared memory here, while the driver of the device that pinned it is still open.
        if let Some(memory) = &self.meeting.memory {
            memory.free(self.meeting.rank.index);
        }
    }
}
