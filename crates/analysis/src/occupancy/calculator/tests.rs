#![allow(clippy::unwrap_used)]

mod nvidia;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn kernel(registers: u32, static_shared: u32) -> Usage {
    Usage {
        registers,
        shared_bytes: static_shared,
        barriers: 1,
        ..Usage::default()
    }
}

fn block(threads: u32) -> Block {
    Block {
        threads,
        dynamic_shared: 0,
    }
}

fn limited(occupancy: &Occupancy) -> Vec<Limiter> {
    occupancy.limited_by.clone()
}

/// By hand, from the tables.
#[test]
fn what_ends_first() {
    let hopper = Limits::named("sm_90").unwrap();
    let all = of(hopper, kernel(16, 512), block(128));
    assert_eq!((all.blocks, all.warps, all.fraction), (16, 64, 1.0));
    assert_eq!(limited(&all), [Limiter::Warps]);
    // 4 warps of 16 × 32 registers; half a kilobyte and the driver's one.
    assert_eq!(
        (all.registers_per_block, all.shared_per_block),
        (2048, 1536)
    );

    let small = of(hopper, kernel(16, 0), block(32));
    assert_eq!((small.blocks, small.warps), (32, 32));
    assert_eq!(limited(&small), [Limiter::Blocks]);

    // 64 registers are 2048 a warp, of which each partition of 16384 holds 8.
    let registers = of(hopper, kernel(64, 0), block(256));
    assert_eq!((registers.blocks, registers.fraction), (4, 0.5));
    assert_eq!(limited(&registers), [Limiter::Registers]);

    // 228 KiB are six of 33 KiB and the driver's one.
    let shared = of(hopper, kernel(32, 33 << 10), block(256));
    assert_eq!((shared.blocks, shared.shared_per_block), (6, 34 << 10));
    assert_eq!(limited(&shared), [Limiter::SharedMemory]);

    let both = of(hopper, kernel(32, 0), block(64));
    assert_eq!(
        limited(&both),
        [Limiter::Warps, Limiter::Blocks, Limiter::Registers]
    );
}

#[test]
fn a_warp_lives_in_one_partition() {
    // 168 registers are 5376 a warp: three to a partition, 12 in all, though 65536 registers are 12.19 of them.
    let found = of(Limits::named("sm_80").unwrap(), kernel(168, 0), block(96));
    assert_eq!((found.blocks, found.warps), (4, 12));
    // 255 registers and 1024 threads are more than a block can have.
    let none = of(Limits::named("sm_80").unwrap(), kernel(255, 0), block(1024));
    assert_eq!((none.blocks, none.warps), (0, 0));
    assert_eq!(limited(&none), [Limiter::Registers]);
}

#[test]
fn shared_memory_to_the_last_byte() {
    for limits in Limits::all() {
        let ask = |dynamic_shared| {
            let block = Block {
                threads: 128,
                dynamic_shared,
            };
            of(limits, kernel(32, 0), block)
        };
        assert_eq!(ask(limits.shared_opt_in).blocks, 1, "{}", limits.arch());
        assert_eq!(ask(limits.shared_opt_in + 1).blocks, 0, "{}", limits.arch());
        assert_eq!(limited(&ask(u32::MAX)), [Limiter::SharedMemory]);
    }
    let static_and_dynamic = Block {
        threads: 1024,
        dynamic_shared: 20 << 10,
    };
    let turing = of(
        Limits::named("sm_75").unwrap(),
        kernel(32, 20 << 10),
        static_and_dynamic,
    );
    assert_eq!((turing.blocks, turing.shared_per_block), (1, 40 << 10));
}

#[test]
fn many_barriers_limit_newer_multiprocessors() {
    let many = Usage {
        barriers: 16,
        ..kernel(16, 0)
    };
    assert_eq!(
        of(Limits::named("sm_90").unwrap(), many, block(32)).blocks,
        4
    );
    let least = of(Limits::named("sm_120").unwrap(), many, block(32));
    assert_eq!(
        (least.blocks, limited(&least)),
        (1, vec![Limiter::Barriers])
    );
    assert_eq!(
        of(Limits::named("sm_80").unwrap(), many, block(32)).blocks,
        32
    );
}

fn launches() -> impl Strategy<Value = (&'static Limits, Usage, Block)> {
    let resources = (0..=256_u32, 0..=(240_u32 << 10), 0..=16_u32);
    let block = (1..=1100_u32, prop_oneof![Just(0), 0..=(240_u32 << 10)]);
    (0..Limits::all().len(), resources, block).prop_map(|(index, resources, block)| {
        let (registers, shared_bytes, barriers) = resources;
        let (threads, dynamic_shared) = block;
        let resources = Usage {
            registers,
            shared_bytes,
            barriers,
            ..Usage::default()
        };
        let block = Block {
            threads,
            dynamic_shared,
        };
        (&Limits::all()[index], resources, block)
    })
}

proptest! {
    #[test]
    fn it_fits((limits, resources, block) in launches()) {
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
    fn less_is_never_worse(
        (limits, resources, block) in launches(),
        less in select(vec![0_u32, 1, 7, 100, 4096]),
    ) {
        let found = of(limits, resources, block).blocks;
        let fewer_registers = Usage {
            registers: resources.registers.saturating_sub(less),
            ..resources
        };
        let less_static = Usage {
            shared_bytes: resources.shared_bytes.saturating_sub(less),
            ..resources
        };
        let less_dynamic = Block {
            dynamic_shared: block.dynamic_shared.saturating_sub(less),
            ..block
        };
        let smaller = Block {
            threads: block.threads.saturating_sub(less).max(1),
            ..block
        };
        prop_assert!(of(limits, fewer_registers, block).blocks >= found);
        prop_assert!(of(limits, less_static, block).blocks >= found);
        prop_assert!(of(limits, resources, less_dynamic).blocks >= found);
        prop_assert!(of(limits, resources, smaller).blocks >= found);
    }

    #[test]
    fn any_number_is_taken(numbers in any::<[u32; 5]>()) {
        let [registers, shared_bytes, barriers, threads, dynamic_shared] = numbers;
        let resources = Usage { registers, shared_bytes, barriers, ..Usage::default() };
        for limits in Limits::all() {
            of(limits, resources, Block { threads, dynamic_shared });
        }
    }
}
