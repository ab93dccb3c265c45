//! The functions of a session that only work on the simulator.

use simt::observe::Observer;
use simt::{Function, LaunchError, Simulator};

use super::{Buffers, Session};
use crate::device::{Checks, Device, Finding, Sim};
use crate::error::Error;
use crate::launch::Launch;
use crate::problem::Verdict;
use crate::registry::Rung;

/// Launches on the simulator. These launches can be observed.
impl Session<'_, Sim> {
    /// Launches once like [`Session::check`], with an observer: [`Sim::observe`].
    ///
    /// # Errors
    /// Returns the errors of [`Sim::observe`], and [`Error::Device`] when a copy fails.
    pub fn observe<O: Observer>(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        chosen: Option<&[u64]>,
        observer: impl FnOnce(&Function) -> O,
    ) -> Result<O, Error> {
        self.buffers.prepare_poisoned()?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        device.observe(launch, ids, chosen, observer)
    }

    /// Prepares a launch like [`Session::check`] and calls `run` to run it: [`Sim::launch_with`].
    ///
    /// # Errors
    /// Returns the errors of [`Session::observe`].
    pub fn launch_with<R>(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        run: impl FnOnce(&mut Simulator, &simt::Launch<'_>) -> Result<R, LaunchError>,
    ) -> Result<R, Error> {
        self.buffers.prepare_poisoned()?;
        let (device, ids) = self.buffers.for_launch_of(rung);
        device.launch_with(launch, ids, run)
    }

    /// Launches once like [`Session::check`], with sanitizers, and returns their findings, even when the launch fails.
    ///
    /// # Errors
    /// Returns the errors of [`Session::check`] when no finding explains the failure.
    pub fn sanitize(&mut self, rung: &Rung, launch: &Launch, checks: Checks) -> Result<Vec<Finding>, Error> {
        self.buffers.device.set_checks(checks);
        let launched = self.launch(rung, launch, Buffers::prepare_poisoned);
        self.buffers.device.set_checks(Checks::NONE);
        let findings = self.take_findings();
        match launched {
            Err(error) if findings.is_empty() => Err(error),
            _ => Ok(findings),
        }
    }

    /// Compares the outputs of the last launch with the reference.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when an output cannot be copied. A wrong result is a [`Verdict`].
    pub fn verdict(&mut self, rung: &Rung, launch: &Launch) -> Result<Verdict, Error> {
        let outputs = self.buffers.download(launch)?;
        Ok(self.verdict_of(rung, launch, &outputs))
    }

    /// Limits the warp instructions of subsequent launches that are observed or run by [`Session::launch_with`]:
    /// [`Sim::limit_instructions`].
    pub fn limit_instructions(&mut self, most: u64) {
        self.buffers.device.limit_instructions(most);
    }

    /// Returns the contents of the problem's buffers, including the guards.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when a buffer cannot be copied.
    pub fn memory(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        self.buffers.contents()
    }

    /// Returns the first address and the size in bytes of each of the problem's buffers.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when a buffer is not in use, which does not happen during the session.
    pub fn ranges(&self) -> Result<Vec<(u64, u64)>, Error> {
        let ids = self.buffers.ids().iter();
        ids.map(|&id| self.buffers.device.range(id)).collect()
    }
}
