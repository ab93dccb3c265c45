//! A finished launch, and the counters that a test checks.

use std::ops::{Bound, RangeBounds};

use profile::{CountedLaunch, Counter};

use crate::error::{Error, Result};

/// A finished launch.
#[derive(Debug)]
pub struct Launched {
    kernel: String,
    /// `None` on a GPU, where nothing is counted.
    counted: Option<CountedLaunch>,
}

impl Launched {
    pub(crate) fn new(kernel: &str, counted: Option<CountedLaunch>) -> Self {
        Self { kernel: kernel.to_owned(), counted }
    }

    /// Checks that a counter of the launch lies in a range: `..=4.0`, `..=0`, `1000..2000`. A test thus detects a
    /// change that breaks coalescing or causes bank conflicts. The simulator counts in the same way as Nsight Compute.
    /// On a GPU, nothing is counted and the check passes.
    ///
    /// # Errors
    /// Returns an error when the counter lies outside the range. The error names the source line with the highest cost.
    #[track_caller]
    pub fn expect<N: Copy + Into<f64>>(self, counter: Counter, range: impl RangeBounds<N>) -> Result<Self> {
        let Some(counted) = &self.counted else { return Ok(self) };
        let number = counted.of(counter);
        let (from, to) = (bound(range.start_bound()), bound(range.end_bound()));
        if (from, to).contains(&number) {
            return Ok(self);
        }
        let line = counted.costliest(counter).filter(|line| line.number > 0.0);
        let line = line.map_or(String::new(), |line| format!("; most at {}: {}", line.place, rounded(line.number)));
        Err(Error::new(format!(
            "kernel `{}`: {} are {}, expected {}{line}",
            self.kernel,
            counter.name(),
            rounded(number),
            words(from, to)
        )))
    }
}

fn bound<N: Copy + Into<f64>>(bound: Bound<&N>) -> Bound<f64> {
    match bound {
        Bound::Included(number) => Bound::Included((*number).into()),
        Bound::Excluded(number) => Bound::Excluded((*number).into()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// Formats a range: `at most 4`, `at least 4 and at most 8`.
fn words(from: Bound<f64>, to: Bound<f64>) -> String {
    let least = match from {
        Bound::Included(number) => Some(format!("at least {}", rounded(number))),
        Bound::Excluded(number) => Some(format!("more than {}", rounded(number))),
        Bound::Unbounded => None,
    };
    let most = match to {
        Bound::Included(number) => Some(format!("at most {}", rounded(number))),
        Bound::Excluded(number) => Some(format!("less than {}", rounded(number))),
        Bound::Unbounded => None,
    };
    least.into_iter().chain(most).collect::<Vec<_>>().join(" and ")
}

/// Formats a number: whole numbers without decimals, other numbers with two.
fn rounded(number: f64) -> String {
    match number.fract() == 0.0 {
        true => format!("{number:.0}"),
        false => format!("{number:.2}"),
    }
}
