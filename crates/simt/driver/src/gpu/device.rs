//! Devices: the devices that the environment requests, and the properties that the driver reports for them.

use std::sync::OnceLock;

use devices::{Board, Description, Limits};

use crate::abi::error::{Code, Error, Result};
use crate::gpu::attributes::{self, PCI_BUS, PCI_DEVICE, PCI_DOMAIN};

/// The environment variable that names the device that `sim` imitates: `h200` or another name that
/// [`devices::Description::known`] lists, or a file with a description. The default is an H200.
pub const DEVICE: &str = "LADDER_SIM_DEVICE";

/// A name for a device with a higher compute capability than any compiler knows. In all other properties, the device
/// equals [`DEFAULT_DEVICE`]. Libraries that compile kernels at run time pass PTX to such a device, because they cannot
/// generate machine code for it.
const FUTURE: &str = "future";
/// The compute capability of [`FUTURE`].
const FUTURE_CAPABILITY: (u32, u32) = (99, 0);

/// The environment variable with the number of devices, 1 to 16. The default is 1.
pub const DEVICES: &str = "LADDER_SIM_DEVICES";

/// The maximum number of devices.
const MOST: usize = 16;

/// A device of the driver.
pub(crate) struct Device {
    pub(crate) name: String,
    /// The major and minor compute capability.
    pub(crate) capability: (u32, u32),
    pub(crate) multiprocessors: u32,
    /// The memory size in bytes.
    pub(crate) memory_bytes: u64,
    /// The number of L2 bytes that programs can set aside.
    pub(crate) persisting_l2_bytes: u64,
    /// The limits of one multiprocessor.
    pub(crate) limits: &'static Limits,
    /// The attributes, indexed by number (`CUdevice_attribute`).
    attributes: Vec<i32>,
    /// The 16 bytes by which programs distinguish devices.
    pub(crate) uuid: [u8; 16],
}

/// The environment variable that selects the devices visible to a program, as with the real driver: device numbers,
/// separated by commas.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// The device that `sim` imitates by default.
pub const DEFAULT_DEVICE: &str = "h200";

/// Returns the devices that the environment requests.
///
/// # Errors
/// Returns `CUDA_ERROR_INVALID_DEVICE` when [`DEVICE`] does not describe a device, `CUDA_ERROR_INVALID_VALUE` when the
/// number of devices is out of range, and `CUDA_ERROR_NO_DEVICE` when [`VISIBLE`] selects none of the devices.
pub(crate) fn simulated() -> Result<Vec<Device>> {
    let all = devices(&variable_or(DEVICE, DEFAULT_DEVICE), &variable_or(DEVICES, "1"))?;
    let Some(list) = variable(VISIBLE) else {
        return Ok(all);
    };
    let mut all: Vec<Option<Device>> = all.into_iter().map(Some).collect();
    let numbers = list.split(',').map(|number| number.trim().parse::<usize>().ok());
    // As with the real driver, the list ends at the first entry that is not the number of a device.
    let visible = numbers.map_while(|number| all.get_mut(number?)?.take()).collect::<Vec<Device>>();
    match visible.is_empty() {
        true => Err(Error::new(Code::NO_DEVICE, format!("{VISIBLE}={list} selects none of the simulated devices"))),
        false => Ok(visible),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Returns the value of a variable, or `default` when the variable is not set or empty.
fn variable_or(name: &str, default: &str) -> String {
    variable(name).filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
}

/// Returns the description of the devices that the environment requests.
///
/// # Errors
/// Returns a message when the description is invalid.
pub fn description() -> std::result::Result<Description, String> {
    described_as(&variable_or(DEVICE, DEFAULT_DEVICE)).map_err(|error| error.reason)
}

/// Returns `count` devices that imitate the described device, or [`DEFAULT_DEVICE`] when there is no description.
pub(crate) fn described(description: Option<&Description>, count: usize) -> Result<Vec<Device>> {
    match description {
        Some(description) => copies(description, &description.name, &count.to_string()),
        None => devices(DEFAULT_DEVICE, &count.to_string()),
    }
}

/// Returns `count` devices, described by a known name or a file.
fn devices(name: &str, count: &str) -> Result<Vec<Device>> {
    copies(&described_as(name)?, name, count)
}

/// Returns the description with a known name or in a file.
fn described_as(name: &str) -> Result<Description> {
    let described = if name == FUTURE { DEFAULT_DEVICE } else { name };
    let mut description = Description::open(described).map_err(|error| refused(name, &error.to_string()))?;
    if name == FUTURE {
        description.name = "Future GPU".to_owned();
    }
    Ok(description)
}

/// Returns the limits of the described device. `name` is the requested name.
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
    Error::new(Code::INVALID_DEVICE, format!("{DEVICE}={name}: {why} (known devices: {known}, {FUTURE})"))
}

/// Creates `count` devices from a description, which messages call `name`.
fn copies(description: &Description, name: &str, count: &str) -> Result<Vec<Device>> {
    let limits = limits(description, name)?;
    let board = description.board.clone();
    let board = board.ok_or_else(|| refused(name, "the description has no [board] section"))?;
    let count = count.parse().ok().filter(|count| (1..=MOST).contains(count)).ok_or_else(|| {
        Error::new(
            Code::INVALID_VALUE,
            format!("{DEVICES}={count}: the number of simulated devices must be 1 to {MOST}"),
        )
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

    /// Returns an attribute by number.
    pub(crate) fn attribute(&self, attribute: u32) -> Result<i32> {
        let value = self.attributes.get(attribute as usize).filter(|_| attribute > 0);
        value.copied().ok_or_else(|| Code::INVALID_VALUE.into())
    }

    /// Returns the device's PCI location: domain, bus and device.
    pub(crate) fn place(&self) -> Result<[i32; 3]> {
        Ok([self.attribute(PCI_DOMAIN)?, self.attribute(PCI_BUS)?, self.attribute(PCI_DEVICE)?])
    }
}
