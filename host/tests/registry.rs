//! Requirements on every ladder and rung, and on the PTX entries that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use host::launch::Arg;
use host::selection::select;
use host::{CATALOG, DeviceProperties, Effort, Entries, KERNELS, Options, Ptx, Rung, ladder, ladders};

fn entries_in(ptx: &'static Ptx) -> BTreeMap<&'static str, Vec<u32>> {
    ptx.outline().entries().map(|entry| (entry.name, entry.parameter_bytes)).collect()
}

/// Returns the entries of the newest PTX.
fn entries_in_ptx() -> BTreeMap<&'static str, Vec<u32>> {
    entries_in(KERNELS.newest_for(None).unwrap().unwrap())
}

#[test]
fn a_device_gets_the_newest_ptx_that_it_can_run() {
    let capability = |device| KERNELS.newest_for(device).unwrap().map(|ptx| ptx.capability);
    assert_eq!(capability(Some((7, 0))), None);
    assert_eq!(capability(Some((7, 5))), Some((7, 5)));
    assert_eq!(capability(Some((8, 9))), Some((8, 0)));
    assert_eq!(capability(Some((9, 0))), Some((9, 0)));
    // Only Hopper runs the PTX that is specific to it.
    assert_eq!(capability(Some((12, 1))), Some((8, 0)));
    assert_eq!(capability(None), Some((9, 0)));
    for (ptx, header) in KERNELS.modules.iter().zip(["PTX 6.3 for sm_75", "PTX 7.1 for sm_80", "PTX 8.0 for sm_90a"]) {
        assert!(ptx.outline().header().ends_with(header), "{header}");
    }
}

#[test]
fn newer_ptx_has_all_entries_of_older_ptx_with_the_same_parameters() {
    for pair in KERNELS.modules.windows(2) {
        let [older, newer] = [0, 1].map(|index| entries_in(&pair[index]));
        for (name, parameters) in older {
            assert_eq!(newer.get(name), Some(&parameters), "{name}");
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    let mut rungs = BTreeSet::new();
    let mut names = BTreeSet::new();
    for found in ladders() {
        let name = found.name;
        assert!(names.insert(name), "two ladders are named {name}");
        assert_eq!(ladder(name).unwrap().name, name);
        let prefix = format!("{name}_");
        for rung in found.rungs {
            let name = rung.name;
            assert!(rungs.insert(name), "two rungs are named {name}");
            assert_eq!(found.rung(name).unwrap().name, name);
            assert!(rung.is_bound || name.starts_with(&prefix), "{name}");
        }
    }
}

#[test]
fn the_registry_and_the_ptx_have_the_same_entries() {
    let rungs = ladders().iter().flat_map(|ladder| ladder.rungs).flat_map(|rung| rung.entry_names());
    let pitfalls = CATALOG.pitfalls.iter().flat_map(|pitfall| [pitfall.name, pitfall.fixed]).map(str::to_owned);
    let others = [include_str!("../../kernels-gpu/src/arguments.rs"), include_str!("../../kernels-gpu/src/basics.rs")];
    let others = others.into_iter().flat_map(str::lines);
    let others = others.filter_map(|line| line.strip_prefix("pub unsafe fn ")?.split('(').next());
    let named: BTreeSet<String> = rungs.chain(pitfalls).chain(others.map(str::to_owned)).collect();
    let compiled: BTreeSet<String> = entries_in_ptx().into_keys().map(str::to_owned).collect();
    let missing: Vec<_> = named.difference(&compiled).collect();
    let unlisted: Vec<_> = compiled.difference(&named).collect();
    assert!(missing.is_empty(), "rungs and pitfalls without a kernel: {missing:?}");
    assert!(unlisted.is_empty(), "kernels without a rung or a pitfall: {unlisted:?}");
}

#[test]
fn arguments_have_the_sizes_of_the_kernels_parameters() {
    let compiled = entries_in_ptx();
    for ladder in ladders() {
        let problem = ladder.problem(&Options::default()).unwrap();
        for rung in ladder.select(&[], &*problem).unwrap() {
            let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
            let sizes: Vec<u32> = launch
                .args
                .iter()
                .map(|arg| match arg {
                    Arg::U32(_) | Arg::I32(_) | Arg::F32(_) => 4,
                    Arg::Table { .. } => 64,
                    Arg::TensorMap(_) => 128,
                    _ => 8,
                })
                .collect();
            assert_eq!(compiled[launch.entry.as_str()], sizes, "{launch}");
        }
    }
}

#[test]
fn const_generic_rungs_are_compiled_for_every_block_of_their_ladder() {
    for ladder in ladders() {
        let problem = ladder.problem(&Options::default()).unwrap();
        for rung in ladder.rungs {
            assert!(ladder.blocks.contains(&rung.default_block), "{}", rung.name);
            if let Entries::PerBlock(blocks) = rung.entries {
                let is_possible = |block| ladder.blocks.contains(block);
                assert!(blocks.iter().all(is_possible), "{}", rung.name);
            }
            if rung.computes(&problem.facts().variant) {
                let usual = rung.only_block(&problem.facts().shape);
                let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
                assert_eq!(launch.block, usual.unwrap_or(rung.default_block));
                for block in ladder.blocks_of(rung, &*problem) {
                    let launch = ladder.launch(rung, &*problem, Some(block), DeviceProperties::default()).unwrap();
                    assert_eq!(launch.block, block);
                }
            }
        }
    }
}

/// Kernels whose file does not start with a `cfg` attribute are compiled for every architecture.
#[test]
fn every_rung_has_a_lesson_and_device_code_that_names_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let modules: Vec<_> = KERNELS.modules.iter().map(entries_in).collect();
    let mut everywhere = 0;
    for rung in ladders().iter().flat_map(|ladder| ladder.rungs) {
        assert!(rung.lesson.len() > 20, "{} has no lesson", rung.name);
        let code = std::fs::read_to_string(root.join(rung.source))
            .unwrap_or_else(|error| panic!("{}: {}: {error}", rung.name, rung.source));
        let (name, source) = (rung.name, rung.source);
        assert!(code.contains(name), "{source} does not name {name}");
        if !code.lines().any(|line| line.starts_with("#![cfg(")) {
            for entry in rung.entry_names() {
                let has = |entries: &BTreeMap<&str, _>| entries.contains_key(&*entry);
                assert!(modules.iter().all(has), "{entry} is not in all PTX");
                everywhere += 1;
            }
        }
    }
    assert!(everywhere > 80, "{everywhere}");
}

#[test]
fn options_have_valid_defaults_and_unique_names() {
    for ladder in ladders() {
        let complete = ladder.complete(&Options::default()).unwrap();
        for option in ladder.options {
            assert!(complete.get(option.name).is_some());
            assert!(option.help.len() > 5, "{} --{}", ladder.name, option.name);
            // The names of arguments that all ladders have, and of other fields in JSON.
            for taken in [
                "rung", "block", "device", "runs", "no-time", "json", "markdown", "ladder", "grid", "bytes", "correct",
                "counters", "picture", "help",
            ] {
                assert_ne!(option.name, taken, "{}", ladder.name);
            }
        }
        for effort in [Effort::Full, Effort::Quick, Effort::Least] {
            for options in (ladder.sweep)(effort) {
                assert!(ladder.problem(&options).is_ok(), "{options:?}");
            }
        }
    }
}

#[test]
fn a_seeds_speedup_is_over_an_earlier_rung() {
    for ladder in ladders() {
        for (index, rung) in ladder.rungs.iter().enumerate() {
            let Some(speedup) = rung.published else {
                continue;
            };
            assert!(speedup.factor > 0.0 && speedup.factor != 1.0);
            let earlier = ladder.rungs[..index].iter().any(|other| other.name == speedup.over);
            assert!(earlier, "{} is compared with {}", rung.name, speedup.over);
        }
    }
}

#[test]
fn shared_memory_by_block() {
    let reduce = ladder("reduce").unwrap();
    let problem = reduce.problem(&Options::default()).unwrap();
    // Static and dynamic bytes.
    let shared_bytes = |name: &str, threads| {
        let (rung, device) = (reduce.rung(name).unwrap(), DeviceProperties::default());
        let launch = reduce.launch(rung, &*problem, Some([threads, 1, 1]), device).unwrap();
        (KERNELS.static_shared_bytes(&launch.entry), launch.shared_bytes)
    };
    assert_eq!(shared_bytes("reduce_neighbored", 128), (0, 0));
    assert_eq!(shared_bytes("reduce_smem", 128), (512, 0));
    assert_eq!(shared_bytes("reduce_smem_dyn", 1024), (0, 4096));
    assert_eq!(shared_bytes("reduce_shfl", 128), (16, 0));
    assert_eq!(KERNELS.static_shared_bytes("no_such_entry"), 0);
}

#[test]
fn more_shared_memory_than_a_block_has_is_refused() {
    let matmul = ladder("matmul").unwrap();
    let problem = matmul.problem(&Options::default()).unwrap();
    let greedy = Rung {
        // Shared memory for 64 tiles.
        dynamic_shared: |[side, _, _], _| 64 * side * side * 4,
        ..*matmul.rung("matmul_coarsened8").unwrap()
    };
    assert!(matmul.launch(&greedy, &*problem, Some([16, 16, 1]), DeviceProperties::default()).is_ok());
    let error = matmul.launch(&greedy, &*problem, None, DeviceProperties::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "matmul_coarsened8 with a block of 32x32 needs 262144 bytes of shared memory and a block has \
             232448; the block must be 16x16 or 32x32"
        ),
        "{text}"
    );
    assert!(!error.is_failure());
}

#[test]
fn every_rung_takes_or_refuses_every_block_of_its_ladder_and_others() {
    for ladder in ladders() {
        let problem = ladder.problem(&Options::default()).unwrap();
        let others = [[1, 1, 1], [512, 1, 1], [7, 3, 2], [0, 0, 0], [u32::MAX; 3]];
        for rung in ladder.rungs {
            for &block in ladder.blocks.iter().chain(&others) {
                if let Ok(launch) = ladder.launch(rung, &*problem, Some(block), DeviceProperties::default()) {
                    assert!(ladder.blocks.contains(&block), "{launch}");
                    assert!(launch.blocks() > 0, "{launch}");
                }
            }
        }
    }
}

#[test]
fn an_empty_name_is_refused() {
    // cli/refused.txt has other wrong names, but a transcript cannot have an empty one.
    let error = select(&CATALOG, &[String::new()]).unwrap_err();
    assert!(error.to_string().contains("`ladder list` names them") && !error.is_failure());
}

#[test]
fn the_readme_counts_the_ladders() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let number = ["Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"][ladders().len() - 6];
    assert!(readme.contains(&format!("**{number} ladders**")), "README.md: there are {} ladders", ladders().len());
}
