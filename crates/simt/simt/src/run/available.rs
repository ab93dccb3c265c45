//! The memory that the host has available.

/// Returns the number of bytes that this process can allocate now without causing memory pressure, within the limit of
/// its address space (`ulimit -v`). Returns `None` if the system does not report the number; Linux does.
pub fn available_memory() -> Option<u64> {
    let available = from_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let limited = || {
        let limit = address_space_limit(&std::fs::read_to_string("/proc/self/limits").ok()?)?;
        let used = address_space_used(&std::fs::read_to_string("/proc/self/status").ok()?)?;
        Some(limit.saturating_sub(used))
    };
    Some(limited().map_or(available, |limited| available.min(limited)))
}

/// Parses the line `Max address space         4294967296           unlimited            bytes`. Returns `None` if the
/// limit is `unlimited`.
pub(super) fn address_space_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Parses the line `VmSize: 123456 kB`, which has a tab before the number.
pub(super) fn address_space_used(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Parses the line `MemAvailable:   12345678 kB`.
pub(super) fn from_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
