//! Loaded modules, whose variables keep their values from launch to launch.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::simulator::{Buffer, Element, Simulator};
use crate::demangle::demangled;
use crate::memory::global::MemoryError;
use crate::module::{Function, LoadError, Module, ModuleAddresses, Text};
use crate::names;

/// The error of a module that cannot be loaded, or of an instance that cannot be used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// There is no memory for a variable of the module.
    #[error("the module's variable `{}`: {source}", demangled(.variable))]
    Memory {
        /// The variable.
        variable: String,
        /// The reason why the memory cannot be allocated.
        source: MemoryError,
    },
    /// The module has no variable with this name.
    #[error("there is no variable `{name}`; {}", match .nearest {
        Some(nearest) => format!("the nearest name is `{nearest}`"),
        None => "the module has none".to_owned(),
    })]
    NoSuchVariable {
        /// The requested name.
        name: String,
        /// The demangled name of the most similar variable.
        nearest: Option<String>,
    },
    /// The name is a short form of the names of several variables.
    #[error("`{name}` could mean {}; write one of these names", .meant.join(" or "))]
    AmbiguousVariable {
        /// The requested name.
        name: String,
        /// The demangled names of the matching variables.
        meant: Vec<String>,
    },
    /// The size of the variable is not a multiple of the element size.
    #[error(
        "variable `{name}` has {bytes} bytes, which is not a multiple of the element size of {element_bytes}; \
         use u8 or the kernel's type"
    )]
    Element {
        /// The variable.
        name: String,
        /// The size of the variable in bytes.
        bytes: u64,
        /// The size of an element in bytes.
        element_bytes: usize,
    },
    /// The instance was unloaded.
    #[error("the module was unloaded; unload it after its last use, or load it again")]
    Unloaded,
    /// The instance belongs to another simulator.
    #[error("the module was loaded by another simulator; load it on this one too")]
    Foreign,
}

crate::error::debug_like_display!(InstanceError);

/// A module that a simulator has loaded, with separate variables.
///
/// The module's `.global` and `.const` variables keep their values from launch to launch, and the host can read and
/// write them between launches. A module can be loaded several times; each instance has separate variables, all in the
/// same address space. An instance is a handle: its variables live until [`Simulator::unload`] frees them or the
/// simulator is dropped.
///
/// ```
/// use simt::{Config, Launch, Simulator, Module};
///
/// let module = Module::from_ptx(
///     ".version 8.0
///      .target sm_80
///      .address_size 64
///      .visible .const .align 4 .u32 step = 1;
///      .visible .global .align 4 .u32 total;
///      .entry count()
///      {
///          .reg .b32 %r<2>;
///          ld.const.u32 %r0, [step];
///          atom.global.add.u32 %r1, [total], %r0;
///          ret;
///      }",
/// )?;
/// let mut simulator = Simulator::new(Config::default())?;
/// let instance = simulator.load(&module)?;
/// let (step, total) = (instance.variable::<u32>("step")?, instance.variable::<u32>("total")?);
///
/// let count = instance.function("count")?;
/// let launch = Launch::new(&count, [1, 1, 1], [32, 1, 1], &[]);
/// simulator.launch(&launch)?;
/// simulator.write(step, &[100])?;
/// simulator.launch(&launch)?;
/// assert_eq!(simulator.read(total)?, [32 + 3200]);
///
/// // Another instance has other variables.
/// let other = simulator.load(&module)?;
/// assert_eq!(simulator.read(other.variable::<u32>("total")?)?, [0]);
///
/// simulator.unload(instance)?;
/// assert!(simulator.launch(&launch).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Instance {
    module: Module,
    placed: Arc<ModuleAddresses>,
}

impl Instance {
    /// Returns the address and the size in bytes of each variable.
    pub(super) fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        self.module.text.places(&self.placed.addresses)
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns the address of the variable with exactly this name in the text.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        let mut variables = self.module.text.variables.iter().zip(&self.placed.addresses);
        variables.find_map(|(variable, address)| (variable.as_ref()?.name == name).then_some(*address))
    }

    /// Returns a kernel that uses the variables of this instance, by a name that [`Module::function`] accepts.
    ///
    /// # Errors
    /// Returns the [`LoadError`] of [`Module::function`] when there is no such kernel or it cannot be loaded.
    pub fn function(&self, name: &str) -> Result<Function, LoadError> {
        Ok(Function { placed: Some(self.placed.clone()), ..self.module.function(name)? })
    }

    /// Returns a variable as a buffer for [`Simulator::read`] and [`Simulator::write`]. `name` is the name in the text,
    /// the demangled name, or an unambiguous part of the demangled name. With elements of type `u8`, the buffer
    /// contains the bytes of the variable.
    ///
    /// Kernels see a host write to a constant from the next launch on. The buffer's address is in global memory; a
    /// kernel that receives this address as an argument can read and write the variable through it.
    ///
    /// # Errors
    /// Returns one of these errors:
    /// - [`InstanceError::NoSuchVariable`] when the module has no variable with this name.
    /// - [`InstanceError::AmbiguousVariable`] when the name is part of several names.
    /// - [`InstanceError::Element`] when the size of the variable is not a multiple of the element size.
    pub fn variable<T: Element>(&self, name: &str) -> Result<Buffer<T>, InstanceError> {
        let variables = self.module.text.variables.iter().zip(&self.placed.addresses);
        let variables = variables.filter_map(|(variable, address)| Some((variable.as_ref()?, *address)));
        let known = variables.clone().map(|(variable, _)| variable.name.as_str());
        let at = names::find(known.clone(), name).map_err(|meant| {
            let name = name.to_owned();
            match meant.is_empty() {
                true => InstanceError::NoSuchVariable { nearest: names::nearest(known, &name), name },
                false => InstanceError::AmbiguousVariable { name, meant },
            }
        })?;
        let (variable, address) = variables.clone().nth(at).expect("found among them");
        let len = variable.bytes.checked_div(size_of::<T>() as u64);
        let whole = len.filter(|len| len * size_of::<T>() as u64 == variable.bytes);
        Ok(Buffer {
            simulator: self.placed.simulator,
            address,
            len: whole.ok_or_else(|| InstanceError::Element {
                name: name.to_owned(),
                bytes: variable.bytes,
                element_bytes: size_of::<T>(),
            })? as usize,
            is_variable: true,
            element: PhantomData,
        })
    }
}

impl Simulator {
    /// Loads a module and allocates its variables with their initial values for the lifetime of the instance.
    ///
    /// # Errors
    /// Returns [`InstanceError::Memory`] when there is no memory for a variable of the module.
    pub fn load(&mut self, module: &Module) -> Result<Instance, InstanceError> {
        static INSTANCES: AtomicU64 = AtomicU64::new(0);
        let all = 0..module.text.variables.len() as u32;
        let addresses =
            self.place(&module.text, all).map_err(|(variable, source)| InstanceError::Memory { variable, source })?;
        let placed =
            ModuleAddresses { simulator: self.number, number: INSTANCES.fetch_add(1, Ordering::Relaxed), addresses };
        self.instances.insert(placed.number);
        Ok(Instance { module: module.clone(), placed: Arc::new(placed) })
    }

    /// Frees an instance's variables. Further accesses to them are errors on the host and faults in kernels, and the
    /// kernels of the instance can no longer be launched.
    ///
    /// # Errors
    /// Returns [`InstanceError::Unloaded`] when the instance was already unloaded, and [`InstanceError::Foreign`] when
    /// another simulator has loaded it.
    pub fn unload(&mut self, instance: Instance) -> Result<(), InstanceError> {
        self.check_loaded(&instance.placed)?;
        self.instances.remove(&instance.placed.number);
        self.free_all(&instance.placed.addresses);
        Ok(())
    }

    /// Rejects an instance that belongs to another simulator or was unloaded.
    pub(super) fn check_loaded(&self, placed: &ModuleAddresses) -> Result<(), InstanceError> {
        if placed.simulator != self.number {
            return Err(InstanceError::Foreign);
        }
        match self.instances.contains(&placed.number) {
            true => Ok(()),
            false => Err(InstanceError::Unloaded),
        }
    }

    /// Allocates the variables in `numbers` with their initial values. Returns the addresses of all variables of the
    /// module, indexed by variable number; variables not in `numbers` have address 0. If an initial value is the
    /// address of another variable, that variable must be in `numbers` too.
    ///
    /// # Errors
    /// Returns the name of the variable for which there is no memory, and the reason. After an error, no variable is
    /// allocated.
    pub(super) fn place(
        &mut self,
        module: &Text,
        numbers: impl Iterator<Item = u32> + Clone,
    ) -> Result<Vec<u64>, (String, MemoryError)> {
        let variables = numbers.filter_map(|number| {
            let variable = module.variables[number as usize].as_ref()?;
            Some((number as usize, variable))
        });
        if variables.clone().next().is_none() {
            return Ok(Vec::new());
        }
        let mut addresses = vec![0; module.variables.len()];
        for (number, variable) in variables.clone() {
            let align = u64::from(variable.align);
            let allocated = match variable.is_managed {
                true => self.global.allocate_host_visible(variable.bytes),
                false => self.global.allocate_aligned(variable.bytes, align),
            };
            match allocated {
                Ok(address) => addresses[number] = address,
                Err(source) => {
                    self.free_all(&addresses);
                    return Err((variable.name.clone(), source));
                }
            }
        }
        for (number, variable) in variables {
            let memory = self.global.at_mut(addresses[number]);
            let memory = memory.expect("allocated just now");
            memory.write(0, &variable.init);
            for held in &variable.addresses {
                let target = held.variable as usize;
                let constant = module.variables[target].as_ref().and_then(|of| of.constant_at);
                let address = constant.map_or(addresses[target], u64::from);
                let value = address.wrapping_add_signed(held.offset) >> held.shift;
                let value = value.to_le_bytes();
                memory.write(held.at, &value[..held.bytes as usize]);
            }
        }
        Ok(addresses)
    }

    /// Frees variables, given the addresses that [`Simulator::place`] returned.
    pub(super) fn free_all(&mut self, addresses: &[u64]) {
        for address in addresses {
            self.global.free(*address);
        }
    }

    /// Returns the contents of constant memory at the start of a launch.
    pub(super) fn constants(&self, module: &Text, addresses: &[u64]) -> Vec<u8> {
        let mut bank = Vec::new();
        for (variable, address) in module.variables.iter().zip(addresses) {
            let constant = variable.as_ref().and_then(|variable| Some((variable, variable.constant_at?)));
            if let (Some((variable, at)), Some(memory)) = (constant, self.global.at(*address)) {
                let at = at as usize;
                bank.resize(bank.len().max(at + variable.bytes as usize), 0);
                memory.read(0, &mut bank[at..at + variable.bytes as usize]);
            }
        }
        bank
    }
}
