//! `ladder why --checklist`: the optimizations, with measurements of the rungs that show them.

use crate::command::{Env, Output, progress_bar};
use crate::error::Error;
use crate::output::{Document, Format, number};
use analysis::checklist::{MeasuredGain, MeasuredPair, measure};
use engine::device::Sim;
use profile::checklist::entries;
use serde_json::json;

pub(super) fn show(format: Format, all: bool, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let pairs = entries().iter().map(|entry| entry.pairs.len()).sum();
    let bar = progress_bar(pairs, env.terminal);
    // The checklist always uses the simulator's counters, even if there is a GPU.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let measured = measure(env.catalog, &mut sim, |pair| {
        bar.set_message(pair.after.as_str());
        bar.inc(1);
    });
    bar.finish_and_clear();
    format.write(&document(&measured?, all), env.style(), to.out)?;
    Ok(0)
}

/// Lists each optimization with its gain, instructions for applying it, and the pair of rungs that shows it, or all
/// pairs with `all`. The JSON output contains a record for each optimization, in the order of the checklist. The record
/// holds the gain (`null` if there is none), the instructions and the pairs of rungs.
fn document(measured: &[MeasuredPair], all: bool) -> Document {
    let mut document = Document::default();
    for entry in entries() {
        let pairs: Vec<_> = measured.iter().filter(|gain| gain.optimization == entry.optimization).collect();
        let gains = [("for the cores", &entry.compute), ("for the memory", &entry.memory)];
        let gains = gains.into_iter().filter(|(_, gain)| !gain.is_empty());
        document.section(entry.optimization.to_string(), if all { "" } else { &entry.compute });
        if all {
            document.facts(gains.map(|(place, gain)| (format!("  {place}"), gain.clone())));
        }
        document.paragraph(entry.strategies.iter().map(|way| format!("  - {way}")).collect::<Vec<_>>().join("\n"));
        for pair in pairs.iter().take(if all { usize::MAX } else { 1 }) {
            let size = if all { format!(", {}", pair.size) } else { String::new() };
            let gains = pair.gains.iter().map(gain).collect::<Vec<_>>().join("; ");
            document.paragraph(format!("  {} → {}{size}: {gains}", pair.pair.before, pair.pair.after));
        }
        let or_null = |text: &'static str| (!text.is_empty()).then_some(text);
        document.record(&json!({
            "optimization": entry.optimization,
            "compute": or_null(&entry.compute),
            "memory": or_null(&entry.memory),
            "strategies": entry.strategies,
            "pairs": pairs,
        }));
    }
    document.section(
        "counted by the simulator in this run",
        "`ladder run` shows counters or times of the rungs at any size",
    );
    if !all {
        document.note("--all shows more pairs of rungs, and the gains for the memory");
    }
    document
}

/// Formats a gain: `sectors per load 16.50 → 4 (0.24×)`.
fn gain(gain: &MeasuredGain) -> String {
    let factor = match gain.before {
        0.0 => String::new(),
        before => format!(" ({:.2}×)", gain.after / before),
    };
    format!("{} {} → {}{factor}", gain.what, number(gain.before), number(gain.after))
}
