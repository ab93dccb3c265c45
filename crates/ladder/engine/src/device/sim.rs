//! Features that only the device `sim` has: the number of host threads, observers, and access to the simulator.

use devices::{Description, Limits};
use libcuda::{DEFAULT_DEVICE, Kernel, Simulation};
use ptx::extract::SourceLines;
use simt::observe::Observer;
use simt::{Function, LaunchError, Simulator};

use super::code::Codes;
use super::gpu::{Sim, State};
use super::{BufferId, DeviceInfo, DeviceMemory};
use crate::catalog::Kernels;
use crate::error::Error;
use crate::launch::Launch;
use crate::registry::DeviceProperties;

impl Sim {
    /// Opens the simulator with `threads` host threads; 0 means one per core.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the host cannot start the threads.
    pub fn open(kernels: &'static Kernels, threads: usize) -> Result<Self, Error> {
        Self::open_as(kernels, threads, None)
    }

    /// Opens a simulator that runs the same PTX as a GPU with this compute capability; `None` selects the newest PTX.
    /// The simulator rejects kernels that are only compiled for newer GPUs, as such a GPU would.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the host cannot start the threads.
    pub fn open_as(kernels: &'static Kernels, threads: usize, capability: Option<(u32, u32)>) -> Result<Self, Error> {
        let failed = |error| Error::device("starting the simulator", error);
        Self::open_with(kernels, Simulation::new(threads).map_err(failed)?, capability, None)
    }

    /// Opens a simulator that imitates the compute capability of the described device, and the number of blocks that it
    /// runs concurrently. That number is the product of the multiprocessors and the blocks that fit on each.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the description has no board, and when the host cannot start the threads.
    pub fn open_device(kernels: &'static Kernels, threads: usize, device: &Description) -> Result<Self, Error> {
        let failed = |error| Error::device("starting the simulator", error);
        let limits = Limits::named(&device.arch).map_err(|error| failed(error.to_string()))?;
        let simulation = Simulation::of(device, threads).map_err(failed)?;
        Self::open_with(kernels, simulation, Some(limits.capability), Some(device.multiprocessors))
    }

    /// Opens a simulator like [`Sim::open_as`] that imitates a device with these properties.
    ///
    /// # Errors
    /// Returns the errors of [`Sim::open_as`].
    pub fn open_like(
        kernels: &'static Kernels,
        threads: usize,
        capability: Option<(u32, u32)>,
        device: DeviceProperties,
    ) -> Result<Self, Error> {
        if device == DeviceProperties::default() {
            return Self::open_as(kernels, threads, capability);
        }
        let failed = |error| Error::device("starting the simulator", error);
        let default_device = Description::open(DEFAULT_DEVICE).map_err(|error| failed(error.to_string()))?;
        let description = Description { multiprocessors: device.multiprocessors, ..default_device };
        let simulation = Simulation::of(&description, threads).map_err(failed)?;
        Self::open_with(kernels, simulation, capability, Some(device.multiprocessors))
    }

    /// Opens the device of a `simulation`, possibly one of several devices that share one memory.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the driver of the simulation fails.
    pub fn open_simulation(kernels: &'static Kernels, simulation: Simulation) -> Result<Self, Error> {
        Self::open_with(kernels, simulation, None, None)
    }

    fn open_with(
        kernels: &'static Kernels,
        simulation: Simulation,
        capability: Option<(u32, u32)>,
        multiprocessors: Option<u32>,
    ) -> Result<Self, Error> {
        let name = match simulation.threads() {
            1 => "simt, 1 host thread".to_owned(),
            count => format!("simt, {count} host threads"),
        };
        let info = DeviceInfo { kind: "sim", name, multiprocessors, ..DeviceInfo::default() };
        // Source lines are kept so that error messages can name the lines of the Rust source.
        let codes = Codes::new(kernels.modules, capability, SourceLines::Keep);
        let number = simulation.device() as u32;
        Self::open_on(Some(simulation), number, |_| Ok((info, codes)))
    }

    /// Runs a launch with an observer that is created for its kernel, and returns the observer. If `chosen` lists
    /// blocks, only these blocks run, and the contents of the buffers are meaningless afterwards: see
    /// [`simt::Launch::with_blocks`].
    ///
    /// # Errors
    /// Returns [`Error::Launch`] when the kernel does not exist, when the arguments do not match its parameters, or
    /// when the kernel fails; [`Error::NeedsNewer`] when only newer devices have the kernel; [`Error::Ptx`] when its
    /// code cannot be loaded.
    pub fn observe<O: Observer>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        chosen: Option<&[u64]>,
        observer: impl FnOnce(&Function) -> O,
    ) -> Result<O, Error> {
        self.launch_with(launch, bound, |simulator, prepared| {
            simulator.launch_observed(&prepared.with_blocks(chosen), observer(prepared.function))
        })
    }

    /// Prepares a launch and calls `run` to run it on the simulator.
    ///
    /// # Errors
    /// Returns the errors of [`Sim::observe`].
    pub fn launch_with<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&mut Simulator, &simt::Launch<'_>) -> Result<R, LaunchError>,
    ) -> Result<R, Error> {
        self.with(Some(launch), |state| state.launch_with(launch, bound, run))
    }

    /// Stops a launch with [`Error::Launch`] after `most` warp instructions. This limit applies to launches that are
    /// observed, counted, checked or run by [`Sim::launch_with`].
    pub fn limit_instructions(&mut self, most: u64) {
        // The closure never fails.
        let _ = self.with(None, |state| {
            state.most_instructions = Some(most);
            Ok(())
        });
    }

    /// Returns the first address and the size in bytes of a buffer.
    ///
    /// # Errors
    /// Returns [`Error::Device`] when the buffer is not in use.
    pub fn range(&self, id: BufferId) -> Result<(u64, u64), Error> {
        let DeviceMemory { address, bytes } = self.state.get().memory(id)?;
        Ok((address, bytes))
    }
}

impl State {
    /// Prepares a launch and calls `run` with the simulator of this device.
    pub(super) fn launch_with<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&mut Simulator, &simt::Launch<'_>) -> Result<R, LaunchError>,
    ) -> Result<R, Error> {
        let Launch { grid, block, shared_bytes, .. } = *launch;
        let most = self.most_instructions;
        let run = |simulator: &mut Simulator, launch: &simt::Launch<'_>| {
            let default_limit = simulator.config_mut().max_instructions;
            simulator.config_mut().max_instructions = most.unwrap_or(default_limit);
            let result = run(simulator, launch);
            simulator.config_mut().max_instructions = default_limit;
            result
        };
        self.prepare(launch, bound, |function, args, _, _| {
            let kernel = Kernel { function: function.to_raw().addr(), grid, block, shared_bytes };
            // SAFETY: `prepare` ensures that there is an argument of the right size for each parameter.
            unsafe { libcuda::launch_with(kernel, args, run) }.map_err(|reason| Error::launch(launch, reason))
        })
    }
}

#[cfg(test)]
mod tests;
