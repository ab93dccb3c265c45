//! How much memory the host has.

/// Bytes that can be allocated now without pushing other things out of memory. `None` where the system
/// does not say (it does on Linux).
pub fn available_memory() -> Option<u64> {
    from_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// The line `MemAvailable:   12345678 kB`.
fn from_meminfo(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests;
