//! The memory that the host has available.

/// Bytes that can be allocated now without pushing other things out of memory, and within the limit of this process's
/// address space (`ulimit -v`). `None` where the system does not say (it does on Linux).
pub fn available_memory() -> Option<u64> {
    let available = from_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let limited = || {
        let limit = address_space_limit(&std::fs::read_to_string("/proc/self/limits").ok()?)?;
        let used = address_space_used(&std::fs::read_to_string("/proc/self/status").ok()?)?;
        Some(limit.saturating_sub(used))
    };
    Some(limited().map_or(available, |limited| available.min(limited)))
}

/// The line `Max address space         4294967296           unlimited            bytes`. `None` for no limit.
fn address_space_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The line `VmSize: 123456 kB`, with a tab before the number.
fn address_space_used(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The line `MemAvailable:   12345678 kB`.
fn from_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_and_anything_else_is_not() {
        let text = "MemTotal:       16303012 kB\nMemFree:         1\nMemAvailable:   8000000 kB\n";
        assert_eq!(from_meminfo(text), Some(8_192_000_000));
        assert_eq!(from_meminfo("MemAvailable: much kB"), None);
        assert_eq!(from_meminfo(""), None);
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space  4096  unlimited  bytes\n";
        assert_eq!(address_space_limit(limits), Some(4096));
        let unlimited = limits.replace("4096", "unlimited");
        assert_eq!(address_space_limit(&unlimited), None);
        assert_eq!(address_space_used("VmPeak:\t 9 kB\nVmSize:\t   2 kB\n"), Some(2048));
    }
}
