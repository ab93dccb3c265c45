//! Running instances on [`simt`].

use simt::{Config, Launch, LaunchError, LoadError, Machine, MemoryError, Module};

use crate::generate::{IN_KERNEL, Instance, LANES, operands};

/// Instances that could not be run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the variants wrap what went wrong")]
pub enum SimError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("no host threads: {0}")]
    Threads(String),
}

/// The results of all instances, [`LANES`] each.
///
/// # Errors
/// [`SimError`] when `simt` cannot load the PTX or refuses one of its instructions.
pub fn run(ptx: &str, instances: &[Instance]) -> Result<Vec<u64>, SimError> {
    let module = Module::from_ptx(ptx)?;
    let mut machine =
        Machine::new(Config::default()).map_err(|error| SimError::Threads(error.to_string()))?;
    let mut results = Vec::with_capacity(instances.len() * LANES);
    for (number, group) in instances.chunks(IN_KERNEL).enumerate() {
        let kernel = module.function(&format!("k{number}"))?;
        let input = machine.upload(&operands(group))?;
        let output = machine.zeroed::<u64>(group.len() * LANES)?;
        machine.launch(&Launch::new(
            &kernel,
            [1, 1, 1],
            [LANES as u32, 1, 1],
            &[input.into(), output.into()],
        ))?;
        results.extend(machine.read(output)?);
        machine.free(input)?;
        machine.free(output)?;
    }
    Ok(results)
}
