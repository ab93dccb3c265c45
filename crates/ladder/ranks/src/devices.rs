//! The devices of ranks: their selection, how they are opened, and how they access each other's memory.

use std::str::FromStr;

use engine::device::{Choice, Device, Gpu, Sim};
use engine::{Error, Kernels};
use libcuda::{Link, Simulation};

use crate::error::failed;

/// The name of the operation that opens a `sim` device, for error messages.
pub(crate) const STARTING: &str = "starting the simulator";

/// The maximum number of `sim` devices.
const MOST_SIMULATED: usize = 16;

/// A selection of the computer's devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// All GPUs, or two devices with `sim`.
    All,
    /// The first devices; the field is their number.
    First(usize),
    /// The devices with these numbers, in this order.
    Numbers(Vec<u32>),
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` does not select devices: write all, a number of devices (4), or indices (0,2)");
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        match text {
            "all" => Ok(Self::All),
            _ if text.contains(',') => {
                let numbers =
                    text.split(',').filter(|part| !part.is_empty()).map(number).collect::<Result<Vec<_>, _>>()?;
                let mut sorted = numbers.clone();
                sorted.sort_unstable();
                match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(twice) => Err(format!("device {} appears twice in `{text}`", twice[0])),
                    None if numbers.is_empty() => Err(wrong()),
                    None => Ok(Self::Numbers(numbers)),
                }
            }
            _ => number(text).and_then(|count| if count == 0 { Err(wrong()) } else { Ok(Self::First(count as usize)) }),
        }
    }
}

/// The source from which a rank's thread opens its device.
pub(crate) enum DeviceSource {
    Gpu(u32),
    Sim(Simulation),
}

impl DeviceSource {
    pub(crate) fn open(self, kernels: &'static Kernels) -> Result<Box<dyn Device>, Error> {
        Ok(match self {
            Self::Gpu(number) => Box::new(Gpu::open_number(kernels, number)?),
            Self::Sim(simulation) => Box::new(Sim::open_simulation(kernels, simulation)?),
        })
    }
}

/// Returns whether the ranks run on the simulator.
pub(crate) fn is_simulation(choice: Choice) -> bool {
    match choice {
        Choice::Sim => true,
        Choice::Gpu => false,
        Choice::Auto => !libcuda::status().is_loaded() || Gpu::count().is_ok_and(|count| count == 0),
    }
}

/// Describes how these devices access each other's memory, with a leading comma. The text is empty for a single device
/// and for the simulator.
pub fn links(choice: Choice, numbers: &[u32]) -> String {
    if is_simulation(choice) || numbers.len() < 2 {
        return String::new();
    }
    let pairs = numbers.iter().flat_map(|one| numbers.iter().map(move |other| (*one as i32, *other as i32)));
    let links: Vec<_> =
        pairs.filter(|(one, other)| one != other).map(|(one, other)| libcuda::link(one, other)).collect();
    let all = |has: fn(&Link) -> bool| links.iter().all(|link| link.as_ref().is_ok_and(has));
    let how = match () {
        () if all(|link| link.can_access && link.has_atomics) => {
            "each can access the others' memory, with atomics, as over NVLink"
        }
        () if all(|link| link.can_access) => "each can access the others' memory, without atomics, as over PCI Express",
        () => "not every device can access the others' memory",
    };
    format!(", {how}")
}

/// Returns the numbers of the selected devices.
///
/// # Errors
/// Returns [`Error::NoGpu`] when there is no GPU, [`Error::BadValue`] when a selected device does not exist.
pub fn numbers(choice: Choice, devices: &Devices) -> Result<Vec<u32>, Error> {
    let is_simulation = is_simulation(choice);
    let available = if is_simulation { MOST_SIMULATED } else { Gpu::count()? };
    let numbers: Vec<u32> = match devices {
        Devices::All if is_simulation => vec![0, 1],
        Devices::All => (0..available as u32).collect(),
        Devices::First(count) => (0..*count as u32).collect(),
        Devices::Numbers(numbers) => numbers.clone(),
    };
    if let Some(missing) = numbers.iter().find(|number| **number as usize >= available) {
        let limit = match is_simulation {
            true => format!("sim has at most {available} devices"),
            false => format!("the number of GPUs is {available}"),
        };
        return Err(Error::BadValue(format!("there is no device {missing}: {limit}")));
    }
    Ok(numbers)
}

/// Returns the sources of the selected devices, and the devices' numbers.
pub(crate) fn sources(choice: Choice, devices: &Devices) -> Result<(Vec<DeviceSource>, Vec<u32>), Error> {
    let numbers = numbers(choice, devices)?;
    let sources = match is_simulation(choice) {
        false => numbers.iter().map(|&number| DeviceSource::Gpu(number)).collect(),
        true => {
            let simulations = Simulation::several(0, numbers.len());
            let simulations = simulations.map_err(|why| failed(STARTING, why))?;
            simulations.into_iter().map(DeviceSource::Sim).collect()
        }
    };
    Ok((sources, numbers))
}

/// Enables access from the current device, whose number is `device`, to the memory of other GPUs.
///
/// # Errors
/// Returns [`Error::Device`] when peer access to one of the other GPUs is not possible.
pub(crate) fn open_peers(device: u32, others: &[u32]) -> Result<(), Error> {
    let link = |other| libcuda::link(device as i32, other as i32).map_err(|error| format!("{error:?}"));
    check_links(device, others, link)?;
    let enable = |other: &u32| libcuda::enable_peer(*other as i32);
    let refused = |error| failed("enabling access to the memory of another GPU", format!("{error:?}"));
    others.iter().filter(|other| **other != device).try_for_each(enable).map_err(refused)
}

/// Checks that a GPU can access the memory of the other GPUs.
///
/// # Errors
/// Returns [`Error::Device`] with both numbers when a GPU cannot access another.
fn check_links(device: u32, others: &[u32], link: impl Fn(u32) -> Result<Link, String>) -> Result<(), Error> {
    for &other in others.iter().filter(|other| **other != device) {
        let reason = match link(other) {
            Ok(Link { can_access: true, .. }) => continue,
            Ok(_) => format!(
                "GPU {device} cannot access the memory of GPU {other}: there is no peer access between them; \
                 `cargo xtask doctor` shows which GPUs have peer access, and NCCL does not need it"
            ),
            Err(why) => format!("GPU {device} and GPU {other}: {why}"),
        };
        return Err(failed("checking peer access", reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Devices, Link, check_links};

    #[test]
    fn gpus_without_peer_access_are_reported() {
        let link = |other| match other {
            9 => Err("InvalidDevice".to_owned()),
            _ => Ok(Link { can_access: other != 2, performance_rank: 0, has_atomics: true }),
        };
        let check = |others: &[u32]| check_links(0, others, link).map_err(|error| error.to_string());
        // A GPU accesses its memory without a link.
        assert_eq!(check(&[0, 1, 3]), Ok(()));
        assert!(check(&[0, 1, 2]).is_err_and(|why| why.contains("GPU 0 cannot access the memory of GPU 2")));
        assert!(check(&[9]).is_err_and(|why| why.contains("GPU 0 and GPU 9: InvalidDevice")));
        let no_access = |_| Ok(Link { can_access: false, performance_rank: 0, has_atomics: false });
        assert!(check_links(0, &[0], no_access).is_ok());
    }

    #[test]
    fn choices_of_devices() {
        let parse = |text: &str| text.parse::<Devices>();
        assert_eq!(parse("all"), Ok(Devices::All));
        assert_eq!(parse("4"), Ok(Devices::First(4)));
        assert_eq!(parse("2,"), Ok(Devices::Numbers(vec![2])));
        assert_eq!(parse("0,2"), Ok(Devices::Numbers(vec![0, 2])));
        for wrong in ["", "0", "-1", "two", ",", "0;2"] {
            assert!(parse(wrong).is_err_and(|why| why.contains("a number of devices (4)")), "{wrong}");
        }
        assert_eq!(parse("1,0,1"), Err("device 1 appears twice in `1,0,1`".to_owned()));
    }
}
