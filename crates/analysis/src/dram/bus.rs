//! A channel's bus, and how many banks keep it busy: figure 6.8.

use std::str::FromStr;

use serde::Serialize;

use super::{DramError, positive};

/// The largest numbers in a ratio.
const MOST: u64 = 1 << 31;

/// How long a bank takes to find a burst, and how long to send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ratio {
    /// From the begin of an access until the burst can be sent.
    pub latency: u64,
    /// As long as the burst is on the bus, in the same unit.
    pub transfer: u64,
}

impl FromStr for Ratio {
    type Err = DramError;

    /// Reads `20`, `20:1` or `41:2`.
    fn from_str(text: &str) -> Result<Self, DramError> {
        let bad = |why: String| DramError::BadRatio {
            given: text.to_owned(),
            why,
        };
        let number = |text: &str| {
            let number: u64 = text
                .parse()
                .map_err(|_| bad(format!("`{text}` is no whole number that is not negative")))?;
            if number > MOST {
                return Err(bad(format!("{number} is larger than 2^31")));
            }
            Ok(number)
        };
        let (latency, transfer) = match text.split_once(':') {
            Some((latency, transfer)) => (number(latency)?, number(transfer)?),
            None => (number(text)?, 1),
        };
        if transfer == 0 {
            return Err(bad("a burst takes some time to be sent".to_owned()));
        }
        Ok(Self { latency, transfer })
    }
}

/// A channel: a bus and the banks on it, all of them asked for bursts all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bus {
    ratio: Ratio,
    banks: u64,
    peak: f64,
}

/// What a bank does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// It has not begun.
    Idle,
    /// It looks for its burst.
    Access,
    /// It sends it.
    Transfer,
    /// It has it and waits for the bus, on which others are.
    Waits,
}

impl Bus {
    /// A bus that moves `peak` GB/s while a burst is on it.
    ///
    /// # Errors
    /// [`DramError::Zero`] for no banks, [`DramError::TooMuch`] for more than 2^31, [`DramError::BadNumber`] for a
    /// peak that is none.
    pub fn new(ratio: Ratio, banks: u64, peak: f64) -> Result<Self, DramError> {
        positive("banks", banks)?;
        if banks > MOST {
            return Err(DramError::TooMuch {
                what: format!("{banks} banks"),
                limit: "--banks takes up to 2^31".to_owned(),
            });
        }
        if !(peak.is_finite() && peak > 0.0) {
            return Err(DramError::BadNumber {
                given: peak.to_string(),
            });
        }
        Ok(Self { ratio, banks, peak })
    }

    /// How long a bank takes and how long a burst.
    pub fn ratio(&self) -> Ratio {
        self.ratio
    }

    /// Its banks.
    pub fn banks(&self) -> u64 {
        self.banks
    }

    /// What it can move, in GB/s.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// This bus with another number of banks.
    #[must_use]
    pub fn with_banks(self, banks: u64) -> Self {
        Self { banks, ..self }
    }

    /// The share of the time in which there is a burst on the bus: B / (R + 1) for B banks and a ratio of R, and
    /// no more than 1.
    pub fn utilisation(&self) -> f64 {
        let Ratio { latency, transfer } = self.ratio;
        // Products of numbers up to 2^31, exact enough as they are.
        let of_all = (self.banks * transfer) as f64 / (latency + transfer) as f64;
        of_all.min(1.0)
    }

    /// What it moves, in GB/s.
    pub fn bandwidth(&self) -> f64 {
        self.utilisation() * self.peak
    }

    /// The banks that keep it busy all the time, at the least: R + 1.
    pub fn saturating(&self) -> u64 {
        let Ratio { latency, transfer } = self.ratio;
        (latency + transfer).div_ceil(transfer)
    }

    /// Whether there are as many.
    pub fn is_saturated(&self) -> bool {
        self.banks >= self.saturating()
    }

    /// The time from one burst of a bank to its next: its own, or that of all banks in turn if that is longer.
    pub fn period(&self) -> u64 {
        let Ratio { latency, transfer } = self.ratio;
        (latency + transfer).max(self.banks * transfer)
    }

    /// What a bank does at a time, in units of the ratio. The first begins at 0, each other one a burst later than
    /// the one before.
    pub fn at(&self, bank: u64, time: u64) -> Moment {
        let Ratio { latency, transfer } = self.ratio;
        let Some(since) = time.checked_sub(bank.saturating_mul(transfer)) else {
            return Moment::Idle;
        };
        let Some(since) = since.checked_sub(latency) else {
            return Moment::Access;
        };
        let since = since % self.period();
        if since < transfer {
            Moment::Transfer
        } else if since < transfer + latency {
            // The next access begins at once.
            Moment::Access
        } else {
            Moment::Waits
        }
    }

    /// The bank that has a burst on the bus at a time.
    pub fn on_the_bus(&self, time: u64) -> Option<u64> {
        let Ratio { latency, transfer } = self.ratio;
        let since = time.checked_sub(latency)? % self.period();
        // They take their turns in order.
        let bank = since / transfer;
        (bank < self.banks).then_some(bank)
    }

    /// How many such buses it takes for so many GB/s, each busy all the time.
    pub fn channels_for(&self, gb_per_s: f64) -> f64 {
        // Of a quotient of decimals, the last digits are rounding's.
        (gb_per_s / self.peak * (1.0 - 1e-12)).ceil()
    }
}

/// The bandwidth of a bus in GB/s: its width in bits by its clock in GHz, and twice that if it sends on both edges
/// of the clock (DDR).
///
/// ```
/// assert_eq!(host::dram::peak(64, 1.0, true), 16.0);
/// ```
pub fn peak(width_bits: u64, clock_ghz: f64, both_edges: bool) -> f64 {
    let edges = if both_edges { 2.0 } else { 1.0 };
    width_bits as f64 / 8.0 * edges * clock_ghz
}
