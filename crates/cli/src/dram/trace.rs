//! A trace as text and as JSON.

use std::fmt::Write as _;

use comfy_table::CellAlignment;
use serde::Serialize;

use super::show::plural;
use crate::report::OutputStyle;
use analysis::dram::Dram;
use analysis::dram::trace::{Kind, Spread, Trace, Traced};
use engine::problem::Verdict;

/// Channels and windows of a picture, at the most.
const CHANNELS: usize = 128;
const WINDOWS: usize = 32;

/// A table with a row for each kind of access, and a picture of each: channels across, windows down.
pub(super) fn trace_text(trace: &Trace, style: OutputStyle) -> String {
    let dram = trace.setup.dram();
    let (channels, windows) = (dram.channels(), trace.setup.windows());
    let mut text = format!(
        "{}, {}, on {channels} channels × {} with bursts of {}\n",
        trace.launch,
        trace.size,
        plural(dram.banks(), "bank"),
        plural(dram.burst(), "byte"),
    );
    let mut table = style.table();
    table.set_header([
        "accesses",
        "requests",
        "bursts",
        "a request",
        "channels of it",
        "queue (best)",
        "busiest channel",
        "busiest bank",
        "busy in a window",
    ]);
    for (kind, traced) in trace_kinds(trace) {
        table.add_row(row(kind, traced, channels));
    }
    for column in 1..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    for (kind, traced) in trace_kinds(trace) {
        let _ = writeln!(
            text,
            "{}, {} of {} each; {} across",
            kind.name(),
            plural(windows, "window"),
            blocks(trace.launch.blocks(), windows),
            plural(channels, "channel")
        );
        text += &picture(&traced.windows());
    }
    text += LEGEND;
    if let Verdict::Wrong(why) = &trace.verdict {
        let _ = writeln!(text, "wrong: {}: {why}", trace.launch);
    }
    text
}

fn trace_kinds(trace: &Trace) -> impl Iterator<Item = (Kind, Traced<'_>)> {
    Kind::ALL
        .into_iter()
        .filter_map(|kind| Some((kind, trace.traced(kind)?)))
}

/// The same as one value.
pub(super) fn trace_json(trace: &Trace) -> impl Serialize + use<> {
    TraceJson {
        ladder: trace.ladder.name,
        rung: trace.rung.name,
        size: trace.size.clone(),
        grid: trace.launch.grid,
        block: trace.launch.block,
        correct: trace.verdict.is_right(),
        dram: *trace.setup.dram(),
        accesses: trace_kinds(trace)
            .map(|(kind, traced)| trace_kind_json(trace, kind, traced))
            .collect(),
    }
}

fn trace_kind_json(trace: &Trace, kind: Kind, traced: Traced<'_>) -> KindJson {
    let whole = traced.whole();
    let windows = (0..).zip(traced.windows());
    KindJson {
        kind,
        requests: traced.requests(),
        bursts: traced.bursts(),
        channels_per_request: traced.channels_a_request(),
        queue: traced.queue(),
        best_queue: traced.best_queue(),
        busiest_channel_over_mean: whole.uneven_channels(),
        busiest_bank_over_mean: whole.uneven_banks(),
        bursts_by_channel: whole.by_channel().to_vec(),
        windows: windows
            .map(|(window, spread)| {
                let (first, end) = trace.blocks_of(window);
                WindowJson {
                    first_block: first,
                    blocks: end - first,
                    bursts: spread.bursts(),
                    channels_busy: spread.busy_channels(),
                    banks_busy: spread.busy_banks(),
                    busiest_channel_over_mean: spread.uneven_channels(),
                }
            })
            .collect(),
    }
}

const LEGEND: &str = "\
a request: the bursts of one warp's access; queue: those that it wants of one channel, which go over its bus one after the other; at best as many as if \
they were spread over all channels
busiest: what the busiest one has, over the average; 1.00 is an even spread
░ ▒ ▓ █ quarters of what the busiest channel of the window has, · nothing
all that warps ask for, as if there were no cache. This is the model of bursts dealt out to channels in turn: GPUs hash \
addresses, which spreads strides like these
";

fn row(kind: Kind, traced: Traced<'_>, channels: u64) -> Vec<String> {
    let whole = traced.whole();
    let windows = traced.windows();
    // A window in which nothing happens keeps nothing waiting.
    let busy: Vec<u64> = windows
        .iter()
        .map(Spread::busy_channels)
        .filter(|&busy| busy > 0)
        .collect();
    let (least, most) = (busy.iter().min(), busy.iter().max());
    let busy = match (least, most) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "0".to_owned(),
    };
    let over = |uneven: Option<f64>| uneven.map_or(String::new(), |uneven| format!("{uneven:.2}"));
    let requests = traced.requests();
    vec![
        kind.name().to_owned(),
        requests.to_string(),
        traced.bursts().to_string(),
        format!("{:.2}", traced.bursts() as f64 / requests as f64),
        format!("{:.2}", traced.channels_a_request()),
        format!("{:.2} ({:.2})", traced.queue(), traced.best_queue()),
        over(whole.uneven_channels()),
        over(whole.uneven_banks()),
        format!("{busy} of {channels}"),
    ]
}

/// How many blocks a window has.
fn blocks(blocks: u64, windows: u64) -> String {
    let (least, most) = (blocks / windows, blocks.div_ceil(windows));
    if least == most {
        plural(least, "block")
    } else {
        format!("{least} or {}", plural(most, "block"))
    }
}

/// A line for each window, a character for each channel.
fn picture(windows: &[Spread]) -> String {
    let mut text = String::new();
    let width = (windows.len().min(WINDOWS) - 1).to_string().len();
    let mut cut = 0;
    for (number, spread) in windows.iter().take(WINDOWS).enumerate() {
        let counts = spread.by_channel();
        let most = counts.iter().copied().max().unwrap_or(0);
        let line: String = counts
            .iter()
            .take(CHANNELS)
            .map(|&count| shade(count, most))
            .collect();
        cut = counts.len().saturating_sub(CHANNELS);
        let _ = writeln!(text, "{number:>width$} {line}");
    }
    let mut left_out = Vec::new();
    if windows.len() > WINDOWS {
        left_out.push(plural((windows.len() - WINDOWS) as u64, "more window"));
    }
    if cut > 0 {
        left_out.push(plural(cut as u64, "more channel"));
    }
    if !left_out.is_empty() {
        let _ = writeln!(text, "not drawn: {}", left_out.join(", "));
    }
    text
}

fn shade(count: u64, most: u64) -> char {
    if count == 0 {
        return '·';
    }
    // From just above nothing to all of it, in four steps.
    let quarter = (u128::from(count) * 4).div_ceil(u128::from(most.max(1)));
    ['░', '▒', '▓', '█'][(quarter.clamp(1, 4) - 1) as usize]
}

#[derive(Serialize)]
struct TraceJson {
    ladder: &'static str,
    rung: &'static str,
    size: String,
    grid: [u32; 3],
    block: [u32; 3],
    correct: bool,
    #[serde(flatten)]
    dram: Dram,
    accesses: Vec<KindJson>,
}

#[derive(Serialize)]
struct KindJson {
    kind: Kind,
    requests: u64,
    bursts: u64,
    channels_per_request: f64,
    queue: f64,
    best_queue: f64,
    busiest_channel_over_mean: Option<f64>,
    busiest_bank_over_mean: Option<f64>,
    bursts_by_channel: Vec<u64>,
    windows: Vec<WindowJson>,
}

#[derive(Serialize)]
struct WindowJson {
    first_block: u64,
    blocks: u64,
    bursts: u64,
    channels_busy: u64,
    banks_busy: u64,
    busiest_channel_over_mean: Option<f64>,
}
