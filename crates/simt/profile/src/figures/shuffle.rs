//! A warp's shuffle: the source lane of each lane's value.

use simt::run::Position;
use simt::warp::ShuffleMode;

use super::figure::{Arrow, Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::{Recording, Shuffle};

pub(super) const SHUFFLE: Drawing = Drawing { name: "shuffle", about: "values that lanes read from other lanes", draw };

fn draw(recording: &Recording) -> Vec<Figure> {
    recording.shuffles.iter().map(|shuffle| figure(recording.position(shuffle.site), shuffle)).collect()
}

fn has(mask: u32, lane: usize) -> bool {
    mask >> lane & 1 == 1
}

impl Shuffle {
    /// Returns the lane whose value a lane receives. Returns `None` if the lane does not participate, or if its source
    /// lane does not provide a value, which makes the result undefined.
    pub fn source(&self, lane: usize) -> Option<usize> {
        let source = if has(self.in_range, lane) { self.sources[lane] as usize } else { lane };
        (has(self.lanes, lane) && has(self.providers, source)).then_some(source)
    }

    /// Returns the value that all executing lanes have in common, if there is one.
    fn common(&self, of: &[u32; 32]) -> Option<u32> {
        let mut lanes = simt::regs::lanes(self.lanes).map(|lane| of[lane]);
        let first = lanes.next()?;
        lanes.all(|other| other == first).then_some(first)
    }
}

fn figure(position: Position, shuffle: &Shuffle) -> Figure {
    let Shuffle { mode, lanes, providers, values, in_range, .. } = shuffle;
    let notation = Notation::of(shuffle);
    let before = |lane: usize| match has(*providers, lane) {
        true => Cell::new(notation.text(values[lane]), Shade::Used),
        false => Cell::new("·", Shade::Idle),
    };
    let after = |lane: usize| match (has(*lanes, lane), shuffle.source(lane)) {
        (false, _) => Cell::new("·", Shade::Idle),
        (true, None) => Cell::new("?", Shade::Turn(4)),
        (true, Some(source)) => {
            let shade = if has(*in_range, lane) { Shade::Used } else { Shade::Idle };
            Cell::new(notation.text(values[source]), shade)
        }
    };
    let row = |label: &str, cells: &dyn Fn(usize) -> Cell| {
        let (label, cells) = (label.to_owned(), (0..32).map(cells).collect());
        FigureRow { label, cells }
    };
    let reads = (0..32).filter(|lane| has(*in_range, *lane));
    let arrows = reads.filter_map(|to| shuffle.source(to).map(|from| Arrow { row: 0, from, to })).collect();
    let name = match mode {
        ShuffleMode::Up => "up",
        ShuffleMode::Down => "down",
        ShuffleMode::Bfly => "bfly",
        ShuffleMode::Idx => "idx",
    };
    let [width, members] = [&shuffle.widths, &shuffle.members].map(|of| shuffle.common(of));
    let differs = || "differs by lane".to_owned();
    let undefined = simt::regs::lanes(*lanes).filter(|lane| shuffle.source(*lane).is_none()).count();
    let mut notes = Vec::new();
    if undefined > 0 {
        notes.push("?: the source lane does not provide a value, so the result is undefined".to_owned());
    }
    Figure {
        what: SHUFFLE.name,
        title: format!(
            "shuffle {name}, width {}, mask {}",
            width.map_or_else(differs, |width| width.to_string()),
            members.map_or_else(differs, |members| format!("{members:#010x}")),
        ),
        source: position.source,
        ptx_line: position.ptx_line,
        grids: vec![Grid {
            caption: "values by lane, before and after".to_owned(),
            columns: (0..32).map(|lane: u32| lane.to_string()).collect(),
            together: width.unwrap_or(32).clamp(1, 32) as usize,
            rows: vec![row("gives", &before), row("gets", &after)],
            arrows,
        }],
        counts: vec![
            ("lanes", lanes.count_ones().into()),
            ("lanes that read another lane", other_lanes(shuffle)),
            ("lanes that keep their value", (lanes & !in_range).count_ones().into()),
        ],
        notes,
        ..Figure::default()
    }
}

fn other_lanes(shuffle: &Shuffle) -> u64 {
    let lanes = simt::regs::lanes(shuffle.lanes & shuffle.in_range);
    lanes.filter(|lane| shuffle.sources[*lane] as usize != *lane).count() as u64
}

/// The notation for the values of a shuffle. The PTX does not specify their type, so the first notation that fits all
/// values is used.
#[derive(Clone, Copy)]
enum Notation {
    /// Small integers.
    Integer,
    /// Floating-point numbers of moderate magnitude.
    Float,
    /// Any other values, in hexadecimal.
    Hexadecimal,
}

impl Notation {
    /// Returns the notation for the values that lanes provide.
    fn of(shuffle: &Shuffle) -> Self {
        let all_fit =
            |fits: fn(u32) -> bool| simt::regs::lanes(shuffle.providers).all(|lane| fits(shuffle.values[lane]));
        if all_fit(|bits| bits.cast_signed().unsigned_abs() < 1 << 20) {
            Self::Integer
        } else if all_fit(|bits| bits == 0 || (1e-3..1e7).contains(&f32::from_bits(bits).abs())) {
            Self::Float
        } else {
            Self::Hexadecimal
        }
    }

    /// Formats the 32 bits of a register.
    fn text(self, bits: u32) -> String {
        match self {
            Self::Integer => bits.cast_signed().to_string(),
            Self::Float => {
                let text = format!("{:.3}", f32::from_bits(bits));
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Self::Hexadecimal => format!("{bits:x}"),
        }
    }
}

#[cfg(test)]
mod tests;
