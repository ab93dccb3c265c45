//! Draws a ladder as a chart: the time of each rung, compared with the device's limits.

use serde::Serialize;

use super::data::{LadderData, RungData};
use crate::charts::{Axis, Drawn, Label, file, per_second};
use crate::output::duration;

/// The layout: the plot's left edge and width, and the right edges of the columns of numbers.
const LEFT: f64 = 250.0;
const WIDTH: f64 = 380.0;
const COLUMNS: [f64; 3] = [722.0, 816.0, 880.0];
const TOP: f64 = 34.0;
const ROW: f64 = 24.0;

/// The data of `charts/ladder_chart.svg`.
#[derive(Debug, Serialize)]
pub(super) struct LadderChart {
    title: String,
    words: String,
    width: f64,
    height: f64,
    room: [f64; 4],
    rows: Vec<Bar>,
    ticks: Vec<Label>,
    columns: Vec<Label>,
    floor: Option<Label>,
    axis: String,
}

#[derive(Debug, Serialize)]
struct Bar {
    name: String,
    y: f64,
    from: f64,
    to: f64,
    /// The position of the rung's time in an older report.
    old: Option<f64>,
    cells: Vec<Label>,
}

impl Drawn for LadderChart {
    const TEMPLATE: &'static str = "ladder_chart.svg";
}

/// A time that a chart marks with a line: the memory's floor, or the time of a library.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The label: `floor`, `cuBLAS`.
    pub name: String,
    /// The time in nanoseconds.
    pub time: f64,
}

/// The width of the chart of [`climb`] in pixels. On a page that is 360 pixels wide, 11-pixel type is still larger than
/// 9 pixels.
const NARROW: f64 = 420.0;
/// The width of a letter of a rung's name in that chart.
const LETTER: f64 = 7.0;
/// The minimum distance between two labels of the axis.
const TICK: f64 = 46.0;

/// Returns an SVG file that shows the time of each rung as a distance from the mark or from the left edge. `times`
/// holds the name of each rung and its time in nanoseconds. The chart fits on a phone. Returns `None` if `times` is
/// empty.
pub fn climb(title: &str, times: &[(&str, f64)], mark: Option<&Mark>) -> Option<String> {
    let axis = Axis::of(times.iter().map(|(_, time)| *time).chain(mark.map(|mark| mark.time)))?;
    let longest = times.iter().map(|(name, _)| name.chars().count()).max()?;
    let left = 16.0 + LETTER * longest as f64;
    let last = NARROW - 4.0;
    // The heading of the last column consists of three letters and the mark's name.
    let columns = [mark.map_or(last, |mark| last - LETTER * (mark.name.chars().count() + 3) as f64), last];
    let width = columns[0] - 64.0 - left;
    let at = |time: f64| left + axis.at(time) * width;
    let cells = |time: f64| {
        let share = mark.map(|mark| match mark.time / time * 100.0 {
            few if few < 10.0 => format!("{few:.1} %"),
            more => format!("{more:.0} %"),
        });
        let texts = [Some(duration(time)), share];
        texts.into_iter().flatten().zip(columns).map(|(text, x)| Label { at: [x, 0.0], text }).collect()
    };
    let rows = times.iter().enumerate().map(|(number, (name, time))| Bar {
        name: (*name).to_owned(),
        y: TOP + ROW * (number as f64 + 0.5),
        from: mark.map_or(left, |mark| at(mark.time)),
        to: at(*time),
        old: None,
        cells: cells(*time),
    });
    let rows: Vec<Bar> = rows.collect();
    let height = ROW * rows.len() as f64;
    let heads = [Some("time".to_owned()), mark.map(|mark| format!("of {}", mark.name))];
    let words = times.iter().map(|(name, time)| format!("{name} {}", duration(*time)));
    let ticks = axis.ticks().into_iter().map(|time| Label { at: [at(time), 0.0], text: short(time) });
    let mut ticks: Vec<Label> = ticks.collect();
    ticks.dedup_by(|next, kept| next.at[0] - kept.at[0] < TICK);
    let chart = LadderChart {
        title: title.to_owned(),
        words: words.collect::<Vec<_>>().join("; "),
        width: NARROW,
        height: TOP + height + 46.0,
        room: [left, TOP, width, height],
        rows,
        ticks,
        columns: heads.into_iter().flatten().zip(columns).map(|(text, x)| Label { at: [x, 0.0], text }).collect(),
        floor: mark
            .map(|mark| Label { at: [at(mark.time), 0.0], text: format!("{} {}", mark.name, duration(mark.time)) }),
        axis: "time of a launch, logarithmic".to_owned(),
    };
    Some(file(&chart))
}

impl LadderChart {
    /// Returns the chart of a ladder, with the times of an older report if that report contains the ladder. Returns
    /// `None` if no rung is timed.
    pub(super) fn new(ladder: &LadderData, old: Option<&LadderData>) -> Option<Self> {
        let timed: Vec<(&RungData, f64)> = ladder.rungs.iter().filter_map(|rung| Some((rung, rung.time_ns?))).collect();
        let before = |rung: &RungData| old?.rungs.iter().find(|old_rung| old_rung.name == rung.name)?.time_ns;
        let times = timed.iter().flat_map(|(rung, time)| [Some(*time), before(rung)]).flatten();
        let axis = Axis::of(times.chain(ladder.floor_ns))?;
        let at = |time: f64| LEFT + axis.at(time) * WIDTH;
        let begin = ladder.floor_ns.map_or(LEFT, at);
        let rate = |time: f64| match ladder.flops {
            Some(flops) => per_second(flops as f64 / time * 1e9, "FLOP"),
            None => per_second(ladder.bytes as f64 / time * 1e9, "B"),
        };
        let share = |time: f64| ladder.floor_ns.map_or(String::new(), |floor| format!("{:.0} %", floor / time * 100.0));
        let rows = timed.iter().enumerate().map(|(number, (rung, time))| {
            let texts = match before(rung) {
                Some(before) if old.is_some() => [duration(before), duration(*time), format!("{:.2}×", time / before)],
                _ => [duration(*time), rate(*time), share(*time)],
            };
            let cells = texts.into_iter().zip(COLUMNS).map(|(text, x)| Label { at: [x, 0.0], text });
            Bar {
                name: rung.name.clone(),
                y: TOP + ROW * (number as f64 + 0.5),
                from: before(rung).map_or(begin, at),
                to: at(*time),
                old: before(rung).map(at),
                cells: cells.collect(),
            }
        });
        let rows: Vec<Bar> = rows.collect();
        let height = ROW * rows.len() as f64;
        let heads = if old.is_some() { ["old", "new", "new : old"] } else { ["time", "rate", "of floor"] };
        let words = timed.iter().map(|(rung, time)| match before(rung) {
            Some(before) => format!("{} {}, before {}", rung.name, duration(*time), duration(before)),
            None => format!("{} {}, {}", rung.name, duration(*time), rate(*time)),
        });
        let floor =
            ladder.floor_ns.map(|floor| Label { at: [at(floor), 0.0], text: format!("floor {}", duration(floor)) });
        Some(Self {
            title: format!("Time of each rung of {}, {}", ladder.name, ladder.problem),
            words: words.collect::<Vec<_>>().join("; "),
            width: COLUMNS[2] + 10.0,
            height: TOP + height + 46.0,
            room: [LEFT, TOP, WIDTH, height],
            rows,
            ticks: axis.ticks().into_iter().map(|time| Label { at: [at(time), 0.0], text: short(time) }).collect(),
            columns: heads
                .into_iter()
                .zip(COLUMNS)
                .map(|(text, x)| Label { at: [x, 0.0], text: text.to_owned() })
                .collect(),
            floor,
            axis: "time of a launch, logarithmic".to_owned(),
        })
    }
}

/// Formats a round time: `20 µs`.
fn short(nanoseconds: f64) -> String {
    match nanoseconds {
        few if few < 1e3 => format!("{few:.0} ns"),
        some if some < 1e6 => format!("{} µs", crate::charts::plain(some / 1e3)),
        more => format!("{} ms", crate::charts::plain(more / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, climb};

    #[test]
    fn a_climb_names_each_rung_and_its_share_of_the_mark() {
        let mark = Mark { name: "floor".to_owned(), time: 20_000.0 };
        let svg = climb("toys", &[("slow", 80_000.0), ("fast", 25_000.0)], Some(&mark)).expect("there are times");
        for text in [">slow<", ">80.00 µs<", ">25 %<", ">fast<", ">80 %<", ">of floor<", ">floor 20.00 µs<", "<style>"]
        {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        let plain = climb("toys", &[("slow", 80_000.0)], None).expect("there is a time");
        assert!(plain.contains(">80.00 µs<") && !plain.contains("floor\""), "{plain}");
        assert!(climb("toys", &[], Some(&mark)).is_none());
    }
}
