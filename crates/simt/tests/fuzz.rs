//! Any program, launched with any geometry and arguments under any schedule and checks, ends or is refused.
//!
//! A fixed number of programs by default; as many as fit into `FUZZ_SECONDS`, from the seed `FUZZ_SEED` on. The targets of
//! crates/simt/fuzz do the same with what libFuzzer chooses.

#[path = "../fuzz/program.rs"]
mod program;

use std::time::{Duration, Instant};

use simt::sanitize::{Check, Checks};
use simt::{Arg, Config, Function, Launch, LaunchError, Machine, Module, Schedule};

use crate::programs::programs;

/// Calls a test with seeds, and names the one that panics.
fn for_seeds(usual: u64, test: impl Fn(&mut Random)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("FUZZ_SECONDS").map(Duration::from_secs);
    let (began, first) = (Instant::now(), number("FUZZ_SEED").unwrap_or(0));
    for seed in first.. {
        let named = Named(seed);
        test(&mut Random(seed));
        std::mem::forget(named);
        match seconds {
            Some(seconds) if began.elapsed() > seconds => break,
            None if seed + 1 == first + usual => break,
            _ => {}
        }
    }
}

/// Says which seed it is when a test panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        println!("FUZZ_SEED={} does it", self.0);
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

fn machine(random: &mut Random) -> Machine {
    let schedule = match random.below(3) {
        0 => Schedule::Fixed,
        1 => Schedule::RoundRobin,
        _ => Schedule::Random(random.next()),
    };
    Machine::new(Config {
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
fn launch(machine: &mut Machine, function: &Function, random: &mut Random) {
    let buffers = [64, 1024, 1 << 18].map(|len| machine.zeroed::<u32>(len).unwrap());
    let params = &function.program().params;
    let mut args: Vec<Arg> = params
        .iter()
        .map(|param| match (param.bytes, random.below(16)) {
            (8, 0) => Arg::Pointer(random.next()),
            (8, 1) => Arg::Pointer(0),
            (8, _) => random.of(&buffers).into(),
            (bytes, _) => Arg::Bytes((0..bytes).map(|_| random.next() as u8 >> random.of(&[0, 4, 7])).collect()),
        })
        .collect();
    if random.below(20) == 0 {
        args.truncate(random.below(3));
    }
    let mut sides = |usual: [u32; 3]| match random.below(6) {
        0 => [0; 3].map(|_: u32| random.of(&[0, 1, 2, 3, 33, 1024, 1025, u32::MAX])),
        _ => usual,
    };
    let usual = function.program().required_block.unwrap_or([40, 1, 1]);
    let (grid, block) = (sides([2, 1, 1]), sides(usual));
    // More blocks than the budget has instructions are run up to there, which takes time and finds nothing.
    let grid = if grid.iter().all(|side| *side <= 33) { grid } else { [grid[0].min(1025), 1, 1] };
    let cluster = random.of(&[None, None, None, Some([2, 1, 1]), Some([0, 1, 1]), Some([16, 16, 16])]);
    let launch = Launch::new(function, grid, block, &args)
        .with_shared_bytes(random.of(&[0, 64, 4096, 1 << 17, u32::MAX]))
        .with_cooperative(random.below(4) == 0)
        .with_cluster(cluster);
    let checks: Checks = Check::ALL.into_iter().filter(|_| random.below(2) == 0).collect();
    let error = match random.below(3) {
        0 => machine.launch(&launch).err(),
        _ => {
            let sanitized = machine.launch_sanitized(&launch, checks);
            for finding in &sanitized.findings {
                assert!(checks.contains(finding.check) && !finding.to_string().is_empty());
            }
            sanitized.result.err()
        }
    };
    if let Some(error) = error {
        assert!(!error.to_string().is_empty());
        assert!(!matches!(error, LaunchError::Instance { .. }));
    }
    buffers.into_iter().for_each(|buffer| machine.free(buffer).unwrap());
}

#[test]
fn any_instructions() {
    for_seeds(150, |random| {
        let mut data = vec![0; random.below(300)];
        data.fill_with(|| random.next() as u8);
        let text = program::program(&data);
        let Ok(module) = Module::from_ptx(text) else { return };
        let Ok(function) = module.function("k") else { return };
        launch(&mut machine(random), &function, random);
    });
}

/// The programs of the tests with lines that are missing, doubled, moved or changed.
#[test]
fn mutated_programs() {
    let names = ["barriers", "masks", "exits", "async", "copies", "pipelines", "clusters", "flags", "matrices", "wide"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let texts: Vec<String> =
        names.iter().filter_map(|name| std::fs::read_to_string(folder.join(name).with_extension("ptx")).ok()).collect();
    assert!(texts.len() > 5);
    for_seeds(12, |random| {
        let text = &texts[random.below(texts.len())];
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..1 + random.below(8) {
            // The head stays: without it there is nothing to find.
            let (at, other) = (12 + random.below(lines.len() - 13), 12 + random.below(lines.len() - 13));
            match random.below(4) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at]),
                2 => lines.swap(at, other),
                _ => lines.insert(at, lines[other]),
            }
        }
        let Ok(module) = Module::from_ptx(lines.join("\n")) else { return };
        let kernels: Vec<&str> = module.kernels().collect();
        let Some(name) = kernels.get(random.below(kernels.len().max(1))) else { return };
        let Ok(function) = module.function(name) else { return };
        launch(&mut machine(random), &function, random);
    });
}

/// The programs of the tests with arguments and geometries that they are not made for.
#[test]
fn other_arguments() {
    let all = programs();
    let functions: Vec<&Function> = all.iter().filter_map(|program| program.function.as_ref().ok()).collect();
    for_seeds(150, |random| {
        let function = random.of(&functions);
        launch(&mut machine(random), function, random);
    });
}
