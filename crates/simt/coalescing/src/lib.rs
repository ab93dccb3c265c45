//! A check that finds the loads and stores of global memory that are not coalesced.
//!
//! The crate is an example of a complete check that uses only the public interface of `simt`. It counts sectors in an
//! [`Observer`], finds the source line of an instruction with [`Position`], and shows its findings as a [`Diagnostic`].
//!
//! Global memory moves in sectors of 32 bytes. A warp's access is coalesced if it touches no more sectors than its
//! bytes fill (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"). A finding contains the factor by
//! which an instruction exceeds this number. The check can miss an instruction that only other inputs execute.

use std::collections::BTreeMap;

use simt::counters::SECTOR;
use simt::observe::{Access, AccessKind, Observer, Site, Space, WarpId};
use simt::run::Position;
use simt::{Function, Launch, LaunchError, Simulator};
use simt_check::diagnostic::Diagnostic;

/// The sectors of an instruction's accesses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sectors {
    /// The number of sectors that the accesses touch.
    touched: u64,
    /// The number of sectors that their bytes fill.
    needed: u64,
    /// The number of warps that have executed the instruction.
    warps: u64,
}

/// A source line with accesses that are not coalesced.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncoalesced {
    /// The first instruction of the line.
    pub site: Site,
    /// The file and the line; `None` if the PTX does not contain them.
    pub source: Option<(String, u32)>,
    /// The ratio of touched sectors to the sectors that the bytes fill: 8 for columns of 4-byte elements.
    pub factor: f64,
    /// The number of warp-wide accesses.
    pub warps: u64,
}

impl Uncoalesced {
    /// Returns the finding as a message for people.
    #[must_use]
    pub fn diagnostic(&self, function: &Function) -> Diagnostic {
        let title = format!("this access touches {:.1} times the sectors that its bytes fill", self.factor);
        let label = format!("{} warp-wide accesses", self.warps);
        let help = "let the lanes of a warp access neighboring elements".to_owned();
        Diagnostic::warning(function, self.site, title, label, help)
    }
}

/// The observer that counts sectors for each instruction.
#[derive(Debug, Default)]
struct Coalescing {
    sites: BTreeMap<Site, Sectors>,
}

impl Observer for Coalescing {
    // Each host thread counts separately.
    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        for (site, more) in other.sites {
            let sectors = self.sites.entry(site).or_default();
            sectors.touched += more.touched;
            sectors.needed += more.needed;
            sectors.warps += more.warps;
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
        let sectors = self.sites.entry(site).or_default();
        sectors.touched += elements.len() as u64;
        sectors.needed += bytes.div_ceil(SECTOR);
        sectors.warps += 1;
    }
}

/// Runs a kernel and returns the uncoalesced source lines, worst first: the lines whose accesses touch more than
/// `limit` times the number of sectors that their bytes fill.
///
/// # Errors
/// Returns the errors of [`Simulator::launch_observed`].
pub fn check(simulator: &mut Simulator, launch: &Launch<'_>, limit: f64) -> Result<Vec<Uncoalesced>, LaunchError> {
    let seen = simulator.launch_observed(launch, Coalescing::default())?;
    let mut lines: BTreeMap<_, (Site, Sectors)> = BTreeMap::new();
    for (site, sectors) in seen.sites {
        let position = Position::of(launch.function, site);
        // Unrolled loops repeat a line. Without source lines, each line of the PTX counts as a separate line.
        let line = (position.source.is_none().then_some(position.ptx_line), position.source);
        let (_, total) = lines.entry(line).or_insert((site, Sectors::default()));
        total.touched += sectors.touched;
        total.needed += sectors.needed;
        total.warps += sectors.warps;
    }
    let found = lines.into_iter().map(|((_, source), (site, total))| Uncoalesced {
        site,
        source,
        factor: total.touched as f64 / total.needed as f64,
        warps: total.warps,
    });
    let mut found: Vec<Uncoalesced> = found.filter(|line| line.factor > limit).collect();
    found.sort_by(|one, other| other.factor.total_cmp(&one.factor));
    Ok(found)
}

#[cfg(test)]
mod tests;
