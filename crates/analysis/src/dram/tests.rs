//! The model: the chapter's numbers, and what holds of any memory.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bus::{at, period};
use super::*;

/// Channel and bank of an element of the map of figure 6.9.
fn of_figure(element: u64) -> (u64, u64) {
    let map = Map::new(Dram::FIGURE, 4, 20).unwrap();
    let Element {
        element: index,
        place,
    } = map.elements[element as usize];
    assert_eq!(index, element);
    (place.channel, place.bank)
}

#[test]
fn the_elements_of_figure_6_9_are_where_it_has_them() {
    let figure = [
        ((0, 0), [0, 1, 16, 17]),
        ((1, 0), [2, 3, 18, 19]),
        ((2, 0), [4, 5, 4, 5]),
        ((3, 0), [6, 7, 6, 7]),
        ((0, 1), [8, 9, 8, 9]),
        ((1, 1), [10, 11, 10, 11]),
        ((2, 1), [12, 13, 12, 13]),
        ((3, 1), [14, 15, 14, 15]),
    ];
    for (place, elements) in figure {
        for element in elements {
            assert_eq!(of_figure(element), place, "M[{element}]");
        }
    }
    // With 16 elements, every bank of every channel is in use.
    let map = Map::new(Dram::FIGURE, 4, 16).unwrap();
    let mut all = (0..4).flat_map(|channel| (0..2).map(move |bank| (channel, bank)));
    assert!(all.all(|(channel, bank)| map.bursts(channel, bank).len() == 1));
    let one_fewer = Map::new(Dram::FIGURE, 4, 14).unwrap();
    assert!(one_fewer.bursts(3, 1).is_empty());
    assert_eq!(one_fewer.elements.len(), 14);
}

/// What the blocks of figure 6.11 load in a phase: for each block its elements by number, access by access.
fn figure_6_11(phase: u64) -> Vec<Vec<Vec<u64>>> {
    let tiles = Tiles::new(Dram::FIGURE, 4, 4, 2).unwrap();
    [(0, 0), (0, 1), (1, 0), (1, 1)]
        .map(|block| {
            let loads = tiles.loads(Matrix::M, phase, block);
            loads
                .into_iter()
                .map(|load| load.elements.collect())
                .collect()
        })
        .to_vec()
}

fn phase_of(tiles: &Tiles, matrix: Matrix, phase: u64) -> &Phase {
    let mut all = tiles.phases.iter();
    all.find(|own| (own.matrix, own.phase) == (matrix, phase))
        .unwrap()
}

#[test]
fn the_phases_of_figure_6_11_load_what_it_has() {
    let upper = vec![vec![0, 1], vec![4, 5]];
    let lower = vec![vec![8, 9], vec![12, 13]];
    assert_eq!(figure_6_11(0), [upper.clone(), upper, lower.clone(), lower]);
    let upper = vec![vec![2, 3], vec![6, 7]];
    let lower = vec![vec![10, 11], vec![14, 15]];
    assert_eq!(figure_6_11(1), [upper.clone(), upper, lower.clone(), lower]);
    // Both banks of channels 0 and 2, then both of 1 and 3.
    let tiles = Tiles::new(Dram::FIGURE, 4, 4, 2).unwrap();
    let banks = |phase| phase_of(&tiles, Matrix::M, phase).banks.clone();
    assert_eq!(banks(0), [(0, 0), (0, 1), (2, 0), (2, 1)].into());
    assert_eq!(banks(1), [(1, 0), (1, 1), (3, 0), (3, 1)].into());
    // Two coalesced accesses of each of four blocks; two blocks share each.
    let phase = phase_of(&tiles, Matrix::M, 0);
    assert_eq!((phase.accesses, phase.bursts), (8, 4));
}

/// The exercise of that section: an 8 × 8 product with the same tiles needs all four channels.
#[test]
fn a_larger_product_needs_all_channels() {
    let tiles = Tiles::new(Dram::FIGURE, 4, 8, 2).unwrap();
    let channels = |matrix, phase| phase_of(&tiles, matrix, phase).channels.clone();
    for phase in 0..4 {
        assert_eq!(channels(Matrix::N, phase), [0, 1, 2, 3]);
        // But the rows of M are as long as a round of the channels, so that its phases meet one each.
        assert_eq!(channels(Matrix::M, phase), [phase]);
    }
    // A longer burst needs a larger matrix: 4 × 4 is two channels' then.
    let wide = Dram::new(4, 2, 32).unwrap();
    let tiles = Tiles::new(wide, 4, 4, 2).unwrap();
    let mut ever: Vec<u64> = (0..2)
        .flat_map(|phase| phase_of(&tiles, Matrix::M, phase).channels.clone())
        .collect();
    ever.sort_unstable();
    ever.dedup();
    assert_eq!(ever, [0, 1]);
}

#[test]
fn the_chapters_bus_is_idle_most_of_the_time() {
    let bus = Bus::new(20, 1, 64, 1.0, &[32.0, 256.0, 256.1]).unwrap();
    assert_eq!(bus.peak_gb_per_s, 16.0);
    assert_eq!(bus.own.utilisation, 1.0 / 21.0);
    assert_eq!(format!("{:.1}", bus.own.utilisation * 100.0), "4.8");
    assert_eq!(format!("{:.2}", bus.own.gb_per_s), "0.76");
    assert_eq!(bus.banks_to_saturate, 21);
    // Two banks double it.
    let with = |banks| Bus::new(20, banks, 64, 1.0, &[]).unwrap().own;
    assert_eq!(with(2).utilisation, 2.0 / 21.0);
    assert_eq!(with(21).utilisation, 1.0);
    assert_eq!(with(48).gb_per_s, 16.0);
    assert_eq!(bus.by_banks.last(), Some(&with(21)));
    let channels: Vec<f64> = bus.channels_for.iter().map(|own| own.channels).collect();
    assert_eq!(channels, [2.0, 16.0, 17.0]);
    let thirds = Bus::new(20, 1, 1, 1.2, &[0.9]).unwrap();
    assert_eq!(thirds.channels_for[0].channels, 3.0);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let dram = |channels, banks, burst| Dram::new(channels, banks, burst).unwrap_err().to_string();
    assert_eq!(
        dram(0, 2, 8),
        "--channels 0 is not possible here; it takes 1 to 128"
    );
    assert!(dram(4, 0, 8).starts_with("--banks 0"));
    assert!(dram(4, 2, 0).starts_with("--burst 0"));
    assert!(dram(129, 2, 8).contains("takes 1 to 128"));
    assert!(dram(u64::MAX, u64::MAX, 8).contains("takes 1 to 128"));
    let map = |element, elements| {
        Map::new(Dram::FIGURE, element, elements)
            .unwrap_err()
            .to_string()
    };
    assert!(map(0, 16).starts_with("--element 0"));
    assert!(map(3, 16).contains("a burst of 8 bytes is no whole number of elements of 3"));
    assert!(map(3, 16).contains("--burst takes a multiple of --element"));
    assert!(map(16, 16).starts_with("--element 16"));
    assert!(map(4, 0).starts_with("--elements 0"));
    assert!(map(4, u64::MAX / 4 + 1).contains("takes 1 to 1024"));
    let wide = Dram::new(9, 2, 8).unwrap();
    let refused = Map::new(wide, 4, 16).unwrap_err().to_string();
    assert!(refused.contains("--channels 9 is not possible here; it takes 1 to 8"));
    let tiles = |n, tile| {
        Tiles::new(Dram::FIGURE, 4, n, tile)
            .unwrap_err()
            .to_string()
    };
    assert!(tiles(0, 2).starts_with("--n 0"));
    assert!(tiles(4, 0).starts_with("--tile 0"));
    assert!(tiles(4, 5).contains("--tile 5 is not possible here; it takes 1 to 4"));
    assert!(tiles(17, 2).contains("--n 17 is not possible here; it takes 1 to 16"));
    assert!(tiles(u64::MAX, 2).contains("takes 1 to 16"));
    let bus = |ratio, banks, width, clock, demand| {
        Bus::new(ratio, banks, width, clock, &[demand])
            .unwrap_err()
            .to_string()
    };
    assert!(bus(20, 0, 64, 1.0, 1.0).starts_with("--banks 0"));
    assert!(bus(20, u64::MAX, 64, 1.0, 1.0).contains("takes 1 to 48"));
    assert!(bus(49, 1, 64, 1.0, 1.0).contains("--ratio 49 is not possible here; it takes 0 to 48"));
    assert!(bus(20, 1, 0, 1.0, 1.0).starts_with("--width 0"));
    for number in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(bus(20, 1, 64, number, 1.0).starts_with(&format!("--clock {number} is not")));
        assert!(bus(20, 1, 64, 1.0, number).starts_with(&format!("--demand {number} is not")));
    }
}

fn drams() -> impl Strategy<Value = Dram> {
    (1..100u64, 1..40u64, 1..300u64)
        .prop_map(|(channels, banks, burst)| Dram::new(channels, banks, burst).unwrap())
}

proptest! {
    /// Each address is in one place, and no other address is there.
    #[test]
    fn places_and_addresses_are_a_bijection(dram in drams(), address: u64) {
        let Place { channel, bank, row, byte } = dram.place(address);
        prop_assert!(channel < dram.channels() && bank < dram.banks() && byte < dram.burst());
        let burst = (row * dram.banks() + bank) * dram.channels() + channel;
        prop_assert_eq!(burst * dram.burst() + byte, address);
    }

    /// The picture has each element once, and where the mapping has it.
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

    /// A phase is what its blocks load, each burst once.
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
        for down in 0..tiles.side() {
            for across in 0..tiles.side() {
                for load in tiles.loads(matrix, phase, (down, across)) {
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
    fn no_such_phase_or_block_loads_nothing(n in 1..17u64, tile in 1..20u64, beyond in 0..u64::MAX) {
        let tiles = Tiles::new(Dram::FIGURE, 4, n, tile.min(n)).unwrap();
        let past = tiles.side().saturating_add(beyond);
        for matrix in [Matrix::M, Matrix::N] {
            prop_assert!(tiles.loads(matrix, past, (0, 0)).is_empty());
        }
        prop_assert!(tiles.loads(Matrix::M, 0, (past, 0)).is_empty());
        prop_assert!(tiles.loads(Matrix::N, 0, (0, past)).is_empty());
    }

    /// What is drawn is what is calculated: over a whole period the bus is busy so much, and never twice at a time.
    #[test]
    fn the_timeline_has_the_utilisation(ratio in 0..49u64, banks in 1..49u64) {
        let bus = Bus::new(ratio, banks, 64, 1.0, &[]).unwrap();
        let utilisation = bus.own.utilisation;
        prop_assert!(utilisation > 0.0 && utilisation <= 1.0);
        prop_assert_eq!(utilisation == 1.0, banks >= bus.banks_to_saturate);
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
        prop_assert!((busy as f64 / period as f64 - utilisation).abs() < 1e-12);
        // Between two bursts of a bank lies its whole latency.
        let states: Vec<Moment> = (start..start + period).map(|time| at(ratio, banks, 0, time)).collect();
        let count = |moment| states.iter().filter(|state| **state == moment).count() as u64;
        prop_assert_eq!(count(Moment::Access), ratio);
        prop_assert_eq!(count(Moment::Transfer), 1);
        prop_assert_eq!(count(Moment::Waits), period - ratio - 1);
    }
}
