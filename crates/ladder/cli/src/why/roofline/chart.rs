//! Draws a roofline as a chart in pixels.

use serde::Serialize;

use super::letter;
use super::text::axes;
use crate::charts::{self, Axis, Drawn, Label};
use crate::output::duration;
use profile::roofline::Roofline;

/// The area of the chart for roofs and points: left, top, width and height.
const ROOM: [f64; 4] = [76.0, 16.0, 700.0, 330.0];
/// The distance below which rungs share a mark.
const NEAR: f64 = 15.0;
/// The distance between lines of text.
const LINE: f64 = 17.0;

/// The data of `charts/roofline.svg`.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    title: String,
    /// A text description for readers who cannot see the chart.
    words: String,
    width: f64,
    height: f64,
    room: [f64; 4],
    x: Vec<Label>,
    y: Vec<Label>,
    x_title: String,
    y_title: String,
    roofs: Vec<RoofLine>,
    points: Vec<Mark>,
    /// The rung of each letter.
    key: Vec<Label>,
}

#[derive(Debug, Serialize)]
struct RoofLine {
    /// The CSS class: `m0` for the first memory, `c` for the multiprocessors.
    class: String,
    from: [f64; 2],
    to: [f64; 2],
    label: String,
    /// The start of the label; the slope is in degrees.
    at: [f64; 2],
    slope: f64,
}

#[derive(Debug, Serialize)]
struct Mark {
    class: String,
    at: [f64; 2],
    /// The letters of the rungs at this mark. Empty if another memory's roof is closer to the rung.
    letters: String,
    /// The text that appears under a pointer.
    hint: String,
}

impl Drawn for Chart {
    const TEMPLATE: &'static str = "roofline.svg";
}

impl Chart {
    pub(crate) fn new(ladder: &str, about: &str, found: &Roofline) -> Self {
        let [x, y] = axes(found).map(|axis| axis.expect("a roofline has roofs"));
        let [left, top, width, height] = ROOM;
        let place = |x: f64, y: f64| [left + x * width, top + (1.0 - y) * height];
        let top_roof = found.compute.iter().map(|roof| roof.per_second).fold(0.0, f64::max);
        let mut roofs = Vec::new();
        let slope = (height / y.decades()).atan2(width / x.decades()).to_degrees();
        for (number, roof) in found.memory.iter().enumerate() {
            // Draw from the left or lower edge up to the highest horizontal line.
            let begin = x.first().max(y.first() / roof.per_second);
            let end = top_roof / roof.per_second;
            let [from, to] = [begin, end].map(|intensity| place(x.at(intensity), y.at(intensity * roof.per_second)));
            // Stagger the labels along the lines, so that roofs that are close together do not overlap the labels.
            let share = 0.12 + 0.16 * number as f64;
            // The label of the first roof goes below its line, where there is no other roof.
            let apart = if number == 0 { 15.0 } else { -6.0 };
            let at = [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share + apart];
            let label = format!("{} {}", roof.name, charts::per_second(roof.per_second, "B"));
            roofs.push(RoofLine { class: format!("m{number}"), from, to, label, at, slope: -slope });
        }
        let widest = found.memory.iter().map(|roof| roof.per_second).fold(0.0, f64::max);
        for roof in &found.compute {
            let from = place(x.at(roof.per_second / widest).max(0.0), y.at(roof.per_second));
            let to = place(1.0, y.at(roof.per_second));
            let label = format!("{} {}", roof.name, charts::per_second(roof.per_second, found.unit));
            let at = [to[0] - 4.0, to[1] - 6.0];
            roofs.push(RoofLine { class: "c".to_owned(), from, to, label, at, slope: 0.0 });
        }
        let (mut points, mut key) = (Vec::new(), Vec::new());
        let columns = 3;
        let key_top = top + height + 62.0;
        for (number, point) in found.points.iter().enumerate() {
            let nearest = point.nearest().map(|level| level.name);
            for (memory, level) in point.memory.iter().enumerate() {
                let Some(intensity) = level.intensity else { continue };
                let is_nearest = nearest == Some(level.name);
                let at = place(x.at(intensity), y.at(point.per_second));
                let hint = format!(
                    "{}, {}: {} per byte, {} % of the roof",
                    point.name,
                    level.name,
                    charts::plain(intensity),
                    charts::plain(level.of_roof * 100.0)
                );
                // Rungs that would overlap share a mark.
                let is_here = |mark: &&mut Mark| (mark.at[0] - at[0]).hypot(mark.at[1] - at[1]) < NEAR;
                let mut near = points.iter_mut().filter(|mark: &&mut Mark| !mark.letters.is_empty());
                match near.find(is_here).filter(|_| is_nearest) {
                    Some(mark) => {
                        mark.letters.push(letter(number));
                        mark.hint += &format!("; {hint}");
                    }
                    None => points.push(Mark {
                        class: format!("m{memory}{}", if is_nearest { " near" } else { "" }),
                        at,
                        letters: if is_nearest { letter(number).to_string() } else { String::new() },
                        hint,
                    }),
                }
            }
            let rows = found.points.len().div_ceil(columns);
            let at =
                [left + (number / rows) as f64 * (width / columns as f64), key_top + (number % rows) as f64 * LINE];
            key.push(Label { at, text: format!("{} {}", letter(number), point.name) });
        }
        // Draw the letters on top of the small marks.
        points.sort_by_key(|point| !point.letters.is_empty());
        let ticks = |axis: &Axis, at: &dyn Fn(f64) -> [f64; 2], text: &dyn Fn(f64) -> String| -> Vec<Label> {
            axis.ticks().into_iter().map(|value| Label { at: at(axis.at(value)), text: text(value) }).collect()
        };
        let words = found.points.iter().enumerate().map(|(number, point)| {
            let (time, share) = (duration(point.time_ns), charts::plain(point.of_bound * 100.0));
            format!("{} {} takes {time}, {share} % of {}", letter(number), point.name, point.bound)
        });
        let rows = found.points.len().div_ceil(columns) as f64;
        Self {
            title: format!("Roofline of {ladder}: {about}"),
            words: words.collect::<Vec<_>>().join("; "),
            width: left + width + 24.0,
            height: key_top + rows * LINE + 4.0,
            room: ROOM,
            x: ticks(&x, &|share| place(share, 0.0), &charts::plain),
            y: ticks(&y, &|share| place(0.0, share), &|value| charts::per_second(value, "")),
            x_title: format!("{}s per byte that is moved", found.unit),
            y_title: format!("{}s a second", found.unit),
            roofs,
            points,
            key,
        }
    }
}
