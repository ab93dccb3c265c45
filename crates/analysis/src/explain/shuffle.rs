//! A warp's shuffle: which lane's value goes to which lane.

use simt::warp::ShuffleMode;

use super::model::{Arrow, Cell, Drawing, Figure, Grid, Row, Shade};
use super::record::{Recording, Shuffle};

pub(super) const SHUFFLE: Drawing = Drawing { name: "shuffle", about: "values that lanes read from other lanes", draw };

fn draw(recording: &Recording) -> Vec<Figure> {
    recording.shuffles.iter().map(|shuffle| figure(recording, shuffle)).collect()
}

fn figure(recording: &Recording, shuffle: &Shuffle) -> Figure {
    let Shuffle { mode, lanes, members, width, values, sources, in_range, .. } = shuffle;
    let has = |mask: &u32, lane: usize| mask >> lane & 1 == 1;
    let before = |lane: usize| match has(lanes, lane) {
        true => Cell::new(value(values[lane]), Shade::Used),
        false => Cell::new("·", Shade::Idle),
    };
    let after = |lane: usize| match (has(lanes, lane), has(in_range, lane)) {
        (false, _) => Cell::new("·", Shade::Idle),
        (true, false) => Cell::new(value(values[lane]), Shade::Idle),
        (true, true) => Cell::new(value(values[sources[lane] as usize]), Shade::Used),
    };
    let row = |label: &str, cells: &dyn Fn(usize) -> Cell| {
        let (label, cells) = (label.to_owned(), (0..32).map(cells).collect());
        Row { label, cells }
    };
    let reads = (0..32).filter(|lane| has(lanes, *lane) && has(in_range, *lane));
    let arrows = reads.map(|to| Arrow { row: 0, from: sources[to] as usize, to }).collect();
    let name = match mode {
        ShuffleMode::Up => "up",
        ShuffleMode::Down => "down",
        ShuffleMode::Bfly => "bfly",
        ShuffleMode::Idx => "idx",
    };
    let position = recording.position(shuffle.site);
    Figure {
        what: SHUFFLE.name,
        title: format!("shuffle {name}, width {width}, mask {members:#010x}"),
        source: position.source,
        ptx_line: position.ptx_line,
        grids: vec![Grid {
            caption: "values by lane, before and after".to_owned(),
            columns: (0..32).map(|lane: u32| lane.to_string()).collect(),
            together: (*width as usize).clamp(1, 32),
            rows: vec![row("gives", &before), row("gets", &after)],
            arrows,
        }],
        counts: vec![
            ("lanes", lanes.count_ones().into()),
            ("lanes that read another lane", other_lanes(shuffle)),
            ("lanes that keep their own value", (lanes & !in_range).count_ones().into()),
        ],
        notes: Vec::new(),
    }
}

fn other_lanes(shuffle: &Shuffle) -> u64 {
    let lanes = simt::regs::lanes(shuffle.lanes & shuffle.in_range);
    lanes.filter(|lane| shuffle.sources[*lane] as usize != *lane).count() as u64
}

/// A register's 32 bits, whose type the PTX does not say: a small integer, or else a floating-point number of a usual size,
/// or else in hexadecimal digits.
fn value(bits: u32) -> String {
    let (integer, float) = (bits.cast_signed(), f32::from_bits(bits));
    match integer.unsigned_abs() < 1 << 20 {
        true => integer.to_string(),
        false if (1e-3..1e7).contains(&float.abs()) => {
            format!("{float:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        false => format!("{bits:x}"),
    }
}
