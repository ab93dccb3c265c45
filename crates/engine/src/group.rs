//! Several devices that compute one thing: each is a rank, with a thread of this process or a process of its own.
//!
//! The ranks [meet](meeting) for a few words, and a [communicator] combines what is in their devices' memory. A rank that
//! fails tells the others, so every rank ends with the same error, and no result of such a run is shown.

pub mod communicator;
pub mod meeting;
mod peers;
mod run;
mod work;

use std::net::TcpListener;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use libcuda::Simulation;

use crate::catalog::Kernels;
use crate::device::{Choice, Cuda, Device, Gpu, Sim};
use crate::divide::Part;
use crate::error::Error;
use communicator::{Communicator, Nccl, ThroughHost};
use meeting::Meeting;

pub use run::{Outcome, Report, Request, check, measure};

/// The most simulated devices.
const MOST_SIMULATED: usize = 16;

/// Which of the machine's devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// All of them; of simulated ones two.
    All,
    /// The first ones.
    First(usize),
    /// Those of these numbers, in this order.
    Numbers(Vec<u32>),
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no choice of devices: all, how many (4), or their numbers (0,2)");
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        match text {
            "all" => Ok(Self::All),
            _ if text.contains(',') => {
                let numbers =
                    text.split(',').filter(|part| !part.is_empty()).map(number).collect::<Result<Vec<_>, _>>()?;
                let mut sorted = numbers.clone();
                sorted.sort_unstable();
                match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(twice) => Err(format!("device {} is there twice in `{text}`", twice[0])),
                    None if numbers.is_empty() => Err(wrong()),
                    None => Ok(Self::Numbers(numbers)),
                }
            }
            _ => number(text).and_then(|count| if count == 0 { Err(wrong()) } else { Ok(Self::First(count as usize)) }),
        }
    }
}

/// What a group is made with.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The kernels.
    pub kernels: &'static Kernels,
    /// How long a launch may take.
    pub time_limit: Duration,
    /// How long ranks wait for each other.
    pub wait: Duration,
    /// Whether the host combines what NCCL would on GPUs.
    pub through_host: bool,
}

/// A rank of a group: what it has.
pub struct Member {
    // It is dropped before its device: NCCL has memory there.
    pub(crate) communicator: Box<dyn Communicator>,
    /// Its device.
    pub device: Box<dyn Device>,
    pub(crate) meeting: Meeting,
    /// The number of its device.
    number: u32,
    /// Whether the other ranks are threads of this process, which have the same addresses.
    shares_addresses: bool,
    /// Whether kernels of several devices run one after the other.
    is_simulated: bool,
}

/// What a rank's device is opened from, in the rank's own thread.
enum DeviceSource {
    Gpu(u32),
    Sim(Simulation),
}

impl DeviceSource {
    fn open(self, kernels: &'static Kernels) -> Result<Box<dyn Device>, Error> {
        Ok(match self {
            Self::Gpu(number) => Box::new(Gpu::open_number(kernels, number)?),
            Self::Sim(simulation) => Box::new(Sim::open_simulation(kernels, simulation)?),
        })
    }
}

/// Opens devices, each in a thread that is a rank, and lets all do `job`. What the ranks give, by their numbers.
///
/// # Errors
/// [`Error::NoGpu`] and [`Error::BadValue`] when there are no such devices, [`Error::Rank`] when a rank fails.
pub fn run_threads<R: Send>(
    choice: Choice,
    devices: &Devices,
    settings: Settings,
    job: impl Fn(&mut Member) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let (openers, numbers) = openers(choice, devices)?;
    let ranks = openers.len();
    look_for_nccl(choice);
    let meeting = |error: std::io::Error| Error::device("letting the ranks meet", error);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(meeting)?;
    let address = listener.local_addr().map_err(meeting)?.to_string();
    let mut listener = Some(listener);
    let each: Vec<Result<R, Error>> = thread::scope(|scope| {
        let rank = |(rank, (opener, number)): (usize, (DeviceSource, u32))| {
            let listener = listener.take();
            let (address, job) = (&address, &job);
            scope.spawn(move || {
                let meeting = Meeting::new(Part { rank, ranks }, address, listener, settings.wait)?;
                Member::open(opener, number, meeting, settings, true).and_then(|mut member| member.act(job))
            })
        };
        let threads: Vec<_> = openers.into_iter().zip(numbers).enumerate().map(rank).collect();
        let panicked = |rank| Error::Rank { rank, reason: "its thread panicked".to_owned() };
        threads.into_iter().enumerate().map(|(rank, own)| own.join().unwrap_or_else(|_| Err(panicked(rank)))).collect()
    });
    each.into_iter().collect()
}

/// This process as one rank of several, which meet at the address.
///
/// # Errors
/// As [`run_threads`].
pub fn run_process<R>(
    choice: Choice,
    number: u32,
    part: Part,
    address: &str,
    settings: Settings,
    job: impl Fn(&mut Member) -> Result<R, Error>,
) -> Result<R, Error> {
    look_for_nccl(choice);
    let meeting = Meeting::new(part, address, None, settings.wait)?;
    let opener = match is_simulation(choice) {
        true => {
            Simulation::new(0).map(DeviceSource::Sim).map_err(|why| Error::device("starting the SIMT machine", why))
        }
        false => Ok(DeviceSource::Gpu(number)),
    };
    Member::open(opener?, number, meeting, settings, false)?.act(&job)
}

/// Finds NCCL, if GPUs need it, before there are threads of ranks.
fn look_for_nccl(choice: Choice) {
    if !is_simulation(choice) && !libcuda::status().is_simulated() {
        // SAFETY: no rank's thread has been started, and what other threads this program has compute, and read no environment.
        // What is wrong is said by each rank.
        let _ = unsafe { nccl::find() };
    }
}

/// Whether the ranks' devices are simulated GPUs of their own.
fn is_simulation(choice: Choice) -> bool {
    match choice {
        Choice::Sim => true,
        Choice::Gpu => false,
        Choice::Auto => !libcuda::status().is_loaded() || Gpu::count().is_ok_and(|count| count == 0),
    }
}

/// How these devices reach each other's memory, in words behind a comma; nothing of a single one and of simulated ones.
pub fn links(choice: Choice, numbers: &[u32]) -> String {
    if is_simulation(choice) || numbers.len() < 2 {
        return String::new();
    }
    let pairs = numbers.iter().flat_map(|one| numbers.iter().map(move |other| (*one as i32, *other as i32)));
    let links: Vec<_> =
        pairs.filter(|(one, other)| one != other).map(|(one, other)| libcuda::link(one, other)).collect();
    let all = |has: fn(&libcuda::Link) -> bool| links.iter().all(|link| link.as_ref().is_ok_and(has));
    let how = match () {
        () if all(|link| link.can_access && link.has_atomics) => {
            "each accesses the others' memory, with atomics, as over NVLink"
        }
        () if all(|link| link.can_access) => "each accesses the others' memory, without atomics, as over PCI Express",
        () => "not each accesses the others' memory",
    };
    format!(", {how}")
}

/// The numbers of the chosen devices.
///
/// # Errors
/// [`Error::NoGpu`] and [`Error::BadValue`] when there are none or not so many.
pub fn numbers(choice: Choice, devices: &Devices) -> Result<Vec<u32>, Error> {
    let is_simulation = is_simulation(choice);
    let there = if is_simulation { MOST_SIMULATED } else { Gpu::count()? };
    let numbers: Vec<u32> = match devices {
        Devices::All if is_simulation => vec![0, 1],
        Devices::All => (0..there as u32).collect(),
        Devices::First(count) => (0..*count as u32).collect(),
        Devices::Numbers(numbers) => numbers.clone(),
    };
    if let Some(missing) = numbers.iter().find(|number| **number as usize >= there) {
        let what = if is_simulation { "simulated devices at most" } else { "GPUs here" };
        return Err(Error::BadValue(format!("there is no device {missing}: there are {there} {what}")));
    }
    Ok(numbers)
}

/// What the chosen devices are opened from, and their numbers.
fn openers(choice: Choice, devices: &Devices) -> Result<(Vec<DeviceSource>, Vec<u32>), Error> {
    let numbers = numbers(choice, devices)?;
    let openers = match is_simulation(choice) {
        false => numbers.iter().map(|&number| DeviceSource::Gpu(number)).collect(),
        true => {
            let simulations = Simulation::several(0, numbers.len());
            let simulations = simulations.map_err(|why| Error::device("starting the SIMT machine", why))?;
            simulations.into_iter().map(DeviceSource::Sim).collect()
        }
    };
    Ok((openers, numbers))
}

impl Member {
    fn open(
        opener: DeviceSource,
        number: u32,
        mut meeting: Meeting,
        settings: Settings,
        shares_addresses: bool,
    ) -> Result<Self, Error> {
        communicator::check_versions(&mut meeting, "ladder", Ok(env!("CARGO_PKG_VERSION").into()))?;
        let opened = opener.open(settings.kernels);
        meeting.report(&opened)?;
        let mut device = opened?;
        device.set_time_limit(settings.time_limit);
        device.set_watch(meeting.watch());
        let is_simulated = device.info().kind == "sim" || libcuda::status().is_simulated();
        let communicator: Box<dyn Communicator> = match is_simulated || settings.through_host {
            true => Box::new(ThroughHost),
            false => {
                // SAFETY: the program has called it before it started the ranks' threads.
                let library = unsafe { nccl::find() };
                Box::new(Nccl::new(&mut meeting, library, settings.wait)?)
            }
        };
        Ok(Self { device, communicator, meeting, number, shares_addresses, is_simulated })
    }

    /// Does a rank's job. An error is told to the others.
    fn act<R>(&mut self, job: impl Fn(&mut Self) -> Result<R, Error>) -> Result<R, Error> {
        let done = job(self);
        if done.is_err() {
            self.communicator.abort();
        }
        self.agree(done)
    }

    /// Which rank of how many it is.
    pub fn part(&self) -> Part {
        self.meeting.part
    }

    /// What combines the ranks' data, in words.
    pub fn combined_by(&self) -> String {
        self.communicator.describe()
    }

    /// Waits for all ranks, which have done the same, and gives what this one has; the same error for all if one has failed.
    pub(crate) fn agree<T>(&mut self, own: Result<T, Error>) -> Result<T, Error> {
        match own {
            // All ranks have it already.
            Err(error @ Error::Rank { .. }) => Err(error),
            Err(error) => {
                self.communicator.abort();
                Err(self.meeting.exchange(Err(error.to_string())).err().unwrap_or(error))
            }
            Ok(own) => self.meeting.barrier().map(|()| own),
        }
    }
}

impl<const SIMULATED: bool> Cuda<SIMULATED> {
    /// How many devices the driver has.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without a driver.
    pub fn count() -> Result<usize, Error> {
        let status = libcuda::status();
        if !status.is_loaded() && !status.is_simulated() {
            return Err(Error::NoGpu { what: status.to_string() });
        }
        let none = |error| Error::NoGpu { what: format!("{status} finds no GPU ({error:?})") };
        cust::init(cust::CudaFlags::empty()).map_err(none)?;
        cust::device::Device::num_devices().map(|count| count as usize).map_err(none)
    }
}

#[cfg(test)]
mod tests {
    use super::Devices;

    #[test]
    fn choices_of_devices() {
        let parse = |text: &str| text.parse::<Devices>();
        assert_eq!(parse("all"), Ok(Devices::All));
        assert_eq!(parse("4"), Ok(Devices::First(4)));
        assert_eq!(parse("2,"), Ok(Devices::Numbers(vec![2])));
        assert_eq!(parse("0,2"), Ok(Devices::Numbers(vec![0, 2])));
        for wrong in ["", "0", "-1", "two", ",", "0;2"] {
            assert!(parse(wrong).is_err_and(|why| why.contains("how many (4)")), "{wrong}");
        }
        assert_eq!(parse("1,0,1"), Err("device 1 is there twice in `1,0,1`".to_owned()));
    }
}
