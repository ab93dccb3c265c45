//! The CUDA C++ twins of the rungs on the SIMT machine: what the kernels are timed against computes the same.
//!
//! Where there is no `nvcc` there is nothing to run, and the tests say so and pass. It is looked for in `NVCC`,
//! where `cargo xtask setup --nvidia` puts it, in `PATH`, and in the usual places of a toolkit.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use host::device::Sim;
use host::problem::Verdict;
use host::{Device as _, Effort, KERNELS, Rung, Session, ladder, ladders};
use ptx::Outline;

/// How many rungs of each ladder, from the first, have a twin: those that other texts have too.
const TWINS: [(&str, usize); 5] = [
    ("reduce", 16),
    ("transpose", 7),
    ("shuffle", 7),
    ("matmul", 8),
    ("histogram", 5),
];

/// The release whose folder `cargo xtask setup --nvidia` fills.
const RELEASE: &str = "13.5";

/// Where `nvcc` is.
fn nvcc() -> Option<PathBuf> {
    // Cargo's folder for what integration tests write lies in the target folder.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let installed = target.join("nvidia").join(RELEASE).join("nvidia/cu13");
    let named = |name| env::var_os(name).filter(|value| !value.is_empty());
    let mut places: Vec<PathBuf> = named("NVCC").map(PathBuf::from).into_iter().collect();
    places.push(installed.join("bin/nvcc"));
    let path = named("PATH").unwrap_or_default();
    places.extend(env::split_paths(&path).map(|folder| folder.join("nvcc")));
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(named);
    places.extend(toolkits.map(|folder| PathBuf::from(folder).join("bin/nvcc")));
    places.push("/usr/local/cuda/bin/nvcc".into());
    places.into_iter().find(|place| place.is_file())
}

/// The PTX of a ladder's twins.
fn compile(nvcc: &Path, ladder: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../benches/cuda")
        .join(ladder)
        .with_extension("cu");
    let output = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(ladder)
        .with_extension("ptx");
    let ran = Command::new(nvcc)
        .args(["-ptx", "-O3", "-std=c++17", "-arch=compute_75", "-o"])
        .arg(&output)
        .arg(&source)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success(),
        "{} of {}: {said}",
        nvcc.display(),
        source.display()
    );
    assert_eq!(said, "", "warnings");
    std::fs::read_to_string(output).unwrap()
}

/// The entries of a rung that have twins: those of the ladder's usual computation, where it has one.
fn twinned(rung: &Rung) -> Vec<String> {
    match rung.entries.of("") {
        Some(entries) => Rung { entries, ..*rung }.entry_names(),
        None => rung.entry_names(),
    }
}

/// Runs every twin of a ladder on the ladder's edges, with every block, and compares with its reference.
fn check(name: &str) {
    let Some(nvcc) = nvcc() else {
        eprintln!(
            "there is no nvcc, so no twin of {name} was run; `cargo xtask setup --nvidia` installs one"
        );
        return;
    };
    let ladder = ladder(name).unwrap();
    let text = compile(&nvcc, name);
    let sizes = |text: &str| -> BTreeMap<String, Vec<u32>> {
        Outline::new(text)
            .entries()
            .map(|entry| (entry.name.to_owned(), entry.parameter_bytes))
            .collect()
    };
    let (of_twins, of_kernels) = (sizes(&text), sizes(KERNELS.modules[0].text));
    for (entry, parameters) in &of_twins {
        assert_eq!(of_kernels.get(entry), Some(parameters), "{entry}");
    }

    let (_, rungs) = TWINS.iter().find(|(known, _)| *known == name).unwrap();
    let expected: BTreeSet<String> = ladder.rungs[..*rungs].iter().flat_map(twinned).collect();
    let entries: BTreeSet<String> = of_twins.into_keys().collect();
    assert_eq!(entries, expected);

    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    let code = sim.load(text).unwrap();
    let mut checked = BTreeSet::new();
    for options in (ladder.sweep)(Effort::Least) {
        let problem = ladder.problem(&options).unwrap();
        let mut session = Session::new(&mut sim, &*problem, true).unwrap();
        for rung in ladder.select(&[], &*problem).unwrap() {
            for block in ladder.blocks_of(rung, &*problem) {
                let mut launch = ladder.launch(rung, &*problem, Some(block)).unwrap();
                if !entries.contains(&launch.entry) {
                    continue;
                }
                launch.code = code;
                let verdict = session.check(rung, &launch).unwrap();
                assert_eq!(verdict, Verdict::Right, "{launch} at {}", problem.size());
                checked.insert(launch.entry);
            }
        }
    }
    assert_eq!(checked, entries, "the sweep leaves out twins");
    eprintln!("{} twins of {name} are right", checked.len());
}

#[test]
fn every_ladder_has_twins() {
    let names: BTreeSet<_> = TWINS.iter().map(|(name, _)| *name).collect();
    let all: BTreeSet<_> = ladders().iter().map(|ladder| ladder.name).collect();
    assert_eq!(names, all);
}

#[test]
fn the_twins_of_the_reduction_are_right() {
    check("reduce");
}

#[test]
fn the_twins_of_the_transpose_are_right() {
    check("transpose");
}

#[test]
fn the_twins_of_the_shuffle_are_right() {
    check("shuffle");
}

#[test]
fn the_twins_of_the_product_are_right() {
    check("matmul");
}

#[test]
fn the_twins_of_the_histogram_are_right() {
    check("histogram");
}
