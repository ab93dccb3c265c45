#![allow(clippy::unwrap_used)]

mod nvidia;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn kernel(registers: u32, static_shared: u32) -> Usage {
    Usage { registers, shared_bytes: static_shared, barriers: 1 }
}

fn block(threads: u32) -> Block {
    Block { threads, dynamic_shared: 0 }
}

fn named(arch: &str) -> &'static Limits {
    Limits::named(arch).unwrap()
}

fn limited(occupancy: &Occupancy) -> Vec<Limiter> {
    occupancy.limited_by.clone()
}

/// Expectations are computed by hand from the tables.
#[test]
fn the_scarcest_resource_limits_the_blocks() {
    let hopper = named("sm_90");
    let all = of(hopper, kernel(16, 512), block(128));
    assert_eq!((all.blocks, all.warps, all.fraction), (16, 64, 1.0));
    assert_eq!(limited(&all), [Limiter::Warps]);
    // 4 warps of 16 × 32 registers; 512 bytes of shared memory and the driver's 1024.
    assert_eq!([all.registers_per_block, all.shared_per_block], [2048, 1536]);

    let small = of(hopper, kernel(16, 0), block(32));
    assert_eq!((small.blocks, small.warps), (32, 32));
    assert_eq!(limited(&small), [Limiter::Blocks]);

    // 64 registers per thread are 2048 per warp. Each partition of 16384 registers holds 8 such warps.
    let registers = of(hopper, kernel(64, 0), block(256));
    assert_eq!((registers.blocks, registers.fraction), (4, 0.5));
    assert_eq!(limited(&registers), [Limiter::Registers]);

    // 228 KiB hold six blocks of 33 KiB plus the driver's 1 KiB.
    let shared = of(hopper, kernel(32, 33 << 10), block(256));
    assert_eq!((shared.blocks, shared.shared_per_block), (6, 34 << 10));
    assert_eq!(limited(&shared), [Limiter::SharedMemory]);

    let both = of(hopper, kernel(32, 0), block(64));
    let three = [Limiter::Warps, Limiter::Blocks, Limiter::Registers];
    assert_eq!(limited(&both), three);
}

#[test]
fn a_warp_resides_in_one_partition() {
    // 168 registers per thread are 5376 per warp. A partition holds three warps, 12 in all, although 65536 / 5376 is
    // 12.19.
    let found = of(named("sm_80"), kernel(168, 0), block(96));
    assert_eq!((found.blocks, found.warps), (4, 12));
    // 255 registers for each of 1024 threads exceed the limit of a block.
    let none = of(named("sm_80"), kernel(255, 0), block(1024));
    assert_eq!((none.blocks, none.warps), (0, 0));
    assert_eq!(limited(&none), [Limiter::Registers]);
}

#[test]
fn shared_memory_to_the_last_byte() {
    for limits in Limits::all() {
        let threads = 128;
        let with = |dynamic_shared| Block { threads, dynamic_shared };
        let occupancy_with = |dynamic_shared| of(limits, kernel(32, 0), with(dynamic_shared));
        assert_eq!(occupancy_with(limits.shared_opt_in).blocks, 1, "{}", limits.arch());
        assert_eq!(occupancy_with(limits.shared_opt_in + 1).blocks, 0, "{}", limits.arch());
        assert_eq!(limited(&occupancy_with(u32::MAX)), [Limiter::SharedMemory]);
    }
    let static_and_dynamic = Block { threads: 1024, dynamic_shared: 20 << 10 };
    let turing = of(named("sm_75"), kernel(32, 20 << 10), static_and_dynamic);
    assert_eq!((turing.blocks, turing.shared_per_block), (1, 40 << 10));
}

#[test]
fn many_barriers_limit_newer_multiprocessors() {
    let many = Usage { barriers: 16, ..kernel(16, 0) };
    let all = ["sm_80", "sm_90", "sm_120"].map(|arch| of(named(arch), many, block(32)));
    assert_eq!(all.each_ref().map(|occupancy| occupancy.blocks), [32, 4, 1]);
    assert_eq!(limited(&all[2]), [Limiter::Barriers]);
}

fn launches() -> impl Strategy<Value = (&'static Limits, Usage, Block)> {
    let resources = (0..=256_u32, 0..=(240_u32 << 10), 0..=16_u32);
    let block = (1..=1100_u32, prop_oneof![Just(0), 0..=(240_u32 << 10)]);
    (0..Limits::all().len(), resources, block).prop_map(|(index, resources, block)| {
        let (registers, shared_bytes, barriers) = resources;
        let (threads, dynamic_shared) = block;
        let resources = Usage { registers, shared_bytes, barriers };
        let block = Block { threads, dynamic_shared };
        (&Limits::all()[index], resources, block)
    })
}

proptest! {
    #[test]
    fn the_blocks_fit_the_limits((limits, resources, block) in launches()) {
        let found = of(limits, resources, block);
        prop_assert!(found.blocks <= limits.blocks);
        prop_assert!(found.warps <= limits.warps);
        prop_assert!((0.0..=1.0).contains(&found.fraction));
        prop_assert!(!found.limited_by.is_empty());
        if found.blocks > 0 {
            let [blocks, registers, shared] =
                [found.blocks, found.registers_per_block, found.shared_per_block].map(u64::from);
            prop_assert!(blocks * registers <= u64::from(limits.registers));
            prop_assert!(blocks * shared <= u64::from(limits.shared));
            prop_assert!(block.threads <= limits.threads_per_block);
            prop_assert!(resources.registers <= limits.registers_per_thread);
        }
    }

    #[test]
    fn lower_resource_use_never_reduces_the_blocks(
        (limits, resources, block) in launches(),
        less in select(vec![0_u32, 1, 7, 100, 4096]),
    ) {
        let found = of(limits, resources, block).blocks;
        let [registers, shared_bytes, dynamic_shared, threads] =
            [resources.registers, resources.shared_bytes, block.dynamic_shared, block.threads]
                .map(|number| number.saturating_sub(less));
        let threads = threads.max(1);
        for (resources, block) in [
            (Usage { registers, ..resources }, block),
            (Usage { shared_bytes, ..resources }, block),
            (resources, Block { dynamic_shared, ..block }),
            (resources, Block { threads, ..block }),
        ] {
            prop_assert!(of(limits, resources, block).blocks >= found);
        }
    }

    #[test]
    fn any_numbers_are_accepted(numbers in any::<[u32; 5]>()) {
        let [registers, shared_bytes, barriers, threads, dynamic_shared] = numbers;
        let resources = Usage { registers, shared_bytes, barriers };
        for limits in Limits::all() {
            of(limits, resources, Block { threads, dynamic_shared });
        }
    }
}
