//! Tests that any program, with any geometry and arguments and under any schedule and checks, ends or is refused.
//!
//! By default, a fixed number of programs run. `FUZZ_SECONDS` sets a time limit instead, and `FUZZ_SEED` the first
//! seed. The targets of crates/simt/simt/fuzz test the same with inputs that libFuzzer chooses.

#[path = "../fuzz/program.rs"]
mod program;

use std::time::{Duration, Instant};

use fastrand::Rng;
use simt::{Arg, Config, Function, Launch, LaunchError, Module, Schedule, Simulator};
use simt_check::{Check, Checks};

use crate::programs::programs;

/// Calls a test with seeds, and prints the seed at which the test panics.
fn for_seeds(count: u64, test: impl Fn(&mut Rng)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("FUZZ_SECONDS").map(Duration::from_secs);
    let (began, first) = (Instant::now(), number("FUZZ_SEED").unwrap_or(0));
    let is_last = |seed| match seconds {
        Some(seconds) => began.elapsed() > seconds,
        None => seed + 1 == first + count,
    };
    for seed in first.. {
        let report = SeedReport(seed);
        test(&mut Rng::with_seed(seed));
        std::mem::forget(report);
        if is_last(seed) {
            return println!("seeds {first} to {seed}");
        }
    }
}

/// Prints its seed when a test panics.
struct SeedReport(u64);

impl Drop for SeedReport {
    fn drop(&mut self) {
        println!("failing seed: FUZZ_SEED={}", self.0);
    }
}

fn simulator(random: &mut Rng) -> Simulator {
    let schedule = match random.usize(..3) {
        0 => Schedule::Fixed,
        1 => Schedule::RoundRobin,
        _ => Schedule::Random(random.u64(..)),
    };
    Simulator::new(Config {
        threads: 1,
        schedule,
        max_instructions: 20_000,
        max_local_bytes: 4096,
        max_memory_bytes: 16 << 20,
        ..Config::default()
    })
    .unwrap()
}

/// Launches a kernel with any geometry, arguments and checks.
fn launch(simulator: &mut Simulator, function: &Function, random: &mut Rng) {
    let buffers = [64, 1024, 1 << 18].map(|len| simulator.zeroed::<u32>(len).unwrap());
    let params = &function.program().params;
    let mut args: Vec<Arg> = params
        .iter()
        .map(|param| match (param.bytes, random.usize(..16)) {
            (8, 0) => Arg::Pointer(random.u64(..)),
            (8, 1) => Arg::Pointer(0),
            (8, _) => random.choice(buffers).unwrap().into(),
            (bytes, _) => Arg::Bytes((0..bytes).map(|_| random.u8(..) >> random.choice([0, 4, 7]).unwrap()).collect()),
        })
        .collect();
    if random.usize(..20) == 0 {
        args.truncate(random.usize(..3));
    }
    let mut sides = |usual: [u32; 3]| match random.usize(..6) {
        0 => [0; 3].map(|_: u32| random.choice([0, 1, 2, 3, 33, 1024, 1025, u32::MAX]).unwrap()),
        _ => usual,
    };
    let usual = function.program().required_block.unwrap_or([40, 1, 1]);
    let (grid, block) = (sides([2, 1, 1]), sides(usual));
    // A grid with more blocks than the instruction budget only takes time, so its sides are limited.
    let grid = if grid.iter().all(|side| *side <= 33) { grid } else { [grid[0].min(1025), 1, 1] };
    let cluster = random.choice([None, None, None, Some([2, 1, 1]), Some([0, 1, 1]), Some([16, 16, 16])]).unwrap();
    let launch = Launch::new(function, grid, block, &args)
        .with_shared_bytes(random.choice([0, 64, 4096, 1 << 17, u32::MAX]).unwrap())
        .with_cooperative(random.usize(..4) == 0)
        .with_cluster(cluster);
    let checks: Checks = Check::ALL.iter().copied().filter(|_| random.bool()).collect();
    let error = match random.usize(..3) {
        0 => simulator.launch(&launch).err(),
        _ => {
            let sanitized = checks.launch(simulator, &launch);
            for finding in &sanitized.findings {
                // A skipped access is a finding under any checks.
                let is_requested = checks.contains(finding.check) || finding.check == Check::Memory;
                assert!(is_requested && !finding.to_string().is_empty());
            }
            sanitized.result.err()
        }
    };
    if let Some(error) = error {
        assert!(!error.to_string().is_empty());
        assert!(!matches!(error, LaunchError::Instance { .. }));
    }
    buffers.into_iter().for_each(|buffer| simulator.free(buffer).unwrap());
}

#[test]
fn any_instructions() {
    for_seeds(150, |random| {
        let mut data = vec![0; random.usize(..300)];
        random.fill(&mut data);
        let text = program::program(&data);
        let Ok(module) = Module::from_ptx(text) else { return };
        let Ok(function) = module.function("k") else { return };
        launch(&mut simulator(random), &function, random);
    });
}

/// Runs the programs of the tests with lines deleted, duplicated, moved or changed.
#[test]
fn mutated_programs() {
    let names = ["barriers", "masks", "exits", "async", "copies", "pipelines", "clusters", "flags", "matrices", "wide"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let texts: Vec<String> =
        names.iter().filter_map(|name| std::fs::read_to_string(folder.join(name).with_extension("ptx")).ok()).collect();
    assert!(texts.len() > 5);
    for_seeds(12, |random| {
        let text = random.choice(&texts).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..1 + random.usize(..8) {
            // Keep the head, because a program without it is always refused.
            let (at, other) = (12 + random.usize(..lines.len() - 13), 12 + random.usize(..lines.len() - 13));
            match random.usize(..4) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at]),
                2 => lines.swap(at, other),
                _ => lines.insert(at, lines[other]),
            }
        }
        let Ok(module) = Module::from_ptx(lines.join("\n")) else { return };
        let kernels: Vec<&str> = module.kernels().collect();
        let Some(name) = random.choice(&kernels) else { return };
        let Ok(function) = module.function(name) else { return };
        launch(&mut simulator(random), &function, random);
    });
}

/// Runs the programs of the tests with arguments and geometries that they do not expect.
#[test]
fn other_arguments() {
    let all = programs();
    let functions: Vec<&Function> = all.iter().filter_map(|program| program.function.as_ref().ok()).collect();
    for_seeds(150, |random| {
        let function = *random.choice(&functions).unwrap();
        launch(&mut simulator(random), function, random);
    });
}
