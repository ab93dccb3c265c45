//! The attributes of devices (`CUdevice_attribute`), indexed by number.
//!
//! Attributes that follow from a description or from the limits of an architecture are computed. `attributes.txt`
//! contains the other attributes, which are those of an H200. The grid and texture limits among them are the same for
//! all architectures since 7.5 ("CUDA C++ Programming Guide", "Compute Capabilities"). The rest depend on the driver
//! and Linux.

use devices::{Board, Description, Limits};

/// `CUdevice_attribute`: the PCI location of the device.
pub(crate) const PCI_BUS: u32 = 33;
pub(crate) const PCI_DEVICE: u32 = 34;
pub(crate) const PCI_DOMAIN: u32 = 50;

/// NVIDIA's PCI vendor id.
const NVIDIA: u32 = 0x10de;

/// Returns the PCI location of a device: domain, bus and device. Each device has a separate bus.
pub(crate) fn place(number: usize) -> [u32; 3] {
    [0, number as u32 + 1, 0]
}

/// Returns the number of L2 bytes that programs can set aside for persisting lines. The fractions come from the values
/// that drivers report for an A100, for GeForce boards and for an H200. The feature requires compute capability 8.0.
pub(crate) fn persisting_l2_bytes(l2_bytes: u64, capability: (u32, u32)) -> u64 {
    match capability {
        (..8, _) => 0,
        (8, 0 | 7) => l2_bytes / 4 * 3,
        (8, _) => l2_bytes / 16 * 11,
        _ => l2_bytes / 8 * 5,
    }
}

/// Returns the attributes of a device, indexed by number. Number 0 is not an attribute, so its entry is a placeholder.
pub(crate) fn of(device: &Description, board: &Board, limits: &Limits, number: usize) -> Vec<i32> {
    let recorded = include_str!("attributes.txt").lines().filter_map(|line| line.split_once(' ')?.1.parse().ok());
    let mut values: Vec<i32> = std::iter::once(0).chain(recorded).collect();
    let (major, minor) = limits.capability;
    let since = |first: (u32, u32), value: u32| if limits.capability >= first { value } else { 0 };
    let [domain, bus, slot] = place(number);
    let khz = |mhz: f64| (mhz * 1000.0) as u32;
    // The maximum size of an access policy window: one value for GeForce boards, another for the A100 and H200.
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
        // Memory compression.
        (107, since((8, 0), 1)),
        (108, persisting_l2_bytes(device.l2.bytes, limits.capability) as u32),
        (109, since((8, 0), window)),
        // GPUDirect RDMA: support with virtual memory (110), general support (116), flush options (117) and write
        // ordering (118).
        (110, board.gpudirect.into()),
        (111, limits.shared_reserved),
        (116, board.gpudirect.into()),
        (117, board.gpudirect.into()),
        (118, u32::from(board.gpudirect) * 100),
        // Handle types that memory pools support: file descriptors, and fabric handles if NVLink spans hosts.
        (119, 1 + since((9, 0), 8)),
        (120, since((9, 0), 1)),
        // Memory synchronization domains ("CUDA C++ Programming Guide"): four since Hopper.
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
