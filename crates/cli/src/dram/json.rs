//! The figures as JSON.

use serde::Serialize;

use analysis::dram::{Bus, Dram, Map, Matrix, Moment, Place, Ratio, Tiles};

/// A [`Map`].
#[derive(Serialize)]
pub(super) struct MapJson {
    #[serde(flatten)]
    dram: Dram,
    element: u64,
    elements: Vec<At>,
    /// Elements of the array that are not among those.
    left_out: u64,
}

#[derive(Serialize)]
struct At {
    element: u64,
    #[serde(flatten)]
    place: Place,
}

/// A tiled product.
#[derive(Serialize)]
pub(super) struct TilesJson {
    #[serde(flatten)]
    dram: Dram,
    n: u64,
    tile: u64,
    phases: Vec<PhaseJson>,
    /// Phases that are not among those.
    left_out: u64,
}

#[derive(Serialize)]
struct PhaseJson {
    phase: u64,
    matrix: Matrix,
    accesses: u64,
    bursts: u64,
    channels: Vec<u64>,
    banks: Vec<BankJson>,
    bursts_by_channel: Vec<u64>,
}

#[derive(Serialize)]
struct BankJson {
    channel: u64,
    bank: u64,
}

/// A bus.
#[derive(Serialize)]
pub(super) struct BusJson {
    ratio: Ratio,
    peak_gb_per_s: f64,
    banks: u64,
    utilisation: f64,
    gb_per_s: f64,
    banks_to_saturate: u64,
    by_banks: Vec<OfBanks>,
    channels_for: Vec<Demand>,
    timeline: Vec<Vec<Moment>>,
}

#[derive(Serialize)]
struct OfBanks {
    banks: u64,
    utilisation: f64,
    gb_per_s: f64,
}

#[derive(Serialize)]
struct Demand {
    gb_per_s: f64,
    channels: f64,
}

/// The most elements of a map, and phases of a product.
const ELEMENTS: u64 = 1 << 16;
const PHASES: u64 = 512;
/// The most banks and moments of a timeline.
const LANES: u64 = 64;
const MOMENTS: u64 = 256;

/// Each element with its place, up to 65536 of them.
pub(super) fn map_json(map: &Map) -> impl Serialize + use<> {
    MapJson {
        dram: *map.dram(),
        element: map.element(),
        elements: (0..map.elements().min(ELEMENTS))
            .filter_map(|element| {
                let place = map.place(element)?;
                Some(At { element, place })
            })
            .collect(),
        left_out: map.elements().saturating_sub(ELEMENTS),
    }
}

/// Each phase of each matrix, up to 512 phases.
pub(super) fn tiles_json(tiles: &Tiles) -> impl Serialize + use<> {
    let of = |phase, matrix| {
        let loaded = tiles.phase(matrix, phase);
        PhaseJson {
            phase,
            matrix,
            accesses: loaded.accesses,
            bursts: loaded.bursts,
            channels: loaded.channels(),
            banks: loaded
                .busy_banks()
                .into_iter()
                .map(|(channel, bank)| BankJson { channel, bank })
                .collect(),
            bursts_by_channel: loaded.by_channel(),
        }
    };
    TilesJson {
        dram: *tiles.dram(),
        n: tiles.n(),
        tile: tiles.tile(),
        phases: (0..tiles.phases().min(PHASES))
            .flat_map(|phase| [Matrix::M, Matrix::N].map(|matrix| of(phase, matrix)))
            .collect(),
        left_out: tiles.phases().saturating_sub(PHASES),
    }
}

/// How busy it is, with this and with other numbers of banks, and the first banks' timeline.
pub(super) fn bus_json(bus: &Bus, demands: &[f64]) -> impl Serialize + use<> {
    let end = (2 * bus.period()).min(MOMENTS);
    BusJson {
        ratio: bus.ratio(),
        peak_gb_per_s: bus.peak(),
        banks: bus.banks(),
        utilisation: bus.utilisation(),
        gb_per_s: bus.bandwidth(),
        banks_to_saturate: bus.saturating(),
        by_banks: super::show::bus_ladder(bus)
            .into_iter()
            .map(|banks| {
                let bus = bus.with_banks(banks);
                OfBanks {
                    banks,
                    utilisation: bus.utilisation(),
                    gb_per_s: bus.bandwidth(),
                }
            })
            .collect(),
        channels_for: demands
            .iter()
            .map(|&gb_per_s| Demand {
                gb_per_s,
                channels: bus.channels_for(gb_per_s),
            })
            .collect(),
        timeline: (0..bus.banks().min(LANES))
            .map(|bank| (0..end).map(|time| bus.at(bank, time)).collect())
            .collect(),
    }
}
