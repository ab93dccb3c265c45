//! The rows of the tables, as text.

use crate::contest::{Contest, Measured, Outcome, Spread};
use crate::contestant::{Kind, port_name};
use crate::targets::{Ratio, Reached, geometric_mean};

/// The cell of a missing value.
pub(super) const NOTHING: &str = "–";
/// The cell of the time of a wrong contestant, and the begin of the cell of one that was left out.
pub(super) const WRONG: &str = "WRONG";
pub(super) const LEFT_OUT: &str = "left out";

/// A header, and rows of as many cells.
pub(super) struct Grid {
    pub(super) header: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Nanoseconds with a unit.
fn time(nanoseconds: f64) -> String {
    if nanoseconds < 1e6 {
        format!("{:.2} µs", nanoseconds / 1e3)
    } else {
        format!("{:.3} ms", nanoseconds / 1e6)
    }
}

/// Both quartiles of a time, in the median's unit.
fn quartiles(spread: Spread) -> String {
    let (scale, decimals) = if spread.median < 1e6 {
        (1e3, 2)
    } else {
        (1e6, 3)
    };
    format!(
        "{:.decimals$}–{:.decimals$}",
        spread.first_quartile / scale,
        spread.third_quartile / scale
    )
}

fn ratio(spread: Option<Spread>) -> String {
    spread.map_or(NOTHING.to_owned(), |spread| {
        format!(
            "{:.3} ({:.3}–{:.3})",
            spread.median, spread.first_quartile, spread.third_quartile
        )
    })
}

/// The rate at which a contestant worked.
fn rate(contest: &Contest, contestant: &Measured) -> String {
    let Some(spread) = contestant.spread() else {
        return NOTHING.to_owned();
    };
    match (contest.flops, contestant.bytes_per_s()) {
        (Some(flops), _) => format!("{:.2}", flops as f64 / spread.median / 1e3),
        (None, Some(bytes)) => format!("{:.1}", bytes / 1e9),
        (None, None) => NOTHING.to_owned(),
    }
}

/// The name of the unit of [`rate`].
fn rate_unit(contest: &Contest) -> &'static str {
    if contest.flops.is_some() {
        "TFLOP/s"
    } else {
        "GB/s"
    }
}

/// The cells of a time: median and quartiles, or the reason why there is none.
fn time_cells(contestant: &Measured) -> [String; 2] {
    match (&contestant.outcome, contestant.spread()) {
        (_, Some(spread)) => [time(spread.median), quartiles(spread)],
        (Outcome::LeftOut(tried), None) => {
            [format!("{LEFT_OUT} ({})", time(*tried)), String::new()]
        }
        (Outcome::Wrong(_) | Outcome::Timed(_), None) => [WRONG.to_owned(), String::new()],
    }
}

/// A row for each rung, with its CUDA port.
pub(super) fn rungs(contest: &Contest) -> Grid {
    let row = |contestant: &Measured| {
        let [median, quartiles] = time_cells(contestant);
        let port = contestant
            .rung
            .and_then(|rung| contest.named(&port_name(rung)));
        let port_time = port.map_or(NOTHING.to_owned(), |port| {
            let [median, _] = time_cells(port);
            median
        });
        vec![
            contestant.name.clone(),
            median,
            quartiles,
            rate(contest, contestant),
            port_time,
            ratio(contest.over_port(contestant)),
        ]
    };
    Grid {
        header: vec![
            "rung",
            "time",
            "quartiles",
            rate_unit(contest),
            "CUDA C++",
            "rung / CUDA C++",
        ],
        rows: contest.of_kind(Kind::Rung).map(row).collect(),
    }
}

/// A row for each baseline and for plain reading, with the top rung against it.
pub(super) fn baselines(contest: &Contest) -> Grid {
    let top = contest.top();
    let others = contest
        .contestants
        .iter()
        .filter(|contestant| matches!(contestant.kind, Kind::Baseline | Kind::Read));
    let row = |contestant: &Measured| {
        let [median, quartiles] = time_cells(contestant);
        let against = top.and_then(|top| top.over(contestant));
        vec![
            contestant.name.clone(),
            median,
            quartiles,
            rate(contest, contestant),
            top.map_or(NOTHING.to_owned(), |top| top.name.clone()),
            ratio(against),
        ]
    };
    Grid {
        header: vec![
            "against",
            "time",
            "quartiles",
            rate_unit(contest),
            "top rung",
            "top / it",
        ],
        rows: others.map(row).collect(),
    }
}

/// A row for each ladder and one for all: how their rungs stand to their CUDA ports.
pub(super) fn means(ratios: &[Ratio]) -> Grid {
    let mut ladders: Vec<&str> = ratios.iter().map(|ratio| ratio.ladder).collect();
    ladders.dedup();
    let row = |name: &str, of: &dyn Fn(&&Ratio) -> bool| {
        let own: Vec<&Ratio> = ratios.iter().filter(of).collect();
        let worst = own.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
        let mean = geometric_mean(own.iter().map(|ratio| ratio.ratio))?;
        Some(vec![
            name.to_owned(),
            own.len().to_string(),
            format!("{mean:.3}"),
            format!("{:.3}", worst.ratio),
            worst.rung.to_owned(),
        ])
    };
    let mut rows: Vec<Vec<String>> = ladders
        .iter()
        .filter_map(|ladder| row(ladder, &|ratio| ratio.ladder == *ladder))
        .collect();
    rows.extend(row("all", &|_| true));
    Grid {
        header: vec![
            "rung / CUDA C++",
            "rungs",
            "geometric mean",
            "worst",
            "which",
        ],
        rows,
    }
}

/// A row for each target.
pub(super) fn targets(reached: &[Reached]) -> Grid {
    let row = |reached: &Reached| {
        let decimals = if reached.target.ends_with("GB/s") {
            1
        } else {
            3
        };
        vec![
            reached.what.to_owned(),
            reached.target.clone(),
            format!("{:.decimals$}", reached.measured),
            if reached.met { "yes" } else { "NO" }.to_owned(),
            reached.by.clone(),
        ]
    };
    Grid {
        header: vec!["what", "target", "measured", "met", "by"],
        rows: reached.iter().map(row).collect(),
    }
}

/// The errors of the contestants, one line each.
pub(super) fn wrong(contest: &Contest) -> Vec<String> {
    let line = |contestant: &Measured| match &contestant.outcome {
        Outcome::Wrong(why) => Some(format!("wrong: {}: {why}", contestant.name)),
        Outcome::Timed(_) | Outcome::LeftOut(_) => None,
    };
    contest.contestants.iter().filter_map(line).collect()
}
