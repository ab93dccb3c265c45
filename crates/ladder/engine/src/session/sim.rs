//! What a session can do on the simulator and on no other device.

use simt::observe::Observer;
use simt::{Function, LaunchError, Simulator};

use super::{Buffers, Session};
use crate::device::{Checks, Device, Finding, Sim};
use crate::error::Error;
use crate::launch::Launch;
use crate::problem::Verdict;
use crate::registry::Rung;

/// Launches on the simulator can be observed.
impl Session<'_, Sim> {
    /// Launches once, as [`Session::check`] does, with an observer: [`Sim::observe`].
    ///
    /// # Errors
    /// When [`Sim::observe`] fails, and with [`Error::Device`] when a copy fails.
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

    /// Launches once, as [`Session::check`] does, and lets `run` do it: [`Sim::launch_with`].
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

    /// Launches once, as [`Session::check`] does, with checks, and returns what they have found; of a launch that fails
    /// too.
    ///
    /// # Errors
    /// When [`Session::check`] fails and no check says why.
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

    /// Ends the following launches with an observer, or by [`Session::launch_with`], after so many instructions of warps: [`Sim::limit_instructions`].
    pub fn limit_instructions(&mut self, most: u64) {
        self.buffers.device.limit_instructions(most);
    }

    /// What is in the problem's buffers, with the guards behind them.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when a buffer cannot be copied.
    pub fn memory(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        self.buffers.contents()
    }

    /// Returns the places of the problem's buffers in memory: their first addresses and their sizes in bytes.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when a buffer is not in use, which does not happen while the session exists.
    pub fn ranges(&self) -> Result<Vec<(u64, u64)>, Error> {
        let ids = self.buffers.ids().iter();
        ids.map(|&id| self.buffers.device.range(id)).collect()
    }
}
