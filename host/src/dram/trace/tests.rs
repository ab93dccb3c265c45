//! What the observer makes of accesses, and what a trace says when something is wrong.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use simt::observe::{Access, AccessKind, Observer as _, Site, WarpId as Warp};
use simt::observe::Space;

use super::*;
use crate::report::Look;

const SITE: Site = Site { function: 0, pc: 0 };

/// An access to global memory by lanes at these addresses.
fn access(kind: AccessKind, bytes: u32, mask: u32, addresses: &[u64; 32]) -> Access<'_> {
    Access {
        space: Space::Global,
        kind,
        bytes,
        mask,
        addresses,
    }
}

fn of_block(block: u64) -> Warp {
    Warp { block, warp: 0 }
}

fn setup(channels: u64, banks: u64, burst: u64, windows: u64) -> Setup {
    Setup::new(Dram::new(channels, banks, burst).unwrap(), windows).unwrap()
}

#[test]
fn a_request_is_taken_apart_into_bursts_channels_and_a_queue() {
    // Words 32 bytes apart, in bursts of 8 bytes: every fourth burst, all of them channel 0's.
    let strided: [u64; 32] = std::array::from_fn(|lane| lane as u64 * 32);
    let mut traffic = Traffic::new(setup(4, 2, 8, 1), 1);
    traffic.access(
        SITE,
        of_block(0),
        &access(AccessKind::Load, 4, u32::MAX, &strided),
    );
    let counts = traffic.into_counts();
    let loads = counts.traced(Kind::Load).unwrap();
    assert_eq!((loads.requests(), loads.bursts()), (1, 32));
    assert_eq!(
        (
            loads.channels_a_request(),
            loads.queue(),
            loads.best_queue()
        ),
        (1.0, 32.0, 8.0)
    );
    let whole = loads.whole();
    assert_eq!(whole.by_channel(), [32, 0, 0, 0]);
    assert_eq!((whole.busy_channels(), whole.busy_banks()), (1, 2));
    assert_eq!(
        (whole.uneven_channels(), whole.uneven_banks()),
        (Some(4.0), Some(4.0))
    );
    assert!(counts.traced(Kind::Store).is_none());
}

#[test]
fn an_element_may_be_longer_than_a_burst() {
    let mut traffic = Traffic::new(setup(4, 1, 4, 1), 1);
    let addresses = [8; 32];
    // 16 bytes from the third burst on, and all lanes the same.
    traffic.access(
        SITE,
        of_block(0),
        &access(AccessKind::AsyncCopy, 16, 0b101, &addresses),
    );
    let counts = traffic.into_counts();
    let loads = counts.traced(Kind::Load).unwrap();
    assert_eq!(loads.bursts(), 4);
    assert_eq!(loads.whole().by_channel(), [1, 1, 1, 1]);
}

#[test]
fn other_spaces_and_lanes_that_rest_are_no_traffic() {
    let mut traffic = Traffic::new(setup(4, 1, 4, 1), 1);
    let shared = Access {
        space: Space::Shared,
        ..access(AccessKind::Store, 4, u32::MAX, &[0; 32])
    };
    traffic.access(SITE, of_block(0), &shared);
    traffic.access(
        SITE,
        of_block(0),
        &access(AccessKind::Store, 4, 0, &[0; 32]),
    );
    let counts = traffic.into_counts();
    assert!(Kind::ALL.iter().all(|&kind| counts.traced(kind).is_none()));
}

#[test]
fn windows_are_blocks_in_their_order_whatever_thread_ran_them() {
    let mut first = Traffic::new(setup(2, 1, 8, 3), 7);
    let mut second = first.fork();
    for block in 0..7 {
        // Each block its own burst.
        let addresses = [block * 8; 32];
        let traffic = if block % 2 == 0 {
            &mut first
        } else {
            &mut second
        };
        traffic.access(
            SITE,
            of_block(block),
            &access(AccessKind::Reduction, 4, 1, &addresses),
        );
    }
    first.merge(second);
    let counts = first.into_counts();
    let atomics = counts.traced(Kind::Atomic).unwrap();
    assert_eq!(atomics.requests(), 7);
    let windows: Vec<Vec<u64>> = atomics
        .windows()
        .iter()
        .map(|window| window.by_channel().to_vec())
        .collect();
    // Blocks 0 to 2, 3 and 4, 5 and 6.
    assert_eq!(windows, [[2, 1], [1, 1], [1, 1]]);
}

fn plan(windows: u64) -> Plan {
    let options = Options::default().with("n", 1000);
    Plan::new("reduce_smem", &options, None, setup(4, 2, 32, windows)).unwrap()
}

#[test]
fn the_blocks_of_windows_follow_each_other() {
    let trace = plan(3).run(&mut Sim::open(1).unwrap()).unwrap();
    // 1000 elements are 8 blocks of 128.
    let blocks: Vec<(u64, u64)> = (0..3).map(|window| trace.blocks_of(window)).collect();
    assert_eq!(blocks, [(0, 3), (3, 6), (6, 8)]);
    assert!(trace.verdict.is_right());
    // A window for each block, and some with none.
    let trace = plan(11).run(&mut Sim::open(1).unwrap()).unwrap();
    let blocks: Vec<u64> = (0..11)
        .map(|window| trace.blocks_of(window))
        .map(|(first, end)| end - first)
        .collect();
    assert_eq!(blocks.iter().sum::<u64>(), 8);
    let loads = trace.traced(Kind::Load).unwrap();
    for (blocks, window) in blocks.iter().zip(loads.windows()) {
        assert_eq!(window.bursts() == 0, *blocks == 0);
        assert_eq!(window.uneven_channels().is_none(), *blocks == 0);
    }
    assert!(
        trace
            .text(Look::default())
            .contains("11 windows of 0 or 1 block each")
    );
}

#[test]
fn a_wrong_result_is_told() {
    let mut plan = plan(1);
    plan.launch.grid = [1, 1, 1];
    let trace = plan.run(&mut Sim::open(1).unwrap()).unwrap();
    let text = trace.text(Look::default());
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("wrong: reduce_smem_128<<<1, 128, 0>>>: "),
        "{last}"
    );
    let json = serde_json::to_value(trace.json()).unwrap();
    assert_eq!(json["correct"], false);
}

proptest! {
    /// Whatever the addresses, the counts are those of the distinct bursts.
    #[test]
    fn every_burst_of_a_request_counts_once(
        (channels, banks, burst) in (1..90u64, 1..5u64, 1..70u64),
        bytes in prop::sample::select(vec![1u32, 2, 4, 8, 16]),
        mask in 1u32..,
        addresses in prop::array::uniform32(0..3000u64),
        block in 0..10u64,
    ) {
        let setup = setup(channels, banks, burst, 4);
        let mut traffic = Traffic::new(setup, 10);
        traffic.access(SITE, of_block(block), &access(AccessKind::Store, bytes, mask, &addresses));
        let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let bursts: BTreeSet<u64> = lanes
            .flat_map(|lane| addresses[lane]..addresses[lane] + u64::from(bytes))
            .map(|byte| byte / burst)
            .collect();
        let mut by_channel = vec![0; channels as usize];
        for burst in &bursts {
            by_channel[(burst % channels) as usize] += 1;
        }
        let counts = traffic.into_counts();
        let stores = counts.traced(Kind::Store).unwrap();
        prop_assert_eq!(stores.bursts(), bursts.len() as u64);
        let whole = stores.whole();
        prop_assert_eq!(whole.by_channel(), &by_channel[..]);
        prop_assert_eq!(stores.channels_a_request(), whole.busy_channels() as f64);
        let most = by_channel.iter().copied().max().unwrap();
        prop_assert_eq!(stores.queue(), most as f64);
        prop_assert!(stores.best_queue() <= stores.queue());
        let uneven = whole.uneven_channels().unwrap();
        prop_assert!((1.0..=channels as f64).contains(&uneven));
        let windows = stores.windows();
        prop_assert_eq!(windows[(block * 4 / 10) as usize].bursts(), bursts.len() as u64);
        prop_assert_eq!(windows.iter().map(Spread::bursts).sum::<u64>(), bursts.len() as u64);
    }
}
