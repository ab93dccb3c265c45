//! A check that finds the loads and stores of global memory that are not coalesced.
//!
//! It is an example: it shows all that a check needs and uses only the public interface of `simt`. It counts in an
//! [`Observer`], finds the source line of an instruction with [`Position`], and draws its findings as a [`Diagnostic`].
//!
//! Global memory moves in sectors of 32 bytes. A warp's access is coalesced if it touches as few sectors as its bytes fill
//! (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"). A finding says by how much an instruction exceeds that.
//! It can miss an instruction that only other inputs execute.

use std::collections::BTreeMap;

use simt::counters::SECTOR;
use simt::observe::{Access, AccessKind, Observer, Site, Space, WarpId};
use simt::run::Position;
use simt::{Function, Launch, LaunchError, Simulator};
use simt_check::diagnostic::Diagnostic;

/// The sectors of an instruction's accesses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sectors {
    /// Those that they touch.
    touched: u64,
    /// Those that their bytes fill.
    needed: u64,
    /// How many warps have executed the instruction.
    warps: u64,
}

/// A source line with accesses that are not coalesced.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncoalesced {
    /// The first instruction of the line.
    pub site: Site,
    /// The file and the line; `None` if the PTX does not have them.
    pub source: Option<(String, u32)>,
    /// How many times as many sectors the accesses touch as their bytes fill: 8 for columns of 4-byte elements.
    pub factor: f64,
    /// How many accesses of warps that are.
    pub warps: u64,
}

impl Uncoalesced {
    /// The finding as a message for people.
    #[must_use]
    pub fn diagnostic(&self, function: &Function) -> Diagnostic {
        let title = format!("this access touches {:.1} times as many sectors as its bytes fill", self.factor);
        let label = format!("{} warp-wide accesses", self.warps);
        let help = "let the lanes of a warp access neighboring elements".to_owned();
        Diagnostic::warning(function, self.site, title, label, help)
    }
}

/// The observer that counts sectors, instruction by instruction.
#[derive(Debug, Default)]
struct Coalescing {
    sites: BTreeMap<Site, Sectors>,
}

impl Observer for Coalescing {
    // Each of the host's threads counts for itself.
    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        for (site, more) in other.sites {
            let own = self.sites.entry(site).or_default();
            own.touched += more.touched;
            own.needed += more.needed;
            own.warps += more.warps;
        }
    }

    fn access(&mut self, site: Site, _: WarpId, access: &Access<'_>) {
        if access.space != Space::Global || !matches!(access.kind, AccessKind::Load | AccessKind::Store) {
            return;
        }
        let active = (0..32).filter(|lane| access.mask >> lane & 1 == 1).map(|lane| access.addresses[lane]);
        let mut elements: Vec<u64> = active.collect();
        elements.sort_unstable();
        elements.dedup();
        let bytes = elements.len() as u64 * u64::from(access.bytes);
        elements.iter_mut().for_each(|address| *address /= SECTOR);
        elements.dedup();
        let own = self.sites.entry(site).or_default();
        own.touched += elements.len() as u64;
        own.needed += bytes.div_ceil(SECTOR);
        own.warps += 1;
    }
}

/// Runs a kernel and returns the source lines whose accesses touch more than `limit` times as many sectors as their bytes fill,
/// the worst first.
///
/// # Errors
/// Those of [`Simulator::launch_observed`].
pub fn check(simulator: &mut Simulator, launch: &Launch<'_>, limit: f64) -> Result<Vec<Uncoalesced>, LaunchError> {
    let seen = simulator.launch_observed(launch, Coalescing::default())?;
    let mut lines: BTreeMap<_, (Site, Sectors)> = BTreeMap::new();
    for (site, sectors) in seen.sites {
        let position = Position::of(launch.function, site);
        // Unrolled loops repeat a line. Without source lines, each line of the PTX is one.
        let line = (position.source.is_none().then_some(position.ptx_line), position.source);
        let (_, own) = lines.entry(line).or_insert((site, Sectors::default()));
        own.touched += sectors.touched;
        own.needed += sectors.needed;
        own.warps += sectors.warps;
    }
    let found = lines.into_iter().map(|((_, source), (site, own))| Uncoalesced {
        site,
        source,
        factor: own.touched as f64 / own.needed as f64,
        warps: own.warps,
    });
    let mut found: Vec<Uncoalesced> = found.filter(|own| own.factor > limit).collect();
    found.sort_by(|one, other| other.factor.total_cmp(&one.factor));
    Ok(found)
}

#[cfg(test)]
mod tests;
