//! A logarithmic axis.

/// A logarithmic axis: a range of positive numbers in which all decades are the same length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    first: f64,
    last: f64,
}

impl Axis {
    /// Returns an axis that includes all positive numbers with a margin on both sides. Returns `None` if there are no
    /// positive numbers.
    pub(crate) fn of(numbers: impl Iterator<Item = f64>) -> Option<Self> {
        let numbers = numbers.filter(|number| number.is_finite() && *number > 0.0);
        let range = numbers.fold(None, |range: Option<(f64, f64)>, number| {
            Some(range.map_or((number, number), |(least, most)| (least.min(number), most.max(number))))
        });
        range.map(|(least, most)| Self { first: least / 1.25, last: most * 1.25 })
    }

    /// Returns the position of a number: 0 at the start of the axis, 1 at its end.
    pub(crate) fn at(&self, number: f64) -> f64 {
        ((number / self.first).log10() / self.decades()).clamp(0.0, 1.0)
    }

    /// Returns the number at a position.
    pub(crate) fn value(&self, at: f64) -> f64 {
        self.first * 10f64.powf(at * self.decades())
    }

    /// Returns whether the axis includes a number.
    pub(crate) fn has(&self, number: f64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// Returns the smallest number.
    pub(crate) fn first(&self) -> f64 {
        self.first
    }

    /// Returns the number of decades.
    pub(crate) fn decades(&self) -> f64 {
        (self.last / self.first).log10()
    }

    /// Returns round numbers on the axis, spaced so that their labels fit.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let of_decade: &[f64] = match self.decades() {
            few if few < 1.2 => &[1.0, 2.0, 3.0, 5.0, 7.0],
            some if some < 2.5 => &[1.0, 2.0, 5.0],
            more if more < 4.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let decades = self.first.log10().floor() as i32..=self.last.log10().floor() as i32;
        let all = decades.flat_map(|decade| of_decade.iter().map(move |digit| digit * 10f64.powi(decade)));
        all.filter(|number| self.has(*number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn decades_are_alike_and_round_numbers_are_marked() {
        let axis = Axis::of([1.25, f64::NAN, -1.0, 80.0].into_iter()).expect("some are positive");
        assert!((axis.at(10.0) - 0.5).abs() < 1e-9 && (axis.value(0.5) - 10.0).abs() < 1e-9);
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(Axis::of([0.0].into_iter()).is_none());
    }
}
