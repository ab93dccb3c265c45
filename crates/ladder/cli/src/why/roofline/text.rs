//! Draws a roofline with characters.

use anstyle::{AnsiColor, Style};

use super::letter;
use crate::charts::{self, Axis};
use crate::output::OutputStyle;
use profile::roofline::Roofline;

/// The height of a chart in lines.
const LINES: usize = 18;
/// The number of characters at the left of a line, which hold the label of a tick.
const MARGIN: usize = 9;
/// The colors of memories, in their order.
const COLORS: [AnsiColor; 3] = [AnsiColor::Blue, AnsiColor::Magenta, AnsiColor::Yellow];
/// The characters that draw the memories' roofs if there are no colors, in the same order.
const MARKS: [char; 3] = ['.', '-', ':'];

/// Draws the chart: roofs as lines, and each rung as a letter at the memory whose roof is nearest to the rung.
pub(super) fn chart(found: &Roofline, style: OutputStyle) -> String {
    let columns = style.width.saturating_sub(MARGIN + 2).clamp(24, 90);
    let [x, y] = axes(found).map(|axis| axis.expect("a roofline has roofs"));
    // The first line is the highest.
    let line_of = |value: f64| (LINES - 1) - (y.at(value) * (LINES - 1) as f64).round() as usize;
    let mut cells = vec![vec![(' ', Style::new()); columns]; LINES];
    let color = |memory: usize| match style.terminal {
        true => COLORS[memory % COLORS.len()].on_default(),
        false => Style::new(),
    };
    let top = found.compute.iter().map(|roof| roof.per_second).fold(0.0, f64::max);
    let intensities = (0..columns).map(|column| x.value(column as f64 / (columns - 1) as f64));
    for (column, intensity) in intensities.enumerate() {
        for (number, roof) in found.memory.iter().enumerate().rev() {
            let value = intensity * roof.per_second;
            if value <= top && y.has(value) {
                cells[line_of(value)][column] = (MARKS[number % MARKS.len()], color(number));
            }
        }
        for roof in &found.compute {
            let reached = found.memory.iter().any(|memory| intensity * memory.per_second >= roof.per_second);
            if reached && y.has(roof.per_second) {
                cells[line_of(roof.per_second)][column] = ('=', Style::new());
            }
        }
    }
    for (number, point) in found.points.iter().enumerate() {
        let Some(level) = point.nearest() else { continue };
        let place = level.intensity.map_or(0.0, |intensity| x.at(intensity));
        let memory = found.memory.iter().position(|roof| roof.name == level.name).unwrap_or(0);
        let column = (place * (columns - 1) as f64).round() as usize;
        let bold = if style.terminal { color(memory).bold() } else { Style::new() };
        // If another rung's letter is already at this position, put this rung's letter to its right.
        let line = &mut cells[line_of(point.per_second)];
        let is_free = |column: &usize| !line[*column].0.is_alphabetic();
        let column = (column.min(columns - 1)..columns).find(is_free).unwrap_or(columns - 1);
        line[column] = (letter(number), bold);
    }
    let mut text = format!("{}s/s\n", found.unit);
    let ticks: Vec<(usize, f64)> = y.ticks().into_iter().map(|value| (line_of(value), value)).collect();
    for (number, line) in cells.into_iter().enumerate() {
        let tick = ticks.iter().find(|(at, _)| *at == number);
        let label = tick.map_or(String::new(), |(_, value)| charts::per_second(*value, ""));
        let drawn: String = line.into_iter().map(|(mark, style)| format!("{style}{mark}{style:#}")).collect();
        text += &format!("{}\n", format!("{label:>MARGIN$} │{drawn}").trim_end());
    }
    let mut tick_labels = vec![' '; columns];
    for value in x.ticks() {
        let label = charts::plain(value);
        let at = (x.at(value) * (columns - 1) as f64).round() as usize;
        // Draw a label only if it fits completely and keeps a gap to other text.
        let room = at.saturating_sub(1)..(at + label.len() + 1).min(columns);
        if at + label.len() <= columns && tick_labels[room].iter().all(|mark| *mark == ' ') {
            tick_labels.splice(at..at + label.len(), label.chars());
        }
    }
    let tick_labels: String = tick_labels.into_iter().collect();
    text += &format!("{:>MARGIN$} └{}\n{:>MARGIN$}  {}\n", "", "─".repeat(columns), "", tick_labels.trim_end());
    let names = found.memory.iter().enumerate().map(|(number, roof)| {
        let (mark, style) = (MARKS[number % MARKS.len()], color(number));
        format!("{style}{mark}{mark} {}{style:#}", roof.name)
    });
    let names = names.collect::<Vec<_>>().join("  ");
    let compute: Vec<&str> = found.compute.iter().map(|roof| roof.name).collect();
    text + &format!("{:>MARGIN$}  {}s per byte\nroofs: {names}  == {}\n", "", found.unit, compute.join(", "))
}

/// Returns axes that include all points and the intersections of the roofs.
pub(super) fn axes(found: &Roofline) -> [Option<Axis>; 2] {
    let levels = || found.points.iter().flat_map(|point| &point.memory).filter_map(|level| level.intensity);
    let top = found.compute.iter().map(|roof| roof.per_second).fold(0.0, f64::max);
    let ridges = found.memory.iter().map(|roof| top / roof.per_second * 2.0);
    let x = Axis::of(levels().chain(ridges));
    let least = found.points.iter().map(|point| point.per_second / 2.0);
    [x, Axis::of(least.chain([top * 1.5]))]
}
