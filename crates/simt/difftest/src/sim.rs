//! Runs instances on [`simt`].

use std::error::Error;

use simt::{Config, Launch, Module, Simulator};

use crate::plan::Plan;

/// Returns the results of all kernels.
///
/// # Errors
/// Returns an error when `simt` cannot load the PTX or does not support an instruction.
pub fn run(plan: &Plan) -> Result<Vec<u64>, Box<dyn Error>> {
    let module = Module::from_ptx(plan.ptx.clone())?;
    let mut simulator =
        Simulator::new(Config::default()).map_err(|error| format!("cannot start host threads: {error}"))?;
    let mut results = Vec::with_capacity(plan.results());
    for (number, launch) in plan.kernels.iter().enumerate() {
        let kernel = module.function(&format!("k{number}"))?;
        let input = simulator.upload(&launch.input())?;
        let output = simulator.zeroed::<u64>(launch.results())?;
        simulator.launch(&Launch::new(
            &kernel,
            [launch.blocks, 1, 1],
            [launch.threads, 1, 1],
            &[input.into(), output.into()],
        ))?;
        results.extend(launch.kept(simulator.read(output)?));
        simulator.free(input)?;
        simulator.free(output)?;
    }
    Ok(results)
}
