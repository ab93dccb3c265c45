//! A trace as a table, and a picture for each kind of access: channels as columns, windows as rows.

use super::figures::range;
use crate::output::{Column, Document, Importance, OutputStyle, Table};
use analysis::dram_trace::{Accesses, Kind, Trace, Window};
use engine::problem::Verdict;
use engine::size::plural;

pub(super) fn document(trace: &Trace, style: OutputStyle) -> Document {
    let (launch, dram) = (&trace.launch, &trace.dram);
    let mut document = Document::default();
    document.value(trace);
    let channels = dram.channels;
    document.paragraph(format!(
        "{launch}, {}, on {channels} channels × {} with bursts of {}",
        trace.size,
        plural(dram.banks, "bank"),
        plural(dram.burst, "byte"),
    ));
    let mut table = Table::new([
        Column::text("accesses"),
        Column::number("requests"),
        Column::number("bursts").of(Importance::Medium),
        Column::number("bursts per request"),
        Column::number("channels per request"),
        Column::number("queue (best)"),
        Column::number("busiest channel"),
        Column::number("busiest bank").of(Importance::Medium),
        Column::number("busy per window"),
    ]);
    for traced in &trace.accesses {
        table.row(row(traced, channels));
    }
    document.table(table);
    for traced in &trace.accesses {
        let windows = traced.windows.len() as u64;
        let label = traced.windows.len().to_string().len() + 1;
        let together = match style.wide {
            true => 1,
            false => traced.windows[0].bursts_by_channel.len().div_ceil(style.width.saturating_sub(label).max(1)),
        };
        document.paragraph(format!(
            "{}, {} of {} each; {} across{}",
            name(traced.kind),
            plural(windows, "window"),
            blocks(launch.blocks(), windows),
            plural(channels, "channel"),
            if together > 1 { format!(", {together} a character") } else { String::new() }
        ));
        document.picture(style, |_| picture(&traced.windows, together));
    }
    document.paragraph(LEGEND);
    if let Verdict::Wrong(why) = &trace.verdict {
        document.note(format!("wrong: {launch}: {why}"));
    }
    document
}

const LEGEND: &str = "\
a request: the bursts of one warp's access
queue: the bursts of a request on its busiest channel, which transfers them one after another; best: the queue if the \
bursts were spread over all channels
busiest: the load of the busiest channel or bank, divided by the mean; 1.00 is an even spread
░ ▒ ▓ █ load in quarters of the window's busiest channel's load, · none
Counts include all requests of warps, as if there were no cache. The model assigns bursts to channels round-robin. \
GPUs hash addresses, which spreads strides like these";

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => "loads",
        Kind::Store => "stores",
        Kind::Atomic => "atomics",
    }
}

fn row(traced: &Accesses, channels: u64) -> [String; 9] {
    // A window without accesses does not count toward the range of busy channels.
    let busy = traced.windows.iter().map(|window| window.channels_busy);
    let busy = range(busy.filter(|&busy| busy > 0));
    let over_mean = |uneven: Option<f64>| uneven.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    [
        name(traced.kind).to_owned(),
        traced.requests.to_string(),
        traced.bursts.to_string(),
        format!("{:.2}", traced.bursts as f64 / traced.requests as f64),
        format!("{:.2}", traced.channels_per_request),
        format!("{:.2} ({:.2})", traced.queue, traced.best_queue),
        over_mean(traced.busiest_channel_over_mean),
        over_mean(traced.busiest_bank_over_mean),
        format!("{busy} of {channels}"),
    ]
}

/// Describes the number of blocks in a window.
fn blocks(blocks: u64, windows: u64) -> String {
    let (least, most) = (blocks / windows, blocks.div_ceil(windows));
    match least == most {
        true => plural(least, "block"),
        false => format!("{least} or {}", plural(most, "block")),
    }
}

/// Draws a line for each window, with one character for `together` neighboring channels: the shade of the busiest
/// channel.
fn picture(windows: &[Window], together: usize) -> String {
    let width = (windows.len() - 1).to_string().len();
    let line = |(number, window): (usize, &Window)| {
        let counts = &window.bursts_by_channel;
        let most = counts.iter().copied().max().unwrap_or(0);
        let busiest = counts.chunks(together).map(|counts| counts.iter().copied().max().unwrap_or(0));
        let line: String = busiest.map(|count| shade(count, most)).collect();
        format!("{number:>width$} {line}\n")
    };
    windows.iter().enumerate().map(line).collect()
}

fn shade(count: u64, most: u64) -> char {
    // There are four shades for nonzero counts, up to the maximum.
    match (count * 4).div_ceil(most.max(1)) {
        0 => '·',
        1 => '░',
        2 => '▒',
        3 => '▓',
        _ => '█',
    }
}
