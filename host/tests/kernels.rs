//! What the real kernels' PTX promises. Needs the device compiler and NVIDIA's tools, and no GPU.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use cuda_builder::{NvvmArch, toolchain};
use toolkit::access::{self, Kind};
use toolkit::{Found, Tool};
use xtask::kernels::{self, Built, EMBEDDED};
use xtask::ptx::{Function, Instruction, Module};
use xtask::tools::assemble::{self, ARCHITECTURES};

const REMEDY: &str = "run `cargo xtask setup --nvidia`";
const BLOCKS: [u32; 5] = [64, 128, 256, 512, 1024];

/// The kernels, built once for all tests here, for each architecture that is embedded.
static BUILT: LazyLock<Vec<(NvvmArch, Built)>> = LazyLock::new(|| {
    // Tests install nothing.
    if let Err(not_found) = toolchain::discover() {
        panic!("{REMEDY}: {not_found}");
    }
    let build = |arch| kernels::build(arch).unwrap_or_else(|failure| panic!("{failure}"));
    EMBEDDED.map(|arch| (arch, build(arch))).into()
});

/// Every kernel of every architecture.
fn all() -> impl Iterator<Item = (&'static Module, &'static Function)> {
    BUILT.iter().flat_map(|(_, built)| {
        let entries = built.module.entries();
        entries.map(|entry| (&built.module, entry))
    })
}

fn ptxas() -> Found {
    toolkit::find(Tool::Ptxas).unwrap_or_else(|error| panic!("{REMEDY}: {error}"))
}

/// A kernel, of the oldest architecture.
fn kernel(name: &str) -> &'static Function {
    BUILT[0]
        .1
        .module
        .function(name)
        .unwrap_or_else(|| panic!("there is no kernel `{name}`"))
}

/// The kernels of the rungs that work in shared memory.
fn in_shared_memory() -> Vec<&'static Function> {
    let found: Vec<_> = all()
        .map(|(_, entry)| entry)
        .filter(|entry| entry.name.contains("smem") || entry.name.contains("shfl"))
        .collect();
    assert!(
        !found.is_empty(),
        "no kernel is named after shared memory or shuffles"
    );
    found
}

fn count(function: &Function, what: impl Fn(&Instruction) -> bool) -> usize {
    function
        .instructions()
        .filter(|instruction| what(instruction))
        .count()
}

fn is_barrier(instruction: &Instruction) -> bool {
    matches!(instruction.operation(), "bar" | "barrier")
        && !instruction.modifiers().any(|m| m == "warp")
}

#[test]
fn every_rung_is_there() {
    let plain = [
        "reduce_neighbored",
        "reduce_neighbored_less",
        "reduce_interleaved",
        "reduce_unrolling2",
        "reduce_unrolling4",
        "reduce_unrolling8",
        "reduce_unroll_warps8",
        "reduce_complete_unroll_warps8",
    ];
    let by_block = [
        "reduce_complete_unroll",
        "reduce_gmem",
        "reduce_gmem_unroll4",
        "reduce_smem",
        "reduce_smem_dyn",
        "reduce_smem_unroll4",
        "reduce_smem_unroll4_dyn",
        "reduce_shfl",
    ];
    let by_block = by_block
        .iter()
        .flat_map(|rung| BLOCKS.map(|block| format!("{rung}_{block}")));
    let missing: Vec<_> = plain
        .map(str::to_owned)
        .into_iter()
        .chain(by_block)
        .filter(|name| {
            let is_entry = |built: &Built| built.module.function(name).is_some_and(|f| f.entry);
            !BUILT.iter().all(|(_, built)| is_entry(built))
        })
        .collect();
    assert!(missing.is_empty(), "not in the PTX: {missing:?}");
}

#[test]
fn every_kernel_assembles_without_spills() {
    let ptxas = ptxas();
    for (target, built) in &*BUILT {
        let runs = |arch: &&str| arch.parse::<NvvmArch>().unwrap() >= *target;
        for arch in ARCHITECTURES.into_iter().filter(runs) {
            let usages = assemble::usages(&ptxas, &built.ptx, arch)
                .unwrap_or_else(|failure| panic!("{failure}"));
            for entry in built.module.entries() {
                let usage = usages
                    .get(&entry.name)
                    .unwrap_or_else(|| panic!("ptxas says nothing of {}", entry.name));
                assert!(usage.registers > 0, "{} for {arch}: {usage:?}", entry.name);
                let spilled = (usage.spill_store_bytes, usage.spill_load_bytes);
                assert_eq!(
                    spilled,
                    (0, 0),
                    "{} spills on {arch} (bytes stored, loaded)",
                    entry.name
                );
            }
        }
    }
}

/// Two readers of the same text, one of which knows all of PTX.
#[test]
fn memory_accesses_are_counted_as_they_are_parsed() {
    for (_, built) in &*BUILT {
        let text = std::fs::read_to_string(&built.ptx).unwrap();
        for entry in built.module.entries() {
            let counts = access::of_ptx(&text, &entry.name).unwrap();
            let is_copy = |instruction: &&Instruction| {
                instruction.operation() == "cp" && instruction.modifiers().any(|m| m == "global")
            };
            let bits = |instruction: &Instruction| {
                let (elements, bits) = instruction.access().unwrap();
                elements * bits
            };
            // Without parameters, which no counter of memory counts.
            let memory = entry.instructions().filter(|instruction| {
                instruction.is_memory() && !matches!(instruction.space(), Some("param" | "const"))
            });
            let mut widths: BTreeMap<u32, u32> = BTreeMap::new();
            for instruction in memory {
                *widths.entry(bits(instruction)).or_default() += 1;
            }
            let mut counted: BTreeMap<u32, u32> = BTreeMap::new();
            let own = |kind| kind != Kind::Ldgsts;
            for (access, count) in counts.iter().filter(|(access, _)| own(access.kind)) {
                *counted.entry(access.bits).or_default() += count;
            }
            assert_eq!(counted, widths, "{}", entry.name);
            let copied = entry.instructions().filter(is_copy).count();
            assert_eq!(counts.of(Kind::Ldgsts) as usize, copied, "{}", entry.name);
        }
    }
}

#[test]
fn older_drivers_can_load_the_ptx() {
    for ((arch, built), newest) in BUILT.iter().zip([(6, 5), (8, 0)]) {
        let version = built.module.version.unwrap();
        assert!(
            version <= newest,
            "version {version:?} is newer than {arch} needs"
        );
        assert_eq!(built.module.target, [arch.sm()]);
    }
}

#[test]
fn shared_memory_is_accessed_as_such() {
    for kernel in in_shared_memory() {
        for operation in ["ld", "st"] {
            let shared = count(kernel, |i| {
                i.operation() == operation && i.space() == Some("shared")
            });
            assert!(shared > 0, "{} has no {operation}.shared", kernel.name);
        }
    }
}

#[test]
fn no_access_is_generic() {
    for (_, kernel) in all() {
        let generic: Vec<_> = kernel.instructions().filter(|i| i.is_generic()).collect();
        assert!(generic.is_empty(), "{}: {generic:?}", kernel.name);
    }
}

#[test]
fn a_block_size_known_at_compile_time_leaves_only_its_own_steps() {
    let small = kernel("reduce_complete_unroll_64");
    for threads in ["512", "256", "128"] {
        let compares = count(small, |i| {
            i.operation() == "setp" && i.operands.iter().any(|o| o == threads)
        });
        assert_eq!(compares, 0, "{} compares with {threads}", small.name);
    }
    let barriers: Vec<_> = BLOCKS
        .iter()
        .map(|block| {
            count(
                kernel(&format!("reduce_complete_unroll_{block}")),
                is_barrier,
            )
        })
        .collect();
    assert!(
        barriers.is_sorted_by(|fewer, more| fewer < more),
        "barriers by block size: {barriers:?}"
    );
}

#[test]
fn a_complete_unroll_has_no_loop() {
    for rung in [
        "reduce_complete_unroll",
        "reduce_gmem",
        "reduce_smem",
        "reduce_shfl",
    ] {
        for block in BLOCKS {
            let kernel = kernel(&format!("{rung}_{block}"));
            let back: Vec<_> = kernel.backward_branches().collect();
            assert!(back.is_empty(), "{} goes back: {back:?}", kernel.name);
        }
    }
    // The test can tell: these do have one.
    assert!(kernel("reduce_neighbored").backward_branches().count() > 0);
}

#[test]
fn shuffles_are_butterflies_over_a_whole_warp() {
    let lanes: BTreeMap<_, _> = kernel("reduce_shfl_128")
        .instructions()
        .filter(|instruction| instruction.opcode == "shfl.sync.bfly.b32")
        .map(|instruction| (instruction.operands[2].clone(), instruction.line))
        .collect();
    for mask in ["16", "8", "4", "2", "1"] {
        assert!(
            lanes.contains_key(mask),
            "no shuffle with {mask}: {lanes:?}"
        );
    }
}

#[test]
fn instructions_know_their_rust_line() {
    let source = kernels::krate().join("src");
    for (module, kernel) in all() {
        let own = kernel.locations.iter().filter_map(|location| {
            // The outermost call is the kernel's own line.
            let place = location.inlined_at.last().unwrap_or(&location.place);
            module.path_of(place)
        });
        let inside = own
            .filter(|path| std::path::Path::new(path).starts_with(&source))
            .count();
        assert!(
            inside > 0,
            "{} has no .loc in {}",
            kernel.name,
            source.display()
        );
    }
}
