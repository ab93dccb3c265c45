//! Properties of the kernels' PTX.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use host::{KERNELS, Ptx};
use ptx::ast::{Function, Instruction, Module, Number, Operand, Space};
use toolkit::access::{self, Kind};

const BLOCKS: [u32; 5] = [64, 128, 256, 512, 1024];

/// The kernels for each architecture that they are compiled for, oldest first.
static MODULES: LazyLock<Vec<(&'static Ptx, Module<'static>)>> = LazyLock::new(|| {
    let read = |ptx: &'static Ptx| (ptx, ptx::parse(ptx.text()).unwrap());
    KERNELS.modules.iter().map(read).collect()
});

/// Returns the kernels of a module.
fn entries<'m>(module: &'m Module<'static>) -> impl Iterator<Item = &'m Function<'static>> {
    module.functions.iter().filter(|function| function.entry)
}

/// Returns every kernel of every architecture.
fn all() -> impl Iterator<Item = &'static Function<'static>> {
    MODULES.iter().flat_map(|(_, module)| entries(module))
}

/// Returns a kernel of the oldest architecture.
fn kernel(name: &str) -> &'static Function<'static> {
    entries(&MODULES[0].1).find(|entry| entry.name == name).unwrap_or_else(|| panic!("there is no kernel `{name}`"))
}

/// Returns the kernels of the rungs that use shared memory.
fn in_shared_memory() -> Vec<&'static Function<'static>> {
    let found: Vec<_> = all().filter(|entry| entry.name.contains("smem") || entry.name.contains("shfl")).collect();
    assert!(!found.is_empty(), "no kernel is named after shared memory or shuffles");
    found
}

fn count(function: &Function<'_>, what: impl Fn(&Instruction<'_>) -> bool) -> usize {
    function.instructions().filter(|instruction| what(instruction)).count()
}

fn is_barrier(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.operation(), "bar" | "barrier") && !instruction.has("warp")
}

/// The counts for the comparison with SASS equal those of the parsed instructions.
#[test]
fn memory_accesses_are_counted_as_they_are_parsed() {
    for (ptx, module) in &*MODULES {
        for entry in entries(module) {
            let counts = access::of_ptx(&ptx.part(entry.name), entry.name).unwrap();
            let is_copy = |instruction: &&Instruction<'_>| {
                instruction.operation() == "cp" && instruction.has("global") && !instruction.has("bulk")
            };
            let bits = |instruction: &Instruction<'_>| {
                let (elements, bits) = instruction.access().unwrap();
                elements * bits
            };
            // Parameters are excluded, because no memory counter counts them.
            let memory = entry.instructions().filter(|instruction| {
                let space = instruction.space();
                instruction.is_memory() && !matches!(space, Some(Space::Param | Space::Const))
            });
            let mut widths: BTreeMap<u32, u32> = BTreeMap::new();
            for instruction in memory {
                *widths.entry(bits(instruction)).or_default() += 1;
            }
            let mut counted: BTreeMap<u32, u32> = BTreeMap::new();
            let is_in_memory = |kind| kind != Kind::Ldgsts;
            for (access, count) in counts.iter().filter(|(access, _)| is_in_memory(access.kind)) {
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
    for ((ptx, module), newest) in MODULES.iter().zip([(6, 5), (7, 1), (8, 0)]) {
        let (arch, version) = (ptx.arch("sm"), module.version);
        assert!(version <= newest, "version {version:?} is newer than {arch} needs");
        assert_eq!(module.target, [arch]);
    }
}

#[test]
fn shared_memory_accesses_are_not_generic() {
    for kernel in in_shared_memory() {
        for operation in ["ld", "st"] {
            let shared = count(kernel, |i| i.operation() == operation && i.space() == Some(Space::Shared));
            assert!(shared > 0, "{} has no {operation}.shared", kernel.name);
        }
    }
}

#[test]
fn no_access_is_generic() {
    for kernel in all() {
        let generic: Vec<_> = kernel.instructions().filter(|i| i.is_generic()).collect();
        assert!(generic.is_empty(), "{}: {generic:?}", kernel.name);
    }
}

#[test]
fn a_block_size_known_at_compile_time_removes_steps_for_larger_blocks() {
    let small = kernel("reduce_complete_unroll_64");
    for threads in [512, 256, 128] {
        let threads_operand = Operand::Number(Number::Integer(threads));
        let compares = count(small, |i| i.operation() == "setp" && i.operands.contains(&threads_operand));
        assert_eq!(compares, 0, "{} compares with {threads}", small.name);
    }
    let barriers: Vec<_> =
        BLOCKS.iter().map(|block| count(kernel(&format!("reduce_complete_unroll_{block}")), is_barrier)).collect();
    assert!(barriers.is_sorted_by(|fewer, more| fewer < more), "barriers by block size: {barriers:?}");
}

#[test]
fn a_complete_unroll_has_no_loop() {
    for rung in ["reduce_complete_unroll", "reduce_gmem", "reduce_smem", "reduce_shfl"] {
        for block in BLOCKS {
            let kernel = kernel(&format!("{rung}_{block}"));
            let back: Vec<_> = kernel.backward_branches().collect();
            assert!(back.is_empty(), "{} has backward branches: {back:?}", kernel.name);
        }
    }
    // This kernel has a loop, so the test can detect one.
    assert!(kernel("reduce_neighbored").backward_branches().count() > 0);
}

#[test]
fn shuffles_are_butterflies_over_a_whole_warp() {
    let lanes: Vec<_> = kernel("reduce_shfl_128")
        .instructions()
        .filter(|instruction| instruction.opcode == "shfl.sync.bfly.b32")
        .map(|instruction| &instruction.operands[2])
        .collect();
    for mask in [16, 8, 4, 2, 1] {
        assert!(lanes.contains(&&Operand::Number(Number::Integer(mask))), "no shuffle with {mask}: {lanes:?}");
    }
}

#[test]
fn instructions_know_their_rust_line() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = repository.join("kernels-gpu/src");
    for (ptx, module) in &*MODULES {
        for kernel in entries(module) {
            let located = kernel.located().filter_map(|(_, loc)| {
                let loc = loc?;
                // The outermost call is in a line of the kernel itself.
                let place = loc.inlined_through(ptx.text()).pop();
                module.path_of(&place.unwrap_or(loc.place()))
            });
            let inside = located.filter(|path| Path::new(path).starts_with(&source));
            assert!(inside.count() > 0, "{} has no .loc in {}", kernel.name, source.display());
        }
    }
}
