//! The resource usage that `ptxas` reports for a launch's entry.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use simt::Function;
use toolkit::{Usage, ptxas};

use super::Limits;
use crate::Error;
use engine::launch::{Code, Launch};
use engine::{Kernels, Ptx};

/// An entry and an architecture.
type Key = (String, String);

/// The usages that are known. Threads that ask for the same one wait for the first of them.
static KNOWN: Mutex<BTreeMap<Key, Arc<Mutex<Option<Usage>>>>> = Mutex::new(BTreeMap::new());

/// The resource usage of a launch's entry when it is assembled for an architecture such as `sm_90`, by the `ptxas`
/// that [`toolkit::find`] finds. Only this entry of the kernels' PTX is assembled, which takes milliseconds. The
/// result is cached for the process.
///
/// # Errors
/// [`Error::Tool`] when there is no `ptxas` or it fails, and when [`source`] fails.
pub fn usage(kernels: &'static Kernels, launch: &Launch, arch: &str) -> Result<Usage, Error> {
    let entry = &launch.entry;
    let key = (entry.clone(), arch.to_owned());
    // A thread that panicked cannot leave either inconsistent, because each changes in one step.
    let known = Arc::clone(KNOWN.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(usage) = *known {
        return Ok(usage);
    }
    let ptx = source(kernels, launch, arch)?;
    let usage = ptxas::usage(&ptx.part(entry), entry, &ptx.assembled_for(arch))?;
    *known = Some(usage);
    Ok(usage)
}

/// The resource usage of a kernel of any PTX when it is assembled for an architecture.
///
/// # Errors
/// [`Error::Tool`] when there is no `ptxas`, or it refuses the PTX.
pub fn usage_of(function: &Function, arch: &str) -> Result<Usage, Error> {
    Ok(ptxas::usage_of(function.ptx(), function.name(), function.target(), arch)?)
}

/// The PTX that a device of this architecture would run for a launch.
///
/// # Errors
/// [`Error::NeedsNewer`] when only other architectures have the entry, [`Error::Request`] when none has it and when the
/// architecture is not in the tables; those of [`Ptx::read`].
pub fn source(kernels: &'static Kernels, launch: &Launch, arch: &str) -> Result<&'static Ptx, Error> {
    let capability = Limits::named(arch)?.capability;
    let entry = &launch.entry;
    let has_it = |ptx: &&'static Ptx| launch.code == Code::Kernels && ptx.has_entry(entry);
    if let Some(kernels_module) = kernels.newest_for(Some(capability))?.filter(has_it) {
        return Ok(kernels_module);
    }
    Err(match kernels.modules.iter().find(has_it) {
        Some(other) => Error::NeedsNewer {
            entry: entry.clone(),
            needs: other.arch("sm"),
            or_newer: if other.only { "" } else { " or newer" },
            arch: arch.to_owned(),
        },
        None => Error::Request(format!("{entry} is no entry of this program's kernels")),
    })
}
