//! A channel's bus, and the number of banks that keep it busy (figure 6.8).

use serde::Serialize;

use super::within;
use crate::Error;

/// The largest ratio and the largest number of banks whose timeline fits on a page.
const MOST: u64 = 48;

/// A channel whose banks always have pending burst requests. The unit of time is the transfer of one burst on the bus.
#[derive(Clone, Debug, Serialize)]
pub struct Bus {
    /// The width of the bus in bits.
    pub width_bits: u64,
    /// The clock of the bus in GHz. The bus transfers on both edges (DDR).
    pub clock_ghz: f64,
    /// The bandwidth in GB/s while a burst is on the bus.
    pub peak_gb_per_s: f64,
    /// The time that a bank takes to find a burst, as the ratio R of its latency to the transfer time.
    pub ratio: u64,
    /// The utilization of the bus with the requested number of banks.
    #[serde(flatten)]
    pub with_banks: BusUse,
    /// The smallest number of banks that keeps the bus busy all the time: R + 1.
    pub banks_to_saturate: u64,
    /// The same channel with other numbers of banks: powers of two up to the number that saturates the bus, that
    /// number, and the requested number.
    pub by_banks: Vec<BusUse>,
    /// The number of such channels that each bandwidth needs.
    pub channels_for: Vec<ChannelsFor>,
    /// The activity of each bank in each unit of time, for two rounds of all banks.
    pub timeline: Vec<Vec<Moment>>,
}

/// The utilization of the bus for a given number of banks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BusUse {
    /// The number of banks of the channel, B.
    pub banks: u64,
    /// The share of the time in which a burst is on the bus: B / (R + 1), at most 1.
    pub utilization: f64,
    /// The bandwidth in GB/s.
    pub gb_per_s: f64,
}

/// The number of channels that a bandwidth needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChannelsFor {
    /// The bandwidth in GB/s.
    pub gb_per_s: f64,
    /// The number of channels, if each is busy all the time.
    pub channels: f64,
}

/// The activity of a bank in a unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// The bank has not started: each bank starts one unit later than the previous bank.
    Idle,
    /// The bank is finding its burst.
    Access,
    /// The bank's burst is on the bus.
    Transfer,
    /// The bank has found its burst and waits for the bus.
    Waits,
}

impl Bus {
    /// Creates a DDR bus that is `width_bits` bits wide and runs at `clock_ghz` GHz, with `banks` banks. Each bank
    /// takes `ratio` times as long to find a burst as to send it. `demands` are bandwidths in GB/s; the number of
    /// channels is computed for each.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when `ratio` or `banks` is larger than 48, or when another number is not positive or
    /// is larger than on any device.
    pub fn new(ratio: u64, banks: u64, width_bits: u64, clock_ghz: f64, demands: &[f64]) -> Result<Self, Error> {
        within("ratio", ratio, 0..=MOST)?;
        within("banks", banks, 1..=MOST)?;
        within("bits", width_bits, 1..=65_536)?;
        within("clock", clock_ghz, 0.001..=1000.0)?;
        let peak_gb_per_s = width_bits as f64 / 8.0 * 2.0 * clock_ghz;
        let bus_use = |banks: u64| {
            let utilization = (banks as f64 / (ratio + 1) as f64).min(1.0);
            BusUse { banks, utilization, gb_per_s: utilization * peak_gb_per_s }
        };
        let channels_for = demands.iter().map(|&gb_per_s| {
            within("demand", gb_per_s, 0.001..=1e9)?;
            // Discards the rounding errors in the last digits of the quotient.
            let channels = (gb_per_s / peak_gb_per_s * (1.0 - 1e-12)).ceil();
            Ok(ChannelsFor { gb_per_s, channels })
        });
        let channels_for = channels_for.collect::<Result<_, Error>>()?;
        let enough = ratio + 1;
        let powers = (0..).map(|power| 1 << power);
        let mut numbers: Vec<u64> = powers.take_while(|banks| *banks < enough).collect();
        numbers.extend([enough, banks]);
        numbers.sort_unstable();
        numbers.dedup();
        let end = 2 * period(ratio, banks);
        let lane = |bank| (0..end).map(|time| at(ratio, banks, bank, time)).collect();
        Ok(Self {
            width_bits,
            clock_ghz,
            peak_gb_per_s,
            ratio,
            with_banks: bus_use(banks),
            banks_to_saturate: enough,
            by_banks: numbers.into_iter().map(bus_use).collect(),
            channels_for,
            timeline: (0..banks).map(lane).collect(),
        })
    }
}

/// Returns the time from one burst of a bank to its next: the larger of the time that the bank needs and the number of
/// banks.
pub(super) fn period(ratio: u64, banks: u64) -> u64 {
    (ratio + 1).max(banks)
}

/// Returns the activity of a bank at a time.
pub(super) fn at(ratio: u64, banks: u64, bank: u64, time: u64) -> Moment {
    let Some(since) = time.checked_sub(bank) else {
        return Moment::Idle;
    };
    let Some(since) = since.checked_sub(ratio) else {
        return Moment::Access;
    };
    match since % period(ratio, banks) {
        0 => Moment::Transfer,
        // The next access begins immediately.
        since if since <= ratio => Moment::Access,
        _ => Moment::Waits,
    }
}
