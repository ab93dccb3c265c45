//! The attributes of devices (`CUdevice_attribute`), by number.
//!
//! What a description or the limits of an architecture say is computed from them. The others are those of an H200, which
//! are in `attributes.txt`: the "CUDA C++ Programming Guide" ("Compute Capabilities") gives all architectures from 7.5 on
//! the same grids and textures, and what is left belongs to the driver and to Linux.

use devices::{Board, Description, Limits};

/// `CUdevice_attribute`: where the device is plugged in.
pub(crate) const PCI_BUS: u32 = 33;
pub(crate) const PCI_DEVICE: u32 = 34;
pub(crate) const PCI_DOMAIN: u32 = 50;

/// NVIDIA's number among the makers of PCI devices.
const NVIDIA: u32 = 0x10de;

/// Where a device is plugged in: domain, bus and device. Each device has a bus of its own.
pub(crate) fn place(number: usize) -> [u32; 3] {
    [0, number as u32 + 1, 0]
}

/// The bytes of L2 that programs can set aside for lines that stay: the shares that drivers report for an A100, for the
/// GPUs of GeForce boards and for an H200. Before compute capability 8.0 there is no such thing.
pub(crate) fn persisting_l2_bytes(l2_bytes: u64, capability: (u32, u32)) -> u64 {
    match capability {
        (..8, _) => 0,
        (8, 0 | 7) => l2_bytes / 4 * 3,
        (8, _) => l2_bytes / 16 * 11,
        _ => l2_bytes / 8 * 5,
    }
}

/// The attributes of a device: their values by their numbers. The first one stands for the number 0, which none has.
pub(crate) fn of(device: &Description, board: &Board, limits: &Limits, number: usize) -> Vec<i32> {
    let recorded = include_str!("attributes.txt").lines().filter_map(|line| line.split_once(' ')?.1.parse().ok());
    let mut values: Vec<i32> = std::iter::once(0).chain(recorded).collect();
    let (major, minor) = limits.capability;
    let since = |first: (u32, u32), value: u32| if limits.capability >= first { value } else { 0 };
    let [domain, bus, slot] = place(number);
    let khz = |mhz: f64| (mhz * 1000.0) as u32;
    // The width of an access policy's window in an H200 and an A100, and in GeForce boards.
    let window = if matches!((major, minor), (8, 6 | 9)) { 134_213_632 } else { 134_217_728 };
    let computed = [
        (1, limits.threads_per_block),
        (2, limits.threads_per_block),
        (3, limits.threads_per_block),
        (8, limits.shared_per_block),
        (12, limits.registers_per_block),
        (13, khz(device.clock_mhz)),
        (16, device.multiprocessors),
        (32, board.ecc.into()),
        (PCI_BUS, bus),
        (PCI_DEVICE, slot),
        (36, khz(board.memory_mhz)),
        (37, board.memory_bits),
        (38, device.l2.bytes as u32),
        (39, limits.threads()),
        (40, board.copy_engines),
        (PCI_DOMAIN, domain),
        (75, major),
        (76, minor),
        (81, limits.shared),
        (82, limits.registers),
        (87, (device.multiprocessor.fp32 / device.multiprocessor.fp64) as u32),
        (97, limits.shared_opt_in),
        (106, limits.blocks),
        // Compression of memory.
        (107, since((8, 0), 1)),
        (108, persisting_l2_bytes(device.l2.bytes, limits.capability) as u32),
        (109, since((8, 0), window)),
        // GPUDirect RDMA: with virtual memory, at all, how writes are flushed, and in which order they come.
        (110, board.gpudirect.into()),
        (111, limits.shared_reserved),
        (116, board.gpudirect.into()),
        (117, board.gpudirect.into()),
        (118, u32::from(board.gpudirect) * 100),
        // What memory pools are shared by: file descriptors, and fabric handles where NVLink spans computers.
        (119, 1 + since((9, 0), 8)),
        (120, since((9, 0), 1)),
        // Domains of memory synchronization ("CUDA C++ Programming Guide"): four since Hopper.
        (126, 1 + since((9, 0), 3)),
        (127, since((9, 0), 1)),
        (128, since((9, 0), 1)),
        (139, board.pci_device << 16 | NVIDIA),
        (140, board.pci_subsystem << 16 | NVIDIA),
    ];
    for (attribute, value) in computed {
        values[attribute as usize] = value as i32;
    }
    values
}
