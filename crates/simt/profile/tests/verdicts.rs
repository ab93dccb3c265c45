//! The verdicts of small kernels, each with a known problem.

use devices::Description;
use profile::checklist::Optimization;
use profile::verdict::Resource;
use profile::{Error, LaunchProfile, Watch, record};
use simt::{Config, Launch, Machine, Module};

/// A kernel of `data: u64` whose body has its number in the grid in `%r1`, its number in the block in `%r2`, and `data` in `%rd1`.
fn kernel(shared_bytes: u32, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 .ptr .global .align 4 data)\n{{\n\
         .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %rd<6>;\n.shared .align 4 .b8 tile[{shared_bytes}];\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n\
         mad.lo.u32 %r1, %r3, %r4, %r2;\n{body}\nret;\n}}\n"
    )
}

/// Launches a kernel on so many words.
fn launched(ptx: &str, grid: u32, block: u32, words: usize) -> Result<LaunchProfile, Error> {
    let function = Module::from_ptx(ptx).expect("it is PTX").function("kernel").expect("it is there");
    let mut machine = Machine::new(Config::default()).expect("threads start");
    let data = machine.zeroed::<u32>(words).expect("there is memory");
    let args = [data.into()];
    let launch = Launch::new(&function, [grid, 1, 1], [block, 1, 1], &args);
    record(&mut machine, &launch, Watch::new(Description::open("h100").expect("it is known")))
}

/// The verdict of a launch: what bounds it, and what helps.
fn verdict(ptx: &str, grid: u32, block: u32, words: usize) -> (Resource, Option<Optimization>) {
    let found = launched(ptx, grid, block, words).expect("it runs").verdict.expect("it has a bound");
    (found.bound, found.helps)
}

#[test]
fn strided_loads_are_not_coalesced() {
    let body = "mul.wide.u32 %rd2, %r1, 128;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r5, [%rd3];\n\
                st.global.u32 [%rd3], %r5;";
    let (bound, helps) = verdict(&kernel(4, body), 1056, 256, 1056 * 256 * 32);
    assert!(matches!(bound, Resource::Dram | Resource::L2), "{bound:?}");
    assert_eq!(helps, Some(Optimization::Coalescing));
}

#[test]
fn columns_of_a_tile_conflict_in_the_banks() {
    // Lane i reads word 32 * i, again and again: 32 wavefronts for each load.
    let body = "shl.b32 %r5, %r2, 7;\nand.b32 %r5, %r5, 4095;\nmov.u32 %r6, tile;\nadd.u32 %r6, %r6, %r5;\n\
                st.shared.u32 [%r6], %r2;\nmov.u32 %r7, 0;\nmov.u32 %r9, 0;\n\
                again:\nld.shared.u32 %r8, [%r6];\nadd.u32 %r9, %r9, %r8;\nadd.u32 %r7, %r7, 1;\n\
                setp.lt.u32 %p, %r7, 100;\n@%p bra again;\n\
                mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r9;";
    let found = verdict(&kernel(4096, body), 528, 256, 528 * 256);
    assert_eq!(found, (Resource::BankConflicts, Some(Optimization::BankConflicts)));
}

#[test]
fn atomics_on_one_word_wait_for_each_other() {
    let (bound, helps) = verdict(&kernel(4, "red.global.add.u32 [%rd1], 1;"), 2112, 256, 1);
    assert_eq!((bound, helps), (Resource::Atomics, Some(Optimization::Privatization)));
}

#[test]
fn few_blocks_do_not_fill_the_device() {
    let body = "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;";
    assert_eq!(verdict(&kernel(4, body), 8, 128, 1024), (Resource::Size, None));
}

#[test]
fn what_cannot_be_recorded_is_an_error() {
    let store = kernel(4, "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;");
    let beyond = launched(&store, 1, 64, 32).expect_err("half of the threads have no word").to_string();
    assert!(beyond.starts_with("out of bounds write of 4 bytes"), "{beyond}");
    let too_large = launched(&store, 1, 2048, 32).expect_err("no block is so large");
    assert!(matches!(too_large, Error::Launch(_)), "{too_large}");
}
