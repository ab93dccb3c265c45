//! What `ptxas` says of a launch's entry.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use toolkit::{Found, Tool, Usage, ptxas};

use super::error::OccupancyError;
use super::limits::Limits;
use engine::launch::{Code, Launch};
use engine::{Kernels, Ptx};

/// By entry and architecture.
type Known = BTreeMap<(String, String), Usage>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// What a launch's entry takes when it is assembled for an architecture, `sm_90`, by the `ptxas` that
/// [`toolkit::find`] finds. Of the kernels' PTX only this entry is assembled, which takes milliseconds, and once in
/// a process.
///
/// # Errors
/// [`OccupancyError::NoLimits`] for an architecture that is none, [`OccupancyError::NeedsNewer`] for an entry that
/// it does not have, [`OccupancyError::NoEntry`] for one that none has, and [`OccupancyError::Tool`] without
/// `ptxas` or where it refuses.
pub fn usage(
    kernels: &'static Kernels,
    launch: &Launch,
    arch: &str,
) -> Result<Usage, OccupancyError> {
    let capability = Limits::named(arch)?.capability;
    let entry = &launch.entry;
    let key = (entry.clone(), arch.to_owned());
    // What a thread that panicked has left behind is whole: an entry is put in at once.
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(usage) = known().get(&key) {
        return Ok(*usage);
    }
    let ptx = source(kernels, launch, capability, arch)?;
    let usage = assembled(ptx, entry, arch)?;
    known().insert(key, usage);
    Ok(usage)
}

/// The text that a device of this capability would be given.
fn source(
    kernels: &'static Kernels,
    launch: &Launch,
    capability: (u32, u32),
    arch: &str,
) -> Result<&'static Ptx, OccupancyError> {
    let entry = &launch.entry;
    if launch.code != Code::Kernels {
        return Err(OccupancyError::NoEntry {
            entry: entry.clone(),
        });
    }
    let has_it = |ptx: &&'static Ptx| ptx.outline().has_entry(entry);
    if let Some(own) = kernels.newest_for(Some(capability)).filter(has_it) {
        return Ok(own);
    }
    Err(match kernels.modules.iter().find(has_it) {
        Some(newer) => OccupancyError::NeedsNewer {
            entry: entry.clone(),
            needs: newer.capability,
            arch: arch.to_owned(),
        },
        None => OccupancyError::NoEntry {
            entry: entry.clone(),
        },
    })
}

fn assembled(ptx: &Ptx, entry: &str, arch: &str) -> Result<Usage, OccupancyError> {
    let ptxas = assembler()?;
    let usages = ptxas::usages(ptxas, &ptx.part(entry), arch)?;
    usages.get(entry).copied().ok_or_else(|| {
        OccupancyError::Tool(toolkit::Error::Unread {
            tool: Tool::Ptxas,
            what: format!("the entry {entry}"),
        })
    })
}

/// Looked for once: asking a tool for its version starts a process.
fn assembler() -> Result<&'static Found, OccupancyError> {
    static FOUND: OnceLock<Result<Found, toolkit::Error>> = OnceLock::new();
    let found = FOUND.get_or_init(|| toolkit::find(Tool::Ptxas));
    found
        .as_ref()
        .map_err(|error| OccupancyError::Tool(error.clone()))
}
