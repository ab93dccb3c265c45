//! Checks properties that hold for any memory. `host/tests/cli/dram.txt` contains the numbers from the chapter, as
//! shown by `ladder why --dram`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bus::{at, period};
use super::*;

fn phase_of(tiles: &Tiles, matrix: Matrix, phase: u64) -> &Phase {
    let mut all = tiles.phases.iter();
    all.find(|candidate| (candidate.matrix, candidate.phase) == (matrix, phase)).unwrap()
}

fn drams() -> impl Strategy<Value = Dram> {
    (1..100u64, 1..40u64, 1..300u64).prop_map(|(channels, banks, burst)| Dram::new(channels, banks, burst).unwrap())
}

proptest! {
    /// Each address has exactly one location, and no two addresses share a location.
    #[test]
    fn places_and_addresses_are_a_bijection(dram in drams(), address: u64) {
        let DramAddress { channel, bank, row, byte } = dram.place(address);
        prop_assert!(channel < dram.channels && bank < dram.banks && byte < dram.burst);
        let burst = (row * dram.banks + bank) * dram.channels + channel;
        prop_assert_eq!(burst * dram.burst + byte, address);
    }

    /// The picture contains each element once, at its mapped location.
    #[test]
    fn the_bursts_of_all_banks_are_the_array(
        (channels, banks, a_burst) in (1..9u64, 1..5u64, 1..6u64),
        element in 1..20u64,
        elements in 1..400u64,
    ) {
        let dram = Dram::new(channels, banks, a_burst * element).unwrap();
        let map = Map::new(dram, element, elements).unwrap();
        let mut found = BTreeMap::new();
        for channel in 0..channels {
            for bank in 0..banks {
                for (row, burst) in (0..).zip(map.bursts(channel, bank)) {
                    prop_assert!(!burst.is_empty());
                    for element in burst {
                        let place = map.elements[element as usize].place;
                        prop_assert_eq!(
                            (place.channel, place.bank, place.row),
                            (channel, bank, row)
                        );
                        prop_assert!(found.insert(element, place).is_none());
                    }
                }
            }
        }
        prop_assert_eq!(found.len() as u64, elements);
    }

    /// A phase consists of the loads of its blocks, with each burst counted once.
    #[test]
    fn a_phase_is_the_sum_of_its_blocks(
        (channels, banks, a_burst) in (1..7u64, 1..4u64, 1..20u64),
        n in 1..14u64,
        tile in 1..14u64,
        phase in 0..14u64,
        is_first: bool,
    ) {
        let dram = Dram::new(channels, banks, a_burst * 4).unwrap();
        let tile = tile.min(n);
        let tiles = Tiles::new(dram, 4, n, tile).unwrap();
        let phase = phase % tiles.side();
        let matrix = if is_first { Matrix::M } else { Matrix::N };
        let (mut accesses, mut bursts) = (0, BTreeMap::new());
        for row in 0..tiles.side() {
            for column in 0..tiles.side() {
                for load in tiles.loads(matrix, phase, (row, column)) {
                    accesses += 1;
                    prop_assert_eq!(
                        load.elements.clone(),
                        load.row * n + load.columns.start..load.row * n + load.columns.end
                    );
                    for place in load.bursts {
                        bursts.insert(place, (place.channel, place.bank));
                    }
                }
            }
        }
        let whole = phase_of(&tiles, matrix, phase);
        prop_assert_eq!(whole.accesses, accesses);
        prop_assert_eq!(whole.bursts, bursts.len() as u64);
        prop_assert_eq!(whole.bursts_by_channel.iter().sum::<u64>(), whole.bursts);
        prop_assert_eq!(&whole.banks, &bursts.into_values().collect());
    }

    #[test]
    fn a_phase_or_block_out_of_range_loads_nothing(n in 1..17u64, tile in 1..20u64, beyond in 0..u64::MAX) {
        let tiles = Tiles::new(Dram::FIGURE, 4, n, tile.min(n)).unwrap();
        let past = tiles.side().saturating_add(beyond);
        for matrix in [Matrix::M, Matrix::N] {
            prop_assert!(tiles.loads(matrix, past, (0, 0)).is_empty());
        }
        prop_assert!(tiles.loads(Matrix::M, 0, (past, 0)).is_empty());
        prop_assert!(tiles.loads(Matrix::N, 0, (0, past)).is_empty());
    }

    /// Over a whole period, the drawn bus is busy for the calculated share and never sends two bursts at once.
    #[test]
    fn the_timeline_matches_the_utilization(ratio in 0..49u64, banks in 1..49u64) {
        let bus = Bus::new(ratio, banks, 64, 1.0, &[]).unwrap();
        let utilization = bus.with_banks.utilization;
        prop_assert!(utilization > 0.0 && utilization <= 1.0);
        prop_assert_eq!(utilization == 1.0, banks >= bus.banks_to_saturate);
        let period = period(ratio, banks);
        for (bank, lane) in (0..).zip(&bus.timeline) {
            let drawn: Vec<Moment> = (0..2 * period).map(|time| at(ratio, banks, bank, time)).collect();
            prop_assert_eq!(lane, &drawn);
        }
        let start = ratio + banks;
        let mut busy = 0;
        for time in start..start + period {
            let at = |bank| at(ratio, banks, bank, time);
            let sending = (0..banks).filter(|&bank| at(bank) == Moment::Transfer).count();
            prop_assert!(sending <= 1);
            busy += sending;
        }
        prop_assert!((busy as f64 / period as f64 - utilization).abs() < 1e-12);
        // The full latency of a bank lies between two of its bursts.
        let states: Vec<Moment> = (start..start + period).map(|time| at(ratio, banks, 0, time)).collect();
        let count = |moment| states.iter().filter(|state| **state == moment).count() as u64;
        prop_assert_eq!(count(Moment::Access), ratio);
        prop_assert_eq!(count(Moment::Transfer), 1);
        prop_assert_eq!(count(Moment::Waits), period - ratio - 1);
    }
}
