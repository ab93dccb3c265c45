//! Devices: what the driver says about the simulated GPUs.

use std::ffi::c_char;

use crate::call::{In, Out, functions};
use crate::error::{Code, Result};
use crate::state::driver;

/// A simulated GPU.
pub(crate) struct Device {
    pub(crate) name: String,
    /// Major and minor compute capability.
    pub(crate) capability: (u32, u32),
    /// Bytes of memory.
    pub(crate) memory_bytes: u64,
    /// Bytes of shared memory that a block may have if the program asks for it.
    pub(crate) shared_per_block_optin: u32,
    /// The attributes by number (`CUdevice_attribute`).
    attributes: Vec<(u32, i32)>,
    /// The 16 bytes by which programs tell devices apart.
    pub(crate) uuid: [u8; 16],
}

/// The devices that the environment asks for.
pub(crate) fn simulated() -> Result<Vec<Device>> {
    let attributes = include_str!("attributes.txt").lines().filter_map(|line| {
        let (number, value) = line.split_once(' ')?;
        Some((number.parse().ok()?, value.parse().ok()?))
    });
    Ok(vec![Device {
        name: "NVIDIA H200 (simulated)".to_owned(),
        capability: (9, 0),
        memory_bytes: 150_109_880_320,
        shared_per_block_optin: 232_448,
        attributes: attributes.collect(),
        uuid: *b"ladder simulator",
    }])
}

impl Device {
    /// How many multiprocessors it has.
    pub(crate) fn multiprocessors(&self) -> u32 {
        self.attribute(16).unwrap_or_default().max(0) as u32
    }

    /// An attribute by number.
    pub(crate) fn attribute(&self, attribute: u32) -> Result<i32> {
        let found = self.attributes.iter().find(|(number, _)| *number == attribute);
        found.map(|(_, value)| *value).ok_or_else(|| Code::INVALID_VALUE.into())
    }
}

functions! {
    fn cuDeviceGetCount(count: Out<i32>) {
        count.set(driver()?.devices.len() as i32)
    }

    fn cuDeviceGet(device: Out<i32>, number: i32) {
        driver()?.device(number)?;
        device.set(number)
    }

    fn cuDeviceGetName(name: Out<c_char>, room: i32, device: i32) {
        let device = driver()?.device(device)?;
        name.set_text(&device.name, usize::try_from(room).unwrap_or_default())
    }

    fn cuDeviceGetUuid_v2 | cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(driver()?.device(device)?.uuid)
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        bytes.set(driver()?.device(device)?.memory_bytes as usize)
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) {
        value.check()?;
        value.set(driver()?.device(device)?.attribute(attribute)?)
    }

    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        let capability = driver()?.device(device)?.capability;
        major.set(capability.0 as i32)?;
        minor.set(capability.1 as i32)
    }

    fn cuDeviceGetPCIBusId(text: Out<c_char>, room: i32, device: i32) {
        driver()?.device(device)?;
        text.set_text(&format!("0000:{device:02X}:00.0"), usize::try_from(room).unwrap_or_default())
    }

    fn cuDeviceGetByPCIBusId(device: Out<i32>, text: In<c_char>) {
        let text = text.text()?.to_uppercase();
        let all = 0..driver()?.devices.len() as i32;
        let found = all.into_iter().find(|device| format!("0000:{device:02X}:00.0").ends_with(&text));
        device.set(found.ok_or(Code::INVALID_DEVICE)?)
    }

    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        driver()?.device(device)?;
        driver()?.device(peer)?;
        can.set((device != peer).into())
    }
}
