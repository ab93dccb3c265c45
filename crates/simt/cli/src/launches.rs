//! The launches that a command line describes, ready to run.

use super::args::{KernelLaunch, LaunchArguments, Symbol};
use super::spec::Spec;
use super::values::{BufferInit, Type};
use super::{Failure, load, parameters, refused};
use simt::demangled;
use simt::run::{Arg, Buffer, Config, Instance, Launch, LaunchError, Schedule, Simulator};
use simt::{Function, Module};

/// The launches of a file, with a simulator that holds their buffers.
pub struct OpenLaunches {
    /// The simulator.
    pub simulator: Simulator,
    /// The launches, in order.
    pub launches: Vec<OpenLaunch>,
    /// The buffers among the arguments, by argument index.
    pub(super) held: Vec<Option<BufferArg>>,
}

/// A launch whose arguments fit its kernel.
pub struct OpenLaunch {
    launch: KernelLaunch,
    /// The kernel.
    pub function: Function,
    args: Vec<Arg>,
    cooperative: bool,
}

/// A buffer among the arguments.
pub(super) struct BufferArg {
    pub(super) ty: Type,
    pub(super) count: usize,
    pub(super) buffer: Buffer<u8>,
}

impl OpenLaunch {
    /// Returns the launch in the simulator's form.
    pub fn launch(&self) -> Launch<'_> {
        let parameters = &self.launch;
        let launch = Launch::new(&self.function, parameters.grid, parameters.block, &self.args);
        launch.with_shared_bytes(parameters.shared).with_cooperative(self.cooperative).with_cluster(parameters.cluster)
    }
}

impl LaunchArguments {
    /// Returns the error message for a launch that the simulator rejected or whose kernel faulted.
    pub fn failed(&self, error: LaunchError) -> Failure {
        match error {
            LaunchError::Fault(fault) => Failure::fault(&fault, &self.file),
            error => Failure::usage(error.to_string()),
        }
    }

    /// Reads the file, creates the buffers, and checks that the arguments fit the kernels.
    ///
    /// # Errors
    /// Returns an error message about the file or the arguments.
    pub fn open(&self) -> Result<OpenLaunches, Failure> {
        let (_, module) = load(&self.file)?;
        self.open_module(&module)
    }

    /// Creates the launches as [`open`](Self::open) does, but from a parsed module.
    ///
    /// # Errors
    /// Returns an error message about the arguments.
    pub fn open_module(&self, module: &Module) -> Result<OpenLaunches, Failure> {
        let memory = room(self)?;
        let config = Config {
            max_memory_bytes: memory,
            threads: self.threads.unwrap_or(0) as usize,
            max_instructions: self.max_instructions,
            time_limit: self.time_limit,
            schedule: self.schedule,
            ..Config::default()
        };
        let mut simulator = Simulator::new(config)
            .map_err(|error| Failure::usage(format!("cannot start threads: {error}; lower --threads")))?;
        let instance = simulator.load(module).map_err(|error| Failure::usage(error.to_string()))?;
        for Symbol { name, value } in &self.symbol {
            set(&mut simulator, &instance, name, value)
                .map_err(|why| Failure::usage(format!("--symbol {name}: {why}")))?;
        }
        let mut functions = Vec::new();
        for launch in self.launches(module).map_err(Failure::usage)? {
            let function = instance.function(&launch.entry);
            functions.push((launch, function.map_err(|error| refused(&self.file, &error))?));
        }
        let mut random = match self.schedule {
            Schedule::Random(seed) => Some(fastrand::Rng::with_seed(seed)),
            _ => None,
        };
        let mut held = Vec::with_capacity(self.arg.len());
        let mut values = Vec::with_capacity(self.arg.len());
        for (index, spec) in self.arg.iter().enumerate() {
            let (value, buffer) = place(&mut simulator, spec, &mut random)
                .map_err(|why| Failure::usage(format!("argument {index}: {why}")))?;
            values.push(value);
            held.push(buffer);
        }

        let mut launches = Vec::new();
        for (launch, function) in functions {
            let count = values.len();
            let numbers = launch.args.clone().unwrap_or_else(|| (0..count).collect());
            if let Some(number) = numbers.iter().find(|number| **number >= count) {
                let entry = &launch.entry;
                let problem =
                    format!("--launch {entry}: there is no argument {number}; there are {count}, numbered from 0");
                return Err(Failure::usage(problem));
            }
            let specs: Vec<_> = numbers.iter().map(|number| (*number, &self.arg[*number])).collect();
            parameters::check(&function.program().params, &specs).map_err(|problem| {
                let kernel = demangled(function.name());
                Failure::usage(format!("kernel `{kernel}`: {problem}"))
            })?;
            let args = numbers.iter().map(|number| values[*number].clone()).collect();
            launches.push(OpenLaunch { launch, function, args, cooperative: self.cooperative });
        }
        Ok(OpenLaunches { simulator, launches, held })
    }
}

/// Sets a variable to a value.
fn set(simulator: &mut Simulator, instance: &Instance, name: &str, value: &Spec) -> Result<(), String> {
    let variable = instance.variable::<u8>(name).map_err(|error| error.to_string())?;
    let filled;
    let bytes = match value {
        Spec::Scalar { bytes, .. } => bytes,
        Spec::Buffer { ty, count, fill } => {
            filled = ty.fill(*count, fill)?;
            &filled
        }
    };
    if bytes.len() != variable.len() {
        let (size, given) = (variable.len(), bytes.len());
        return Err(format!("the variable has {size} bytes, and the value {given}"));
    }
    let written = simulator.write(variable, bytes);
    written.map_err(|error| error.to_string())
}

/// Checks that the kernel's arguments fit into the host's memory. Returns the number of free bytes, or 16 GiB if that
/// number is unknown.
fn room(args: &LaunchArguments) -> Result<u64, Failure> {
    // Every buffer temporarily exists twice: as bytes here and in the simulator's memory.
    let mut need = 0usize;
    let values = args.symbol.iter().map(|symbol| &symbol.value);
    for spec in args.arg.iter().chain(values) {
        if let Spec::Buffer { ty, count, .. } = spec {
            need = count.checked_mul(ty.bytes()).and_then(|bytes| need.checked_add(bytes)).ok_or_else(|| {
                let name = ty.name();
                Failure::usage(format!("{name}[{count}] exceeds any memory"))
            })?;
        }
    }
    let free = simt::run::available_memory().unwrap_or(16 << 30);
    if (need as u64).saturating_mul(2) > free {
        return Err(Failure::usage(format!(
            "filling the buffers needs twice their {need} bytes, but this computer has only {free} bytes free; \
             make them smaller"
        )));
    }
    Ok(free)
}

/// Uploads an argument to the simulator. Uninitialized buffers hold random bytes if there is a random generator.
fn place(
    simulator: &mut Simulator,
    spec: &Spec,
    random: &mut Option<fastrand::Rng>,
) -> Result<(Arg, Option<BufferArg>), String> {
    match spec {
        Spec::Scalar { bytes, .. } => Ok((Arg::Bytes(bytes.clone()), None)),
        Spec::Buffer { ty, count, fill } => {
            let buffer = match (fill, random) {
                (BufferInit::Zeros, _) => simulator.zeroed(count * ty.bytes()),
                (BufferInit::Uninit, Some(random)) => {
                    let mut bytes = vec![0; count * ty.bytes()];
                    random.fill(&mut bytes);
                    simulator.upload(&bytes)
                }
                (fill, _) => simulator.upload(&ty.fill(*count, fill)?),
            }
            .map_err(|error| error.to_string())?;
            if let BufferInit::Uninit = fill {
                simulator.memory_mut().set_unwritten(buffer.address());
            }
            let held = BufferArg { ty: *ty, count: *count, buffer };
            Ok((buffer.into(), Some(held)))
        }
    }
}
