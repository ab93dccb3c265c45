//! Forward progress: kernels whose blocks wait for other blocks finish in any order of the blocks, even with few
//! resident blocks.

use std::collections::BTreeSet;

use crate::device_sizes::device;
use host::device::{Device as _, Schedule, Sim};
use host::launch::{Arg, Launch};
use host::problem::Verdict;
use host::{Effort, KERNELS, Session, ladders};
use toolkit::access;

/// The numbers of multiprocessors of the devices. `reduce_one_launch` needs at least two: its last block waits for all
/// other blocks, so one of them must run at the same time.
const SIZES: [u32; 2] = [2, 3];

/// The seeds of the random schedules.
const SEEDS: [u64; 3] = [1, 2, 3];

/// More than half of the shared memory of a multiprocessor, so that it runs one such block at a time.
const HALF: u32 = 120_000;

#[test]
fn rungs_whose_blocks_wait_finish_in_any_order_with_few_resident_blocks() {
    let ptx = KERNELS.newest_for(None).unwrap().unwrap();
    let mut ended = BTreeSet::new();
    for multiprocessors in SIZES {
        let mut sim = Sim::open_device(&KERNELS, 1, &device(multiprocessors)).unwrap();
        let properties = sim.info().properties();
        for (ladder, options) in ladders()
            .iter()
            .flat_map(|ladder| (ladder.sweep)(Effort::Least).into_iter().map(move |options| (ladder, options)))
        {
            let problem = ladder.problem(&options).unwrap();
            let mut session = Session::new(&mut sim, &*problem, true).unwrap();
            let mut rungs = ladder.select(&[], &*problem).unwrap();
            rungs.retain(|rung| problem.refuses(rung).is_none());
            for rung in rungs {
                let mut launch = ladder.launch(rung, &*problem, None, properties).unwrap();
                if !access::waits(&ptx.part(&launch.entry), &launch.entry) {
                    continue;
                }
                // All blocks of the other rungs must be resident, and their grids ensure it.
                if !rung.blocks_wait {
                    launch.shared_bytes = launch.shared_bytes.max(HALF);
                }
                for seed in SEEDS {
                    let verdict = session.check_under(Schedule::Random(seed), rung, &launch).unwrap();
                    assert_eq!(verdict, Verdict::Right, "seed {seed}: {launch} at {}", problem.labels().size);
                }
                if launch.blocks() > u64::from(multiprocessors) || rung.blocks_wait {
                    ended.insert((multiprocessors, rung.name));
                }
            }
        }
    }
    for (multiprocessors, rung) in
        SIZES.iter().flat_map(|size| ["scan_three_phases", "scan_look_back"].map(|rung| (*size, rung)))
    {
        assert!(ended.contains(&(multiprocessors, rung)), "{ended:?}");
    }
}

/// Runs a kernel whose blocks wait, in line 7 of a file, for the block with the preceding number. The number is the
/// number in the grid or a ticket.
fn wait_for_the_block_before(sim: &mut Sim, number: &str) -> Result<(), String> {
    let code = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.file 1 \"before.rs\"\n\
         .visible .entry wait_for_the_block_before(.param .u64 words)\n{{\n\
         .reg .pred %p;\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [words];\n.loc 1 6 1\n{number};\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\nsetp.eq.u32 %p, %r1, 0;\n@%p bra GO;\n\
         WAIT:\n.loc 1 7 1\nld.acquire.gpu.global.u32 %r2, [%rd1];\nsetp.eq.u32 %p, %r2, 0;\n@%p bra WAIT;\n\
         GO:\n.loc 1 8 1\nst.release.gpu.global.u32 [%rd1+4], 1;\nret;\n}}\n"
    );
    const BLOCKS: u32 = 200;
    let code = sim.load(code).unwrap();
    let words = sim.alloc(4 * (BLOCKS as usize + 1)).unwrap();
    sim.fill(words, 0).unwrap();
    let (grid, block) = ([BLOCKS, 1, 1], [1, 1, 1]);
    let entry = "wait_for_the_block_before".to_owned();
    let launch = Launch { code, entry, grid, block, shared_bytes: HALF, args: vec![Arg::Buffer(0)] };
    // SAFETY: the kernel accesses a word for the ticket and one word per block, and the buffer has all of them.
    unsafe { sim.launch(&launch, &[words]) }.map(drop).map_err(|error| error.to_string())
}

#[test]
fn blocks_that_wait_in_grid_order_hang_and_blocks_with_tickets_finish() {
    for multiprocessors in [1, 2] {
        for seed in SEEDS {
            let mut sim = Sim::open_device(&KERNELS, 1, &device(multiprocessors)).unwrap();
            sim.set_schedule(Schedule::Random(seed));
            let ticket = "atom.global.add.u32 %r1, [%rd1], 1";
            assert_eq!(wait_for_the_block_before(&mut sim, ticket), Ok(()), "{seed}");
            let why = wait_for_the_block_before(&mut sim, "mov.u32 %r1, %ctaid.x").unwrap_err();
            assert!(why.contains("deadlock: warp 0 repeats itself and reads no new value"), "{seed}: {why}");
            assert!(
                why.contains(" has not started, because the device runs ") && why.ends_with("[before.rs:7]"),
                "{why}"
            );
        }
    }
}
