//! What limits an occupancy, in words.

use super::calculator::{Limiter, Occupancy};
use super::limits::{Limits, WARP};
use engine::size;

impl Limiter {
    /// Its name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Barriers => "barriers",
        }
    }
}

/// The names of what limits, for a table.
pub fn names(occupancy: &Occupancy) -> String {
    let names: Vec<&str> = occupancy.limiters().map(Limiter::name).collect();
    names.join(", ")
}

/// Why there are not more blocks, a sentence for each resource that ends there.
pub fn sentences(limits: &Limits, threads: u32, occupancy: &Occupancy) -> Vec<String> {
    let of = |limiter| sentence(limits, threads, occupancy, limiter);
    occupancy.limiters().map(of).collect()
}

fn sentence(limits: &Limits, threads: u32, occupancy: &Occupancy, limiter: Limiter) -> String {
    let name = limiter.name();
    let bytes = |amount: u32| size::bytes(u64::from(amount));
    if occupancy.blocks == 0 {
        let why = match limiter {
            Limiter::Warps => format!("a block has at most {} threads", limits.threads_per_block),
            Limiter::Blocks => "an SM has none".to_owned(),
            Limiter::Registers => format!(
                "a thread has at most {} and a block {}",
                limits.registers_per_thread, limits.registers_per_block
            ),
            Limiter::SharedMemory => format!("a block has at most {}", bytes(limits.shared_opt_in)),
            Limiter::Barriers => "a block has more than an SM".to_owned(),
        };
        return format!("{name}: not one block fits; {why}");
    }
    let warps = threads.div_ceil(WARP);
    match limiter {
        Limiter::Warps => format!(
            "{name}: a block has {warps} of the {} that an SM holds",
            limits.warps
        ),
        Limiter::Blocks => format!("{name}: an SM holds {}, however small", limits.blocks),
        Limiter::Registers => format!(
            "{name}: a block takes {} of the SM's {}",
            occupancy.registers_per_block, limits.registers
        ),
        Limiter::SharedMemory => format!(
            "{name}: a block takes {} of the SM's {}",
            bytes(occupancy.shared_per_block),
            bytes(limits.shared)
        ),
        Limiter::Barriers => format!("{name}: an SM has {}", limits.barriers.unwrap_or_default()),
    }
}
