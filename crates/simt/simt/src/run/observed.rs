//! A simulator and an observer of all operations on the simulator's memory.

use super::instance::{Instance, InstanceError};
use super::launch::{Launch, LaunchError};
use super::simulator::{Buffer, Element, Simulator};
use crate::memory::global::MemoryError;
use crate::module::Module;
use crate::observe::Observer;

/// A [`Simulator`] and an observer of all accesses to the simulator's memory, by the host and by launches. The methods
/// and their errors are those of [`Simulator`]. A simulator without an observer has no overhead.
pub struct Observed<'m, O> {
    simulator: &'m mut Simulator,
    /// The observer.
    pub observer: O,
}

impl Simulator {
    /// Attaches an observer, which sees the operations on the simulator's memory that are made through the returned
    /// value.
    pub fn observed<O: Observer>(&mut self, observer: O) -> Observed<'_, O> {
        Observed { simulator: self, observer }
    }
}

#[allow(missing_docs, reason = "the methods are the simulator's")]
#[allow(clippy::missing_errors_doc, reason = "the errors are the simulator's")]
impl<O: Observer> Observed<'_, O> {
    pub fn zeroed<T: Element>(&mut self, len: usize) -> Result<Buffer<T>, MemoryError> {
        let buffer = self.simulator.zeroed(len)?;
        self.observer.allocated(buffer.address, bytes_of::<T>(len));
        Ok(buffer)
    }

    pub fn upload<T: Element>(&mut self, data: &[T]) -> Result<Buffer<T>, MemoryError> {
        let buffer = self.zeroed(data.len())?;
        self.write(buffer, data)?;
        Ok(buffer)
    }

    pub fn write<T: Element>(&mut self, buffer: Buffer<T>, data: &[T]) -> Result<(), MemoryError> {
        self.simulator.write(buffer, data)?;
        let bytes = bytes_of::<T>(data.len());
        self.observer.written(buffer.address, bytes);
        Ok(())
    }

    pub fn read<T: Element>(&mut self, buffer: Buffer<T>) -> Result<Vec<T>, MemoryError> {
        let data = self.simulator.read(buffer)?;
        let bytes = bytes_of::<T>(data.len());
        self.observer.read(buffer.address, bytes);
        Ok(data)
    }

    pub fn free<T>(&mut self, buffer: Buffer<T>) -> Result<(), MemoryError> {
        self.simulator.free(buffer)?;
        self.observer.freed(buffer.address);
        Ok(())
    }

    pub fn load(&mut self, module: &Module) -> Result<Instance, InstanceError> {
        let instance = self.simulator.load(module)?;
        for (address, bytes) in instance.places() {
            self.observer.allocated(address, bytes);
            self.observer.written(address, bytes);
        }
        Ok(instance)
    }

    pub fn unload(&mut self, instance: Instance) -> Result<(), InstanceError> {
        self.simulator.unload(instance.clone())?;
        let places = instance.places();
        places.for_each(|(address, _)| self.observer.freed(address));
        Ok(())
    }

    /// Runs a kernel. If the kernel faults, the observer does not receive observations from the launch.
    pub fn launch(&mut self, launch: &Launch<'_>) -> Result<(), LaunchError> {
        let seen = (self.simulator).launch_observed(launch, self.observer.fork())?;
        self.observer.merge(seen);
        Ok(())
    }
}

fn bytes_of<T>(len: usize) -> u64 {
    (len * size_of::<T>()) as u64
}
