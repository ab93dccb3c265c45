//! The model: the chapter's numbers, and what holds of any memory.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::report::Look;

/// Channel and bank of an element of the map of figure 6.9.
fn of_figure(element: u64) -> (u64, u64) {
    let map = Map::new(Dram::FIGURE, 4, 20).unwrap();
    let place = map.place(element).unwrap();
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
    let all = (0..4).flat_map(|channel| (0..2).map(move |bank| (channel, bank)));
    assert!(
        all.clone()
            .all(|(channel, bank)| map.rows(channel, bank) == 1)
    );
    let one_fewer = Map::new(Dram::FIGURE, 4, 14).unwrap();
    assert_eq!(one_fewer.rows(3, 1), 0);
    assert!(one_fewer.burst_at(3, 1, 0).is_empty());
    assert_eq!(one_fewer.place(14), None);
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
    let banks = |phase| tiles.phase(Matrix::M, phase).busy_banks();
    assert_eq!(banks(0), [(0, 0), (0, 1), (2, 0), (2, 1)]);
    assert_eq!(banks(1), [(1, 0), (1, 1), (3, 0), (3, 1)]);
    // Two coalesced accesses of each of four blocks; two blocks share each.
    let phase = tiles.phase(Matrix::M, 0);
    assert_eq!((phase.accesses, phase.bursts), (8, 4));
}

/// The exercise of that section: an 8 × 8 product with the same tiles needs all four channels.
#[test]
fn a_larger_product_needs_all_channels() {
    let tiles = Tiles::new(Dram::FIGURE, 4, 8, 2).unwrap();
    let channels = |matrix, phase| tiles.phase(matrix, phase).channels();
    for phase in 0..4 {
        assert_eq!(channels(Matrix::N, phase), [0, 1, 2, 3]);
        // But the rows of M are as long as a round of the channels, so that its phases meet one each.
        assert_eq!(channels(Matrix::M, phase), [phase]);
    }
    // A longer burst needs a larger matrix: 4 × 4 is two channels' then.
    let wide = Dram::new(4, 2, 32).unwrap();
    let tiles = Tiles::new(wide, 4, 4, 2).unwrap();
    let mut ever: Vec<u64> = (0..2)
        .flat_map(|phase| tiles.phase(Matrix::M, phase).channels())
        .collect();
    ever.sort_unstable();
    ever.dedup();
    assert_eq!(ever, [0, 1]);
}

#[test]
fn the_chapters_bus_is_idle_most_of_the_time() {
    let peak = peak(64, 1.0, true);
    assert_eq!(peak, 16.0);
    let bus = Bus::new("20".parse().unwrap(), 1, peak).unwrap();
    assert_eq!(bus.utilisation(), 1.0 / 21.0);
    assert_eq!(format!("{:.1}", bus.utilisation() * 100.0), "4.8");
    assert_eq!(format!("{:.2}", bus.bandwidth()), "0.76");
    assert_eq!(bus.saturating(), 21);
    // Two banks double it.
    assert_eq!(bus.with_banks(2).utilisation(), 2.0 / 21.0);
    assert_eq!(bus.with_banks(21).utilisation(), 1.0);
    assert_eq!(bus.with_banks(1000).bandwidth(), 16.0);
    assert_eq!(bus.channels_for(32.0), 2.0);
    assert_eq!(bus.channels_for(256.0), 16.0);
    assert_eq!(bus.channels_for(256.1), 17.0);
    let thirds = Bus::new("20".parse().unwrap(), 1, 0.3).unwrap();
    assert_eq!(thirds.channels_for(0.9), 3.0);
}

#[test]
fn ratios_in_words() {
    let ratio = |text: &str| text.parse::<Ratio>();
    for (text, latency, transfer) in [("20", 20, 1), ("20:1", 20, 1), ("41:2", 41, 2), ("0", 0, 1)]
    {
        assert_eq!(ratio(text).unwrap(), Ratio { latency, transfer });
    }
    let bus = Bus::new(ratio("41:2").unwrap(), 1, 16.0).unwrap();
    assert_eq!(bus.saturating(), 22);
    for text in [
        "",
        ":",
        "20:0",
        "-1",
        "20.5",
        "1:2:3",
        "x",
        "2147483649",
        "1:2147483649",
        "٣",
    ] {
        let error = ratio(text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{text}` is not a ratio")),
            "{error}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let dram = |channels, banks, burst| Dram::new(channels, banks, burst).unwrap_err().to_string();
    assert!(dram(0, 2, 8).starts_with("--channels 0 leaves nothing"));
    assert!(dram(4, 0, 8).starts_with("--banks 0"));
    assert!(dram(4, 2, 0).starts_with("--burst 0"));
    assert!(dram(1 << 14, 2, 8).contains("takes up to 16384"));
    assert!(dram(u64::MAX, u64::MAX, 8).contains("takes up to 16384"));
    let map = |element, elements| {
        Map::new(Dram::FIGURE, element, elements)
            .unwrap_err()
            .to_string()
    };
    assert!(map(0, 16).starts_with("--element 0"));
    assert!(map(3, 16).contains("a burst of 8 bytes is no whole number of elements of 3"));
    assert!(map(16, 16).contains("--burst takes a multiple of --element"));
    assert!(map(4, 0).starts_with("--elements 0"));
    assert!(map(4, u64::MAX / 4 + 1).contains("addresses have 64 bits"));
    let tiles = |n, tile| {
        Tiles::new(Dram::FIGURE, 4, n, tile)
            .unwrap_err()
            .to_string()
    };
    assert!(tiles(0, 2).starts_with("--n 0"));
    assert!(tiles(4, 0).starts_with("--tile 0"));
    assert!(tiles(4, 5).contains("larger than a matrix of 4 × 4"));
    assert!(tiles(64, 33).contains("--tile takes up to 32"));
    assert!(tiles(8193, 2).contains("--n takes up to 8192"));
    assert!(tiles(u64::MAX, 2).contains("--n takes up to 8192"));
    let huge = Dram::new(1, 1, 1 << 60).unwrap();
    assert!(Tiles::new(huge, 1 << 60, 8, 2).is_err());
    let bus = |banks, peak| Bus::new("20".parse().unwrap(), banks, peak).unwrap_err();
    assert_eq!(bus(0, 16.0), DramError::Zero { option: "banks" });
    assert!(bus(u64::MAX, 16.0).to_string().contains("up to 2^31"));
    for peak in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(bus(1, peak), DramError::BadNumber { .. }));
    }
}

fn drams() -> impl Strategy<Value = Dram> {
    (1..100u64, 1..40u64, 1..300u64)
        .prop_map(|(channels, banks, burst)| Dram::new(channels, banks, burst).unwrap())
}

#[test]
fn timelines_of_any_length_fit_the_page() {
    for ratio in ["0", "0:1000", "1:1000", "95", "96", "2147483648:2147483648"] {
        for banks in [1, 25, 1 << 31] {
            let bus = Bus::new(ratio.parse().unwrap(), banks, 16.0).unwrap();
            let text = bus.text(&[], Look::default());
            let drawn: Vec<&str> = text
                .lines()
                .take_while(|line| !line.starts_with('░'))
                .collect();
            assert!(
                drawn.iter().any(|line| line.contains('█')),
                "{ratio}: {text}"
            );
            assert!(
                drawn.iter().all(|line| line.chars().count() <= 110),
                "{text}"
            );
            assert_eq!(text.contains(" more\n"), banks > 24, "{text}");
        }
    }
}

proptest! {
    /// Each address is in one place, and no other address is there.
    #[test]
    fn places_and_addresses_are_a_bijection(dram in drams(), address: u64) {
        let place = dram.place(address);
        prop_assert!(place.channel < dram.channels() && place.bank < dram.banks());
        prop_assert!(place.byte < dram.burst());
        prop_assert_eq!(dram.address(place), Some(address));
    }

    #[test]
    fn places_that_there_are_not_have_no_address(dram in drams(), row: u64, over in 0..3usize) {
        let mut place = Place { channel: 0, bank: 0, row, byte: 0 };
        match over {
            0 => place.channel = dram.channels(),
            1 => place.bank = dram.banks(),
            _ => place.byte = dram.burst(),
        }
        prop_assert_eq!(dram.address(place), None);
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
                let rows = map.rows(channel, bank);
                prop_assert!(map.burst_at(channel, bank, rows).is_empty());
                for row in 0..rows {
                    let burst = map.burst_at(channel, bank, row);
                    prop_assert!(!burst.is_empty());
                    for element in burst {
                        let place = map.place(element).unwrap();
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
        let phase = phase % tiles.phases();
        let matrix = if is_first { Matrix::M } else { Matrix::N };
        let (mut accesses, mut bursts) = (0, BTreeMap::new());
        for down in 0..tiles.phases() {
            for across in 0..tiles.phases() {
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
        let whole = tiles.phase(matrix, phase);
        prop_assert_eq!(whole.accesses, accesses);
        prop_assert_eq!(whole.bursts, bursts.len() as u64);
        prop_assert_eq!(whole.by_channel().iter().sum::<u64>(), whole.bursts);
        let mut busy: Vec<_> = bursts.into_values().collect();
        busy.sort_unstable();
        busy.dedup();
        prop_assert_eq!(whole.busy_banks(), busy);
    }

    #[test]
    fn no_such_phase_or_block_loads_nothing(n in 1..20u64, tile in 1..20u64, beyond in 0..u64::MAX) {
        let tiles = Tiles::new(Dram::FIGURE, 4, n, tile.min(n)).unwrap();
        let past = tiles.phases().saturating_add(beyond);
        for matrix in [Matrix::M, Matrix::N] {
            prop_assert!(tiles.loads(matrix, past, (0, 0)).is_empty());
            let phase = tiles.phase(matrix, past);
            prop_assert_eq!((phase.accesses, phase.bursts), (0, 0));
        }
        prop_assert!(tiles.loads(Matrix::M, 0, (past, 0)).is_empty());
        prop_assert!(tiles.loads(Matrix::N, 0, (0, past)).is_empty());
    }

    /// What is drawn is what is reckoned: over a whole period the bus is busy so much, and never twice at a time.
    #[test]
    fn the_timeline_has_the_utilisation(
        latency in 0..40u64,
        transfer in 1..6u64,
        banks in 1..60u64,
    ) {
        let bus = Bus::new(Ratio { latency, transfer }, banks, 16.0).unwrap();
        let utilisation = bus.utilisation();
        prop_assert!(utilisation > 0.0 && utilisation <= 1.0);
        prop_assert_eq!(utilisation == 1.0, banks >= bus.saturating());
        let period = bus.period();
        let start = latency + banks * transfer;
        let mut busy = 0;
        for time in start..start + period {
            let at = |bank| bus.at(bank, time);
            let sending: Vec<u64> = (0..banks).filter(|&bank| at(bank) == Moment::Transfer).collect();
            prop_assert!(sending.len() <= 1);
            prop_assert_eq!(bus.on_the_bus(time), sending.first().copied());
            busy += sending.len();
        }
        prop_assert!((busy as f64 / period as f64 - utilisation).abs() < 1e-12);
        // Between two bursts of a bank lies its whole latency.
        let states: Vec<Moment> = (start..start + period).map(|time| bus.at(0, time)).collect();
        let count = |moment| states.iter().filter(|state| **state == moment).count() as u64;
        prop_assert_eq!(count(Moment::Access), latency);
        prop_assert_eq!(count(Moment::Transfer), transfer);
        prop_assert_eq!(count(Moment::Waits), period - latency - transfer);
    }

    #[test]
    fn no_ratio_panics(
        text in ".*",
        latency in 0..=1u64 << 31,
        transfer in 1..=1u64 << 31,
        banks in 1..=1u64 << 31,
    ) {
        let _ = text.parse::<Ratio>();
        let ratio = format!("{latency}:{transfer}").parse().unwrap();
        let bus = Bus::new(ratio, banks, 16.0).unwrap();
        prop_assert!((0.0..=1.0).contains(&bus.utilisation()));
        let text = bus.text(&[1.0], Look::default());
        prop_assert!(text.len() < 20_000, "{}", text.len());
    }
}
