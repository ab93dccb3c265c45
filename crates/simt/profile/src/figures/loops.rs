//! The numbers that a loop computes, step by step.
//!
//! A loop is a sequence of instructions that a lane executes several times in a row. Its figure has a column for each
//! step and a row for each instruction that produces a number. Such an instruction has an f32 result, or a result that
//! an f32 instruction reads.

use std::collections::HashSet;

use simt::observe::Site;

use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::{Recording, Written};

pub(super) const LOOP: Drawing = Drawing { name: "loop", about: "the numbers of a lane's loop, step by step", draw };

/// Limits: the instructions of a loop, the rows and steps of a figure, and the minimum number of steps of a loop.
const LONGEST: usize = 256;
const ROWS: usize = 24;
const STEPS: usize = 16;
const FEWEST: usize = 3;

fn draw(recording: &Recording) -> Vec<Figure> {
    let mut known_starts = HashSet::new();
    let loops =
        loops(&recording.written).into_iter().filter(|lane_loop| known_starts.insert(lane_loop.steps[0][0].key()));
    loops.filter_map(|lane_loop| figure(recording, &lane_loop)).collect()
}

impl Written {
    /// Returns the instruction and the index of its result.
    fn key(&self) -> (Site, usize) {
        (self.site, self.place)
    }
}

/// The steps of a loop, each with the same instructions.
struct Loop<'a> {
    steps: Vec<&'a [Written]>,
}

/// Returns the innermost loops in the results that a lane wrote, in execution order.
fn loops(written: &[Written]) -> Vec<Loop<'_>> {
    let is_equal = |a: &[Written], b: &[Written]| a.iter().map(Written::key).eq(b.iter().map(Written::key));
    let (mut found, mut first) = (Vec::new(), 0);
    while first < written.len() {
        let remaining = &written[first..];
        let length = remaining.iter().skip(1).take(LONGEST).position(|result| result.key() == remaining[0].key());
        let length = length.map_or(0, |place| place + 1);
        // A result that occurs twice in a step belongs to an inner loop, which is found later.
        let is_innermost = remaining[..length].iter().map(Written::key).collect::<HashSet<_>>().len() == length;
        let steps: Vec<_> = match length {
            1.. if is_innermost => {
                remaining.chunks_exact(length).take_while(|step| is_equal(step, &remaining[..length])).collect()
            }
            _ => Vec::new(),
        };
        if steps.len() < FEWEST {
            first += 1;
            continue;
        }
        first += steps.len() * length;
        found.push(Loop { steps });
    }
    found
}

/// A PTX instruction: its name, the registers that it writes, and the registers that it reads.
struct Parsed<'a> {
    name: &'a str,
    writes: Vec<&'a str>,
    reads: Vec<&'a str>,
}

impl<'a> Parsed<'a> {
    fn new(line: &'a str) -> Self {
        let line = line.trim();
        let line = if line.starts_with('@') {
            line.split_once(char::is_whitespace).map_or("", |(_, rest)| rest)
        } else {
            line
        };
        let (name, operands) = line.trim().split_once(char::is_whitespace).unwrap_or((line, ""));
        let end = if operands.trim_start().starts_with('{') { operands.find('}') } else { operands.find(',') };
        let (to, from) = operands.split_at(end.unwrap_or(operands.len()));
        let registers = |text: &'a str| -> Vec<&'a str> {
            let words = text.split(|c: char| c.is_whitespace() || ",;{}[]|+".contains(c));
            words.filter(|word| word.starts_with('%')).collect()
        };
        Self { name, writes: registers(to), reads: registers(from) }
    }

    fn is(&self, operation: &str) -> bool {
        self.name.split('.').next() == Some(operation)
    }

    /// Returns whether the operands are f32.
    fn reads_floats(&self) -> bool {
        self.name.ends_with(".f32") && !self.is("ld")
    }

    /// Returns whether the result is an f32.
    fn gives_float(&self) -> bool {
        if self.is("cvt") { self.name.contains(".f32.") } else { self.name.ends_with(".f32") && !self.is("setp") }
    }
}

fn figure(recording: &Recording, lane_loop: &Loop<'_>) -> Option<Figure> {
    let text = recording.ptx();
    let lines: Vec<u32> = lane_loop.steps[0].iter().map(|written| recording.position(written.site).ptx_line).collect();
    let parsed: Vec<Parsed<'_>> = lines.iter().map(|line| Parsed::new(text.line_text(*line))).collect();
    let name = |place: usize| parsed[place].writes.get(lane_loop.steps[0][place].place).copied();
    let numbers: HashSet<&str> = parsed
        .iter()
        .filter(|instruction| instruction.reads_floats())
        .flat_map(|instruction| instruction.reads.iter().copied())
        .collect();
    let is_shown =
        |place: &usize| name(*place).is_some_and(|name| parsed[*place].gives_float() || numbers.contains(name));
    let shown_places: Vec<usize> = (0..parsed.len()).filter(is_shown).collect();
    if shown_places.iter().filter(|place| parsed[**place].gives_float()).count() < 2 || shown_places.len() > ROWS {
        return None;
    }
    // A register that a step reads before writing it holds a value from the previous step.
    let is_kept = |place: usize| {
        let name = name(place).unwrap_or_default();
        parsed[..=place].iter().any(|instruction| instruction.reads.contains(&name))
    };
    let count = lane_loop.steps.len().min(STEPS);
    let row = |place: &usize| {
        let cell = |step: usize| {
            let bits = |step: usize| lane_loop.steps[step][*place].bits;
            let shade = match is_kept(*place) {
                false => Shade::Idle,
                true if step > 0 && bits(step) == bits(step - 1) => Shade::Used,
                true => Shade::Turn(3),
            };
            Cell::new(number(f32::from_bits(bits(step))), shade)
        };
        let operation = parsed[*place].name.split('.').next().unwrap_or_default();
        let label = format!("{operation} {}", name(*place).unwrap_or_default());
        FigureRow { label, cells: (0..count).map(cell).collect() }
    };
    let rows: Vec<FigureRow> = shown_places.iter().map(row).collect();
    let omission = match lane_loop.steps.len() - count {
        0 => String::new(),
        left_out => format!("; {left_out} more steps are left out"),
    };
    // The figure points to the last number that a step passes on, or to the first number if no number is passed on.
    let place = shown_places.iter().rfind(|place| is_kept(**place)).unwrap_or(&shown_places[0]);
    Some(Figure {
        what: LOOP.name,
        title: format!("{} steps of lane 0", lane_loop.steps.len()),
        source: recording.position(lane_loop.steps[0][*place].site).source,
        ptx_line: lines[*place],
        grids: vec![Grid {
            caption: format!(
                "the results of instructions (rows) by step (columns); green and blue: the next step reads the result; \
                 green: it is unchanged from the previous step, blue: it differs{omission}"
            ),
            columns: (0..count).map(|step| step.to_string()).collect(),
            together: 8,
            rows,
            arrows: Vec::new(),
        }],
        counts: vec![("steps", lane_loop.steps.len() as u64)],
        ..Figure::default()
    })
}

/// Formats a number in five characters or fewer, unless the number is very large or very small.
fn number(value: f32) -> String {
    let size = value.abs();
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if size > 0.0 && !(1e-3..9999.5).contains(&size) {
        return format!("{value:.0e}");
    }
    let digits = [9.9995, 99.995, 999.95].iter().filter(|limit| size >= **limit).count() + 1;
    let places = 4_usize.saturating_sub(digits + usize::from(value.is_sign_negative()));
    let text = format!("{value:.places$}");
    if places == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests;
