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

/// The known usages. Threads that need the same usage wait for the first such thread to compute it.
static KNOWN: Mutex<BTreeMap<Key, Arc<Mutex<Option<Usage>>>>> = Mutex::new(BTreeMap::new());

/// Returns the resource usage of a launch's entry, assembled for an architecture such as `sm_90` by the `ptxas` that
/// [`toolkit::find`] finds. Only this entry of the kernels' PTX is assembled, which takes milliseconds. The result is
/// cached for the process.
///
/// # Errors
/// Returns [`Error::Tool`] when there is no `ptxas` or it fails, and the errors of [`source`].
pub fn usage(kernels: &'static Kernels, launch: &Launch, arch: &str) -> Result<Usage, Error> {
    let entry = &launch.entry;
    let key = (entry.clone(), arch.to_owned());
    // A panicking thread leaves the data of both locks consistent, because each changes in one step.
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

/// Returns the resource usage of a kernel of any PTX, assembled for an architecture.
///
/// # Errors
/// Returns [`Error::Tool`] when there is no `ptxas`, or when it refuses the PTX.
pub fn usage_of(function: &Function, arch: &str) -> Result<Usage, Error> {
    Ok(ptxas::usage_of(function.ptx(), function.name(), function.target(), arch)?)
}

/// Returns the PTX that a device of this architecture would run for a launch.
///
/// # Errors
/// Returns [`Error::NeedsNewer`] when only other architectures have the entry. Returns [`Error::Request`] when no
/// architecture has the entry, or when `arch` is not in the tables. Also returns the errors of [`Ptx::read`].
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
        None => Error::Request(format!("{entry} is not an entry of this program's kernels")),
    })
}
