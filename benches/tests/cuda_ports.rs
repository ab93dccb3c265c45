//! Tests on the simulator that the CUDA ports compute the same results as their rungs.
//!
//! Without an nvcc, the test prints a message and passes. [`Nvcc::find`] documents where it searches for nvcc.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::thread;

use benches::cases::Case;
use benches::cuda_code::PORTS;
use benches::nvcc::Nvcc;
use host::device::Sim;
use host::problem::Verdict;
use host::{Device as _, DeviceProperties, Effort, KERNELS, Ladder, Rung, Session};
use ptx::Outline;

/// Problems to check in addition to the smallest sizes of a ladder's sweep.
const MORE: &[(&str, &str)] = &[
    // Several tiles, more stages than fit into shared memory, and edges in every dimension.
    ("gemm", "m=150 n=264 k=296"),
    // Rows that tensor maps cannot describe, of an even and an odd number of elements.
    ("gemm", "m=130 n=134 k=70"),
    ("gemm", "m=67 n=71 k=33"),
];

/// Returns the PTX of a file of CUDA ports, for an architecture.
fn compile(nvcc: &Nvcc, file: &str, arch: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda").join(file);
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{file}.{arch}.ptx"));
    let ran = Command::new(&nvcc.program)
        .args(["-ptx", "-O3", "-std=c++17", &format!("-arch={arch}"), "-o"])
        .args([&output, &source])
        .output()
        .unwrap();
    let written = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{}: {written}", source.display());
    assert_eq!(written, "", "warnings");
    std::fs::read_to_string(output).unwrap()
}

/// Returns the entries of a rung that can have ports: those of the ladder's usual computation, if it has one.
fn portable(rung: &Rung) -> Vec<String> {
    match rung.entries.of("") {
        Some(entries) => Rung { entries, ..*rung }.entry_names(),
        None => rung.entry_names(),
    }
}

/// Runs every CUDA port of a ladder on the ladder's edge cases, with every block size, and compares with the reference.
fn check(nvcc: &Nvcc, ladder: &'static Ladder) {
    let name = ladder.name;
    let Some(ports) = PORTS.iter().find(|ports| ports.ladder == name) else {
        eprintln!("{name} has no CUDA ports");
        return;
    };
    let kernels = KERNELS.newest_for(None).unwrap().unwrap();
    let text = compile(nvcc, ports.file, &kernels.arch("compute"));
    let sizes = |text: &str| -> BTreeMap<String, Vec<u32>> {
        Outline::new(text).entries().map(|entry| (entry.name.to_owned(), entry.parameter_bytes)).collect()
    };
    let (of_ports, of_kernels) = (sizes(&text), sizes(kernels.text()));
    for (entry, parameters) in &of_ports {
        assert_eq!(of_kernels.get(entry), Some(parameters), "{entry}");
    }
    // A rung with a port has a port for every entry, and no port is without an entry.
    let entries: BTreeSet<String> = of_ports.into_keys().collect();
    let of_rungs = ladder.rungs.iter().map(portable);
    let ported = of_rungs.filter(|of_rung| of_rung.iter().any(|entry| entries.contains(entry)));
    assert_eq!(entries, ported.flatten().collect(), "{name}");

    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    let code = sim.load(text).unwrap();
    let mut checked = BTreeSet::new();
    let more = MORE.iter().filter(|(ladder, _)| *ladder == name);
    let more = more.map(|&(_, options)| Case::new((name, "", options)).options);
    for options in (ladder.sweep)(Effort::Least).into_iter().chain(more) {
        let problem = ladder.problem(&options).unwrap();
        let mut session = Session::new(&mut sim, &*problem, true).unwrap();
        let mut rungs = ladder.select(&[], &*problem).unwrap();
        rungs.retain(|rung| problem.refuses(rung).is_none());
        for rung in rungs {
            for block in ladder.blocks_of(rung, &*problem) {
                let mut launch = ladder.launch(rung, &*problem, Some(block), DeviceProperties::default()).unwrap();
                if !entries.contains(&launch.entry) {
                    continue;
                }
                launch.code = code;
                // With two blocks, each block computes several tiles.
                let fewer = (rung.blocks_wait && launch.grid[0] > 2).then_some([2, 1, 1]);
                for grid in [Some(launch.grid), fewer].into_iter().flatten() {
                    launch.grid = grid;
                    let verdict = session.check(rung, &launch).unwrap();
                    assert_eq!(verdict, Verdict::Right, "{launch} at {}", problem.labels().size);
                }
                checked.insert(launch.entry);
            }
        }
    }
    assert_eq!(checked, entries, "the sweep of {name} misses CUDA ports");
    eprintln!("{} CUDA ports of {name} are right", checked.len());
}

#[test]
fn cuda_ports_compute_what_their_rungs_do() {
    let nvcc = match Nvcc::find() {
        Ok(nvcc) => nvcc,
        Err(error) => {
            eprintln!("no CUDA port ran: {error}");
            return;
        }
    };
    thread::scope(|scope| {
        for ladder in host::ladders() {
            scope.spawn(|| check(&nvcc, ladder));
        }
    });
}

#[test]
fn cuda_ports_belong_to_existing_ladders() {
    for ports in PORTS {
        assert_eq!(host::ladder(ports.ladder).unwrap().name.to_owned() + ".cu", ports.file);
    }
}
