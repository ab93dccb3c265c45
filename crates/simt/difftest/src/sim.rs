//! Running instances on [`simt`].

use std::error::Error;

use simt::{Config, Launch, Module, Simulator};

use crate::plan::Plan;

/// The results of all kernels.
///
/// # Errors
/// When `simt` cannot load the PTX or refuses one of its instructions.
pub fn run(plan: &Plan) -> Result<Vec<u64>, Box<dyn Error>> {
    let module = Module::from_ptx(plan.ptx.clone())?;
    let mut simulator = Simulator::new(Config::default()).map_err(|error| format!("no host threads: {error}"))?;
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
