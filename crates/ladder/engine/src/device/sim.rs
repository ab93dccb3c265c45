//! What a simulated GPU can do and no other: have so many threads of the host, and be observed.

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
    /// Opens a machine on `threads` host threads; 0 stands for one per core.
    ///
    /// # Errors
    /// [`Error::Device`] when the host cannot start the threads.
    pub fn open(kernels: &'static Kernels, threads: usize) -> Result<Self, Error> {
        Self::open_as(kernels, threads, None)
    }

    /// Opens a machine that runs the same PTX as a GPU of this compute capability; `None` takes the newest PTX.
    /// Kernels that only newer GPUs have are refused, as they are on that GPU.
    ///
    /// # Errors
    /// [`Error::Device`] when the host cannot start the threads.
    pub fn open_as(kernels: &'static Kernels, threads: usize, capability: Option<(u32, u32)>) -> Result<Self, Error> {
        let failed = |error| Error::device("starting the simulator", error);
        Self::open_with(kernels, Simulation::new(threads).map_err(failed)?, capability, None)
    }

    /// Opens a machine that imitates the described device: its compute capability, and the number of blocks that run at
    /// the same time, which is its number of multiprocessors times the blocks that each has room for.
    ///
    /// # Errors
    /// [`Error::Device`] when the description has no board, and when the host cannot start the threads.
    pub fn open_device(kernels: &'static Kernels, threads: usize, device: &Description) -> Result<Self, Error> {
        let failed = |error| Error::device("starting the simulator", error);
        let limits = Limits::named(&device.arch).map_err(|error| failed(error.to_string()))?;
        let simulation = Simulation::of(device, threads).map_err(failed)?;
        Self::open_with(kernels, simulation, Some(limits.capability), Some(device.multiprocessors))
    }

    /// Opens a machine like [`Sim::open_as`], which imitates a device with these properties.
    ///
    /// # Errors
    /// When [`Sim::open_as`] fails.
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
        let usual = Description::open(DEFAULT_DEVICE).map_err(|error| failed(error.to_string()))?;
        let description = Description { multiprocessors: device.multiprocessors, ..usual };
        let simulation = Simulation::of(&description, threads).map_err(failed)?;
        Self::open_with(kernels, simulation, capability, Some(device.multiprocessors))
    }

    /// Opens a simulated GPU, perhaps one of several that have one memory.
    ///
    /// # Errors
    /// [`Error::Device`] when its driver fails.
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
        // Source lines are kept, so that faults can name the lines of Rust.
        let codes = Codes::new(kernels.modules, capability, SourceLines::Keep);
        let number = simulation.device() as u32;
        Self::open_on(Some(simulation), number, |_| Ok((info, codes)))
    }

    /// Runs a launch with an observer that is made for its kernel, and returns the observer. When blocks are `chosen`,
    /// only they run, and the contents of the buffers are meaningless afterwards: see [`simt::Launch::with_blocks`].
    ///
    /// # Errors
    /// [`Error::Launch`] when there is no such kernel, when the arguments do not match its parameters, or when it
    /// fails; [`Error::NeedsNewer`] when only newer devices have the kernel; [`Error::Ptx`] when its code cannot be
    /// loaded.
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

    /// Lets `run` run a launch on the simulator.
    ///
    /// # Errors
    /// When [`Sim::observe`] fails.
    pub fn launch_with<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&mut Simulator, &simt::Launch<'_>) -> Result<R, LaunchError>,
    ) -> Result<R, Error> {
        self.with(Some(launch), |state| state.launch_with(launch, bound, run))
    }

    /// Ends launches that are observed, counted, checked or given to [`Sim::launch_with`] after so many instructions of warps, with [`Error::Launch`].
    pub fn limit_instructions(&mut self, most: u64) {
        // There is nothing in it that fails.
        let _ = self.with(None, |state| {
            state.most_instructions = Some(most);
            Ok(())
        });
    }

    /// The place of a buffer in memory: its first address and its size in bytes.
    ///
    /// # Errors
    /// [`Error::Device`] when the buffer is not in use.
    pub fn range(&self, id: BufferId) -> Result<(u64, u64), Error> {
        let DeviceMemory { address, bytes } = self.state.get().memory(id)?;
        Ok((address, bytes))
    }
}

impl State {
    /// Lets `run` run a kernel on the simulated GPU's simulator.
    pub(super) fn launch_with<R>(
        &mut self,
        launch: &Launch,
        bound: &[BufferId],
        run: impl FnOnce(&mut Simulator, &simt::Launch<'_>) -> Result<R, LaunchError>,
    ) -> Result<R, Error> {
        let Launch { grid, block, shared_bytes, .. } = *launch;
        let most = self.most_instructions;
        let run = |simulator: &mut Simulator, launch: &simt::Launch<'_>| {
            let usual = simulator.config_mut().max_instructions;
            simulator.config_mut().max_instructions = most.unwrap_or(usual);
            let result = run(simulator, launch);
            simulator.config_mut().max_instructions = usual;
            result
        };
        self.prepare(launch, bound, |function, args, _, _| {
            let kernel = Kernel { function: function.to_raw().addr(), grid, block, shared_bytes };
            // SAFETY: there is an argument for each parameter, of the parameter's size.
            unsafe { libcuda::launch_with(kernel, args, run) }.map_err(|reason| Error::launch(launch, reason))
        })
    }
}

#[cfg(test)]
mod tests;
