//! Compares two reports.

use serde::Serialize;

use super::code::{Changed, difference};
use super::data::{Data, LadderData, RungData};
use super::ladder_chart::LadderChart;
use crate::output::{NOTHING, duration};

/// The comparison of two reports, for the page.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    old: Side,
    new: Side,
    /// The reasons why parts of the reports are not compared.
    warnings: Vec<String>,
    ladders: Vec<Ladder>,
}

#[derive(Debug, Serialize)]
struct Side {
    file: String,
    made: String,
    toolchain: String,
    times: String,
}

#[derive(Debug, Serialize)]
struct Ladder {
    name: String,
    problem: String,
    chart: Option<LadderChart>,
    rungs: Vec<Rung>,
}

#[derive(Debug, Serialize)]
struct Rung {
    name: String,
    /// Which of the reports contain the rung: `both`, `old` or `new`.
    is_in: &'static str,
    old_time: String,
    new_time: String,
    /// The new time divided by the old time.
    factor: Option<String>,
    /// `faster` or `slower`; empty if the times differ by less than 1 %.
    way: &'static str,
    old_bound: String,
    new_bound: String,
    counters: Vec<CounterChange>,
    changed: Vec<Changed>,
}

#[derive(Debug, Serialize)]
struct CounterChange {
    heading: String,
    old: String,
    new: String,
}

/// The relative difference below which two times count as equal.
const ALIKE: f64 = 0.01;

/// Compares two reports that were read from files with these names.
pub(super) fn comparison([old_file, new_file]: [String; 2], old: &Data, new: &Data) -> Comparison {
    let mut warnings = Vec::new();
    if (old.origin.is_measured, &old.origin.device) != (new.origin.is_measured, &new.origin.device) {
        warnings.push(format!("the times have different sources: {}; {}", old.origin.words, new.origin.words));
    }
    let mut ladders = Vec::new();
    for ladder in &new.ladders {
        match old.ladders.iter().find(|old_ladder| old_ladder.name == ladder.name) {
            None => warnings.push(format!("{} is only in {new_file}", ladder.name)),
            Some(before) if before.problem != ladder.problem => warnings.push(format!(
                "{} is not compared, because its problems differ: {} and {}",
                ladder.name, before.problem, ladder.problem
            )),
            Some(before) => ladders.push(compared(before, ladder)),
        }
    }
    let is_gone = |old_ladder: &&LadderData| new.ladders.iter().all(|other| other.name != old_ladder.name);
    warnings.extend(
        old.ladders.iter().filter(is_gone).map(|old_ladder| format!("{} is only in {old_file}", old_ladder.name)),
    );
    let side = |file, data: &Data| Side {
        file,
        made: data.made.clone(),
        toolchain: data.toolchain.clone(),
        times: data.origin.words.clone(),
    };
    Comparison { old: side(old_file, old), new: side(new_file, new), warnings, ladders }
}

fn compared(old: &LadderData, new: &LadderData) -> Ladder {
    let in_old = |name: &str| old.rungs.iter().find(|rung| rung.name == name);
    let in_new = |name: &str| new.rungs.iter().find(|rung| rung.name == name);
    let rungs = new.rungs.iter().map(|new_rung| rung(in_old(&new_rung.name), Some(new_rung)));
    let gone =
        old.rungs.iter().filter(|old_rung| in_new(&old_rung.name).is_none()).map(|old_rung| rung(Some(old_rung), None));
    Ladder {
        name: new.name.clone(),
        problem: new.problem.clone(),
        chart: LadderChart::new(new, Some(old)),
        rungs: rungs.chain(gone).collect(),
    }
}

fn rung(old: Option<&RungData>, new: Option<&RungData>) -> Rung {
    let time = |side: Option<&RungData>| side.and_then(|rung| rung.time_ns);
    let text = |time: Option<f64>| time.map_or(NOTHING.to_owned(), duration);
    let bound = |side: Option<&RungData>| {
        let bound = side.and_then(|rung| rung.bound.as_ref());
        bound.map_or(NOTHING.to_owned(), |bound| format!("{}, {}", bound.by, bound.how_near))
    };
    let factor = time(old).zip(time(new)).map(|(old, new)| new / old);
    let (mut counters, mut changed) = (Vec::new(), Vec::new());
    if let (Some(old), Some(new)) = (old, new) {
        for counter in &new.counters {
            let before = old.counters.iter().find(|other| other.name == counter.name);
            if let Some(before) = before.filter(|before| before.text != counter.text) {
                let (heading, old, new) = (counter.heading.clone(), before.text.clone(), counter.text.clone());
                counters.push(CounterChange { heading, old, new });
            }
        }
        if let (Some(old), Some(new)) = (&old.source, &new.source) {
            changed = difference(old, new);
        }
    }
    Rung {
        name: new.or(old).map_or(String::new(), |rung| rung.name.clone()),
        is_in: match (old, new) {
            (Some(_), Some(_)) => "both",
            (Some(_), None) => "old",
            _ => "new",
        },
        old_time: text(time(old)),
        new_time: text(time(new)),
        factor: factor.map(|factor| format!("{factor:.3}×")),
        way: match factor {
            Some(factor) if factor < 1.0 - ALIKE => "faster",
            Some(factor) if factor > 1.0 + ALIKE => "slower",
            _ => "",
        },
        old_bound: bound(old),
        new_bound: bound(new),
        counters,
        changed,
    }
}
