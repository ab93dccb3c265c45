//! Devices: which GPUs are simulated, and what the driver says about them.

use std::sync::OnceLock;

use devices::{Board, Description, Limits};

use crate::abi::error::{Code, Error, Result};
use crate::gpu::attributes::{self, PCI_BUS, PCI_DEVICE, PCI_DOMAIN};

/// The environment variable that names the simulated device: `h200` and the others that [`devices::Description::known`]
/// lists, or a file that describes one. An H200 without it.
pub const DEVICE: &str = "LADDER_SIM_DEVICE";

/// The name of a device of a later compute capability than any compiler knows, and otherwise like [`DEFAULT_DEVICE`]. Libraries
/// that compile kernels when they run give such a device PTX, because they cannot make machine code for it.
const FUTURE: &str = "future";
/// Its compute capability.
const FUTURE_CAPABILITY: (u32, u32) = (99, 0);

/// The environment variable that says how many of these devices there are: 1 to 16. 1 without it.
pub const DEVICES: &str = "LADDER_SIM_DEVICES";

/// The most devices.
const MOST: usize = 16;

/// A simulated GPU.
pub(crate) struct Device {
    pub(crate) name: String,
    /// Major and minor compute capability.
    pub(crate) capability: (u32, u32),
    pub(crate) multiprocessors: u32,
    /// Bytes of memory.
    pub(crate) memory_bytes: u64,
    /// Bytes of the L2 that programs can set aside.
    pub(crate) persisting_l2_bytes: u64,
    /// What one of its multiprocessors has.
    pub(crate) limits: &'static Limits,
    /// The attributes by number (`CUdevice_attribute`).
    attributes: Vec<i32>,
    /// The 16 bytes by which programs tell devices apart.
    pub(crate) uuid: [u8; 16],
}

/// The environment variable that says which of the devices there are for a program, as the real driver has it: their
/// numbers with commas between.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// The device that is simulated when no other one is named.
pub const DEFAULT_DEVICE: &str = "h200";

/// The devices that the environment asks for.
///
/// # Errors
/// `CUDA_ERROR_INVALID_DEVICE` when there is no such device, `CUDA_ERROR_INVALID_VALUE` when there cannot be so many,
/// `CUDA_ERROR_NO_DEVICE` when [`VISIBLE`] shows none of them.
pub(crate) fn simulated() -> Result<Vec<Device>> {
    let all = devices(&given(DEVICE, DEFAULT_DEVICE), &given(DEVICES, "1"))?;
    let Some(list) = variable(VISIBLE) else {
        return Ok(all);
    };
    let mut all: Vec<Option<Device>> = all.into_iter().map(Some).collect();
    let numbers = list.split(',').map(|number| number.trim().parse::<usize>().ok());
    // As with the real driver, the list ends before the first entry that is not the number of a device.
    let visible = numbers.map_while(|number| all.get_mut(number?)?.take()).collect::<Vec<Device>>();
    match visible.is_empty() {
        true => Err(Error::new(Code::NO_DEVICE, format!("{VISIBLE}={list} shows none of the simulated devices"))),
        false => Ok(visible),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The value of a variable, which is `default` where it is not set or empty.
fn given(name: &str, default: &str) -> String {
    variable(name).filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
}

/// The description of the devices that the environment asks for.
///
/// # Errors
/// What is wrong with it, in words.
pub fn description() -> std::result::Result<Description, String> {
    described_as(&given(DEVICE, DEFAULT_DEVICE)).map_err(|error| error.reason)
}

/// Returns `count` devices that imitate the described one; [`DEFAULT_DEVICE`] without a description.
pub(crate) fn described(description: Option<&Description>, count: usize) -> Result<Vec<Device>> {
    match description {
        Some(description) => copies(description, &description.name, &count.to_string()),
        None => devices(DEFAULT_DEVICE, &count.to_string()),
    }
}

/// So many devices of a name or a file.
fn devices(name: &str, count: &str) -> Result<Vec<Device>> {
    copies(&described_as(name)?, name, count)
}

/// The description of a name or a file.
fn described_as(name: &str) -> Result<Description> {
    let described = if name == FUTURE { DEFAULT_DEVICE } else { name };
    let mut description = Description::open(described).map_err(|error| refused(name, &error.to_string()))?;
    if name == FUTURE {
        description.name = "Future GPU".to_owned();
    }
    Ok(description)
}

/// The limits of the device of this name.
fn limits(description: &Description, name: &str) -> Result<&'static Limits> {
    static LATER: OnceLock<Limits> = OnceLock::new();
    let limits = Limits::named(&description.arch).map_err(|error| refused(name, &error.to_string()))?;
    Ok(match name {
        FUTURE => LATER.get_or_init(|| Limits { capability: FUTURE_CAPABILITY, ..limits.clone() }),
        _ => limits,
    })
}

fn refused(name: &str, why: &str) -> Error {
    let known = Description::known().join(", ");
    Error::new(Code::INVALID_DEVICE, format!("{DEVICE}={name}: {why} (the known devices: {known}, {FUTURE})"))
}

/// Makes `count` devices of a description that is known by this name.
fn copies(description: &Description, name: &str, count: &str) -> Result<Vec<Device>> {
    let limits = limits(description, name)?;
    let board = description.board.clone();
    let board = board.ok_or_else(|| refused(name, "the description has no section [board]"))?;
    let count = count.parse().ok().filter(|count| (1..=MOST).contains(count)).ok_or_else(|| {
        Error::new(Code::INVALID_VALUE, format!("{DEVICES}={count}: there can be 1 to {MOST} simulated devices"))
    })?;
    Ok((0..count).map(|number| Device::new(description, &board, limits, number)).collect())
}

impl Device {
    fn new(description: &Description, board: &Board, limits: &'static Limits, number: usize) -> Self {
        let mut uuid = *b"ladder simulator";
        uuid[15] += number as u8;
        Self {
            name: format!("{} (simulated)", description.name),
            capability: limits.capability,
            multiprocessors: description.multiprocessors,
            memory_bytes: board.memory_bytes,
            persisting_l2_bytes: attributes::persisting_l2_bytes(description.l2.bytes, limits.capability),
            limits,
            attributes: attributes::of(description, board, limits, number),
            uuid,
        }
    }

    /// An attribute by number.
    pub(crate) fn attribute(&self, attribute: u32) -> Result<i32> {
        let value = self.attributes.get(attribute as usize).filter(|_| attribute > 0);
        value.copied().ok_or_else(|| Code::INVALID_VALUE.into())
    }

    /// Domain, bus and device, which are where it is plugged in.
    pub(crate) fn place(&self) -> Result<[i32; 3]> {
        Ok([self.attribute(PCI_DOMAIN)?, self.attribute(PCI_BUS)?, self.attribute(PCI_DEVICE)?])
    }
}
