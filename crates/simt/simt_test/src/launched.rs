//! A launch that has run, and the counters that a test holds.

use std::ops::{Bound, RangeBounds};

use profile::{CountedLaunch, Counter};

use crate::error::{Error, Result};

/// A launch that has run to its end.
#[derive(Debug)]
pub struct Launched {
    kernel: String,
    /// `None` on a GPU, which counts nothing.
    counted: Option<CountedLaunch>,
}

impl Launched {
    pub(crate) fn new(kernel: &str, counted: Option<CountedLaunch>) -> Self {
        Self { kernel: kernel.to_owned(), counted }
    }

    /// Makes sure that a counter of the launch lies in a range: `..=4.0`, `..=0`, `1000..2000`. So a test notices a change that
    /// breaks coalescing or brings bank conflicts. The simulator counts as Nsight Compute does; on a GPU, nothing is counted
    /// and the test goes on.
    ///
    /// # Errors
    /// When the counter lies outside: the error has the source line that costs most.
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
            "kernel `{}`: {} are {}, expected are {}{line}",
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

/// A range in words: `at most 4`, `4 to 8`.
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

/// A whole number as it is, any other with two decimals.
fn rounded(number: f64) -> String {
    match number.fract() == 0.0 {
        true => format!("{number:.0}"),
        false => format!("{number:.2}"),
    }
}
