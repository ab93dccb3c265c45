//! Assembles every kernel with NVIDIA's assembler. This needs NVIDIA's tools but no GPU.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use analysis::occupancy::{self, EntryOccupancy};
use host::{DeviceProperties, KERNELS, Options, Ptx, ladders};
use toolkit::{Tool, Usage, ptxas};

/// The GPUs for which the kernels are assembled, each with the kernels that it gets: Turing, Ampere, Hopper, Blackwell.
const ARCHITECTURES: [((u32, u32), &str); 4] =
    [((7, 5), "sm_75"), ((8, 0), "sm_80"), ((9, 0), "sm_90"), ((10, 0), "sm_100")];

fn entry_names(module: &'static Ptx) -> BTreeSet<&'static str> {
    module.outline().entries().map(|entry| entry.name).collect()
}

/// Returns the entries to assemble for each of the [`ARCHITECTURES`]. Each entry is assembled once, and the
/// entries are distributed round-robin over the architectures. If `EVERY_ARCHITECTURE` is set in the environment, every
/// entry is assembled for every architecture.
fn chosen() -> [BTreeSet<&'static str>; 4] {
    let is_every = std::env::var_os("EVERY_ARCHITECTURE").is_some();
    let has = ARCHITECTURES.map(|(capability, _)| entry_names(KERNELS.newest_for(Some(capability)).unwrap().unwrap()));
    let mut chosen = [const { BTreeSet::new() }; 4];
    let all: BTreeSet<&str> = KERNELS.modules.iter().flat_map(entry_names).collect();
    for (place, name) in all.into_iter().enumerate() {
        let gpus = (place..place + 4).map(|gpu| gpu % 4).filter(|gpu| has[*gpu].contains(name));
        for gpu in gpus.take(if is_every { 4 } else { 1 }) {
            chosen[gpu].insert(name);
        }
    }
    chosen
}

/// Returns a PTX text with only these of its entries.
fn with_entries(ptx: &str, names: &BTreeSet<&str>) -> String {
    let mut is_left_out = false;
    let kept = ptx.split_inclusive('\n').filter(|line| {
        if let Some(rest) = line.strip_prefix(".visible .entry ") {
            is_left_out = !rest.split_once('(').is_some_and(|(name, _)| names.contains(name));
        }
        let is_kept = !is_left_out;
        // `}` is the last line of a kernel.
        is_left_out &= !line.starts_with('}');
        is_kept
    });
    kept.collect()
}

/// The resource usages of the [`chosen`] entries for each of the [`ARCHITECTURES`], from `ptxas`.
static USAGES: LazyLock<[BTreeMap<&str, Usage>; 4]> = LazyLock::new(|| {
    let assembler = toolkit::find(Tool::Ptxas).unwrap_or_else(|error| panic!("{error}"));
    let chosen = chosen();
    std::array::from_fn(|gpu| {
        let (capability, arch) = ARCHITECTURES[gpu];
        let module = KERNELS.newest_for(Some(capability)).unwrap().unwrap();
        let text = with_entries(module.text(), &chosen[gpu]);
        let all =
            ptxas::usages(&assembler, &text, &module.assembled_for(arch)).unwrap_or_else(|error| panic!("{error}"));
        // `ptxas` also reports usages of functions that are not entries.
        let usage = |name: &str| *all.get(name).unwrap_or_else(|| panic!("ptxas does not report {name}"));
        chosen[gpu].iter().map(|name| (*name, usage(name))).collect()
    })
});

/// Returns the largest number of bytes that an entry may spill to local memory.
///
/// - The sorts are written for 32-bit keys: two blocks with 64 registers per thread fit a multiprocessor. Larger keys
///   and values spill up to 33 words. On `sm_100`, keys of the one sweep spill 10 words.
/// - Threads of a softmax with blocks of 1024 have 64 registers and use 28 or 32 of them for a row. They spill up to 33
///   words. For `softmax_registers` with smaller blocks, `ptxas` uses 40 registers to fit more blocks, and spills two
///   words.
/// - `attention_persistent` spills 10 words, all outside its inner loop. `attention_cp_async` spills a word on `sm_80`.
fn allowed_spill_bytes(entry: &str) -> u64 {
    let is_larger = ["_u64", "_pairs_"].iter().any(|variant| entry.contains(variant));
    let is_sort = entry.starts_with("sort_") && (is_larger || entry.starts_with("sort_one_sweep_"));
    let is_softmax = entry.starts_with("softmax_");
    let is_attention = entry.starts_with("attention_persistent_") || entry.starts_with("attention_cp_async_");
    if is_sort || is_softmax {
        132
    } else if is_attention {
        40
    } else {
        0
    }
}

#[test]
fn no_kernel_spills() {
    let assembled: BTreeSet<&str> = USAGES.iter().flat_map(BTreeMap::keys).copied().collect();
    assert_eq!(assembled, KERNELS.modules.iter().flat_map(entry_names).collect());
    let mut wrong = Vec::new();
    for ((_, arch), usages) in ARCHITECTURES.into_iter().zip(&*USAGES) {
        for (name, usage) in usages {
            assert!(usage.registers > 0, "{name} for {arch}: {usage:?}");
            let spilled = u64::from(usage.spill_store_bytes);
            if spilled > allowed_spill_bytes(name) {
                wrong.push(format!("{name} spills {spilled} bytes on {arch}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the alignment of dynamic shared memory. A module with a kernel that uses dynamic shared memory declares it
/// for all kernels.
fn dynamic_alignment(module: &'static Ptx) -> u32 {
    let mut declared = module.text().lines().filter_map(|line| line.strip_prefix(".extern .shared .align "));
    declared.find_map(|rest| rest.split_once(' ')?.0.parse().ok()).unwrap_or(1)
}

/// An extracted entry uses the same resources as the entry in the whole module, and the shared memory of its rung. In
/// the whole module, `ptxas` rounds static shared memory up to the module's alignment of dynamic shared memory.
#[test]
fn each_entry_uses_the_same_resources_alone_and_among_others() {
    let among_others = ARCHITECTURES.iter().zip(&*USAGES).find(|((_, arch), _)| *arch == "sm_90").unwrap().1;
    let alignment = dynamic_alignment(KERNELS.newest_for(Some((9, 0))).unwrap().unwrap());
    let mut compared = 0;
    for ladder in ladders() {
        let problem = ladder.problem(&Options::default()).unwrap();
        for rung in ladder.rungs {
            let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
            let extracted = occupancy::usage(&KERNELS, &launch, "sm_90").unwrap();
            if let Some(usage) = among_others.get(&*launch.entry) {
                let counted = Usage { shared_bytes: extracted.shared_bytes.next_multiple_of(alignment), ..extracted };
                assert_eq!(counted, *usage, "{}", rung.name);
                compared += 1;
            }
            let occupancy = EntryOccupancy::new(&KERNELS, &launch, "sm_90").unwrap();
            let bytes = KERNELS.static_shared_bytes(&launch.entry) + launch.shared_bytes;
            assert_eq!(occupancy.shared_bytes(), bytes, "{}", rung.name);
            assert!(occupancy.registers > 0, "{}", rung.name);
            assert!(occupancy.occupancy.blocks > 0, "{}", rung.name);
        }
    }
    assert!(compared > 10, "{compared} entries");
}
