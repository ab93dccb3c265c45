//! Tests of the counts that the observer derives from accesses.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use ptx::ast::Space;
use simt::observe::{Access, AccessKind, Observer as _, Site, WarpId as Warp};

use super::*;

const SITE: Site = Site { function: 0, pc: 0 };

/// Returns an access to global memory by lanes at these addresses.
fn access(kind: AccessKind, bytes: u32, mask: u32, addresses: &[u64; 32]) -> Access<'_> {
    Access {
        space: Space::Global,
        kind,
        bytes,
        mask,
        rank: None,
        stored: Default::default(),
        addresses,
        patterns: None,
    }
}

fn of_block(block: u64) -> Warp {
    Warp { block, warp: 0 }
}

fn traffic(channels: u64, banks: u64, burst: u64, windows: u64, blocks: u64) -> Traffic {
    Traffic::new(Dram::new(channels, banks, burst).unwrap(), windows, blocks)
}

/// Returns the accesses, which must all be of one kind.
fn only(traffic: &Traffic, kind: Kind) -> Accesses {
    let all = traffic.accesses();
    assert_eq!(all.iter().map(|event| event.kind).collect::<Vec<_>>(), [kind]);
    all[0].clone()
}

#[test]
fn other_state_spaces_and_inactive_lanes_are_not_counted() {
    let mut traffic = traffic(4, 1, 4, 1, 1);
    let shared = Access { space: Space::Shared, ..access(AccessKind::Store, 4, u32::MAX, &[0; 32]) };
    traffic.access(SITE, of_block(0), &shared);
    traffic.access(SITE, of_block(0), &access(AccessKind::Store, 4, 0, &[0; 32]));
    assert!(traffic.accesses().is_empty());
}

#[test]
fn windows_hold_blocks_in_order_independent_of_threads() {
    let mut first = traffic(2, 1, 8, 3, 7);
    let mut second = first.fork();
    for block in 0..7 {
        // Each block accesses a different burst.
        let addresses = [block * 8; 32];
        let traffic = if block % 2 == 0 { &mut first } else { &mut second };
        traffic.access(SITE, of_block(block), &access(AccessKind::Reduction, 4, 1, &addresses));
    }
    first.merge(second);
    let atomics = only(&first, Kind::Atomic);
    assert_eq!(atomics.requests, 7);
    let windows: Vec<Vec<u64>> = atomics.windows.iter().map(|window| window.bursts_by_channel.clone()).collect();
    // Blocks 0 to 2, 3 and 4, 5 and 6.
    assert_eq!(windows, [[2, 1], [1, 1], [1, 1]]);
}

/// Returns the blocks of each window for 8 blocks. Windows without blocks must have no bursts.
fn blocks_of(windows: u64) -> Vec<(u64, u64)> {
    let mut traffic = traffic(4, 2, 32, windows, 8);
    for block in 0..8 {
        traffic.access(SITE, of_block(block), &access(AccessKind::Load, 4, 1, &[0; 32]));
    }
    let loads = only(&traffic, Kind::Load);
    for window in &loads.windows {
        assert_eq!(window.bursts, window.blocks);
        assert_eq!(window.busiest_channel_over_mean.is_none(), window.blocks == 0);
    }
    let windows = loads.windows.iter();
    windows.map(|window| (window.first_block, window.blocks)).collect()
}

#[test]
fn the_blocks_of_windows_follow_each_other() {
    assert_eq!(blocks_of(3), [(0, 3), (3, 3), (6, 2)]);
    // A window for each block, and some windows without blocks.
    let all = blocks_of(11);
    assert_eq!(all.iter().map(|(_, blocks)| blocks).sum::<u64>(), 8);
    assert!(all.iter().any(|(_, blocks)| *blocks == 0));
    assert!(all.windows(2).all(|two| two[0].0 + two[0].1 == two[1].0));
}

proptest! {
    /// For any addresses, the counts equal the numbers of distinct bursts.
    #[test]
    fn every_burst_of_a_request_counts_once(
        (channels, banks, burst) in (1..90u64, 1..5u64, 1..70u64),
        bytes in prop::sample::select(vec![1u32, 2, 4, 8, 16]),
        (mask, stride) in (1u32.., prop::option::of(0..100u64)),
        addresses in prop::array::uniform32(0..3000u64),
        block in 0..10u64,
        (made, kind) in prop::sample::select(vec![
            (AccessKind::Load, Kind::Load),
            (AccessKind::AsyncCopy, Kind::Load),
            (AccessKind::Store, Kind::Store),
            (AccessKind::Atomic, Kind::Atomic),
            (AccessKind::Reduction, Kind::Atomic),
        ]),
    ) {
        let strided = |stride| std::array::from_fn(|lane| lane as u64 * stride);
        let addresses = stride.map_or(addresses, strided);
        let mut traffic = traffic(channels, banks, burst, 4, 10);
        traffic.access(SITE, of_block(block), &access(made, bytes, mask, &addresses));
        let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let bursts: BTreeSet<u64> = lanes
            .flat_map(|lane| addresses[lane]..addresses[lane] + u64::from(bytes))
            .map(|byte| byte / burst)
            .collect();
        let count = bursts.len() as u64;
        let (mut by_channel, mut by_bank) = (vec![0; channels as usize], vec![0; (channels * banks) as usize]);
        for burst in &bursts {
            by_channel[(burst % channels) as usize] += 1;
            by_bank[(burst % (channels * banks)) as usize] += 1;
        }
        let found = only(&traffic, kind);
        prop_assert_eq!((found.requests, found.bursts), (1, count));
        prop_assert_eq!(&found.bursts_by_channel, &by_channel);
        let busy = |counts: &[u64]| counts.iter().filter(|bursts| **bursts > 0).count() as u64;
        let most = |counts: &[u64]| counts.iter().copied().max().unwrap() as f64;
        prop_assert_eq!(found.channels_per_request, busy(&by_channel) as f64);
        prop_assert_eq!(found.queue, most(&by_channel));
        prop_assert_eq!(found.best_queue, count.div_ceil(channels) as f64);
        let over_mean = |counts: &[u64]| Some(most(counts) * counts.len() as f64 / count as f64);
        prop_assert_eq!(found.busiest_channel_over_mean, over_mean(&by_channel));
        prop_assert_eq!(found.busiest_bank_over_mean, over_mean(&by_bank));
        let window = &found.windows[(block * 4 / 10) as usize];
        prop_assert_eq!(window.bursts, count);
        prop_assert_eq!((window.channels_busy, window.banks_busy), (busy(&by_channel), busy(&by_bank)));
        prop_assert_eq!(found.windows.iter().map(|window| window.bursts).sum::<u64>(), count);
    }
}
