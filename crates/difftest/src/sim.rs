//! Running instances on [`simt`].

use std::error::Error;

use simt::{Config, Launch, Machine, Module};

use crate::generate::{IN_KERNEL, Instance, LANES, operands};

/// The results of all instances, [`LANES`] each.
///
/// # Errors
/// When `simt` cannot load the PTX or refuses one of its instructions.
pub fn run(ptx: &str, instances: &[Instance]) -> Result<Vec<u64>, Box<dyn Error>> {
    let module = Module::from_ptx(ptx)?;
    let mut machine =
        Machine::new(Config::default()).map_err(|error| format!("no host threads: {error}"))?;
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
