#![allow(clippy::unwrap_used)]

use super::*;

const KIB: u32 = 1 << 10;

#[test]
fn names() {
    assert_eq!(Limits::named("sm_75").unwrap().capability, (7, 5));
    assert_eq!(Limits::named("sm_90a").unwrap().capability, (9, 0));
    assert_eq!(Limits::named("sm_100f").unwrap().capability, (10, 0));
    assert_eq!(Limits::of((12, 1)).unwrap().arch(), "sm_121");
    for limits in Limits::all() {
        assert_eq!(Limits::named(&limits.arch()).unwrap(), limits);
    }
    let wrong = ",sm_,sm_9,90,9.0,sm_90x,sm_9O,SM_90,sm_60,sm_99999999999,compute_90,hopper,sm_-1,sm_90 ";
    for wrong in wrong.split(',') {
        let error = Limits::named(wrong).unwrap_err().to_string();
        assert!(error.contains("sm_70, sm_72, sm_75"), "{wrong}: {error}");
    }
}

#[test]
fn the_numbers_agree_with_each_other() {
    let all = Limits::all();
    assert!(all.is_sorted_by_key(|limits| limits.capability));
    for limits in all {
        let arch = limits.arch();
        let Limits { shared, registers, .. } = *limits;
        let part = limits.register_unit * limits.partitions;
        assert_eq!(limits.shared_opt_in + limits.shared_reserved, shared, "{arch}");
        assert_eq!(limits.carveouts.last(), Some(&(shared / KIB)), "{arch}");
        assert!(limits.carveouts.is_sorted(), "{arch}");
        assert_eq!([shared % limits.shared_unit, registers % part], [0; 2], "{arch}");
        let reserves = limits.shared_reserved > 0;
        assert_eq!(reserves, limits.capability >= (8, 0), "{arch}");
        assert!(limits.threads() >= limits.threads_per_block, "{arch}");
        let is_enough = |barriers| barriers >= limits.blocks;
        assert!(limits.barriers.is_none_or(is_enough), "{arch}");
    }
}

/// The largest limits of the simulator's launches equal the limits of the largest GPUs.
#[test]
fn largest() {
    let most = |of: fn(&Limits) -> u32| Limits::all().iter().map(of).max().unwrap();
    let simt::GeometryLimits { threads, shared_bytes, .. } = simt::GeometryLimits::LARGEST;
    assert_eq!((threads, shared_bytes), (most(|limits| limits.threads_per_block), most(|limits| limits.shared_opt_in)));
}
