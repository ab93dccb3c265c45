//! Tables on a terminal and in Markdown.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment, Color, Table};

use super::cells::{self, Grid};
use super::{Circumstances, Results};
use crate::contest::Contest;
use crate::targets::{self, Ceiling};

/// How the ratios are to be read.
const RATIOS: &str = "ratios are the median of the rounds' own ratios, with their quartiles";

/// All cases, the means and the targets.
pub fn table(results: &Results, colours: bool) -> String {
    let mut text = String::new();
    for contest in &results.contests {
        text += &format!("{}: {}\n", contest.ladder.name, contest.title);
        for grid in [cells::rungs(contest), cells::baselines(contest)] {
            if !grid.rows.is_empty() {
                text += &drawn(&grid, colours);
            }
        }
        let notes = contest.regime.iter().chain(&contest.missing);
        for note in notes.chain(&cells::wrong(contest)) {
            text += &format!("{note}\n");
        }
        text += "\n";
    }
    let ratios = targets::ratios(&results.contests);
    let reached = targets::reached(&results.contests);
    for grid in [cells::means(&ratios), cells::targets(&reached)] {
        if !grid.rows.is_empty() {
            text += &drawn(&grid, colours);
            text += "\n";
        }
    }
    for ceiling in targets::ceilings(&results.contests) {
        let Ceiling {
            name,
            ladder,
            title,
            gb_per_s,
        } = ceiling;
        text += &format!("ceiling: {name}, {gb_per_s:.1} GB/s, on {ladder} {title}\n");
    }
    for (what, why) in &results.failed {
        text += &format!("not measured: {what}: {why}\n");
    }
    for line in caption(&results.circumstances) {
        text += &format!("{line}\n");
    }
    text
}

/// The cases of a ladder as Markdown, with their caption.
pub fn markdown(contests: &[&Contest], circumstances: &Circumstances) -> String {
    let mut text = String::new();
    for contest in contests {
        text += &format!("**{}**\n\n", contest.title);
        for mut grid in [cells::rungs(contest), cells::baselines(contest)] {
            if grid.rows.is_empty() {
                continue;
            }
            for row in &mut grid.rows {
                row[0] = format!("`{}`", row[0]);
            }
            let mut table = Table::new();
            table.load_style(ASCII_MARKDOWN).force_no_tty();
            fill(&mut table, &grid);
            text += &format!("{}\n\n", table.trim_fmt());
        }
        let notes: Vec<&str> = contest
            .regime
            .iter()
            .chain(&contest.missing)
            .map(String::as_str)
            .collect();
        if !notes.is_empty() {
            text += &format!("{}.\n\n", notes.join("; "));
        }
    }
    text + &caption(circumstances).join("; ") + ".\n"
}

/// Where, when and with which compilers it was measured.
pub fn caption(circumstances: &Circumstances) -> Vec<String> {
    let Circumstances {
        provenance,
        device,
        nvcc,
        baselines,
        runs,
        command,
    } = circumstances;
    let mut with = vec![provenance.toolchain.clone()];
    with.extend(
        nvcc.iter()
            .map(|version| format!("CUDA ports by nvcc {version}")),
    );
    with.extend(baselines.clone());
    vec![
        format!("on {device}"),
        format!(
            "{runs} rounds of one launch each, in turn, timed by the device's events; {RATIOS}"
        ),
        format!("{}; {}", provenance.date, with.join(", ")),
        format!("`{command}`"),
    ]
}

fn drawn(grid: &Grid, colours: bool) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    if colours {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    fill(&mut table, grid);
    format!("{}\n", table.trim_fmt())
}

fn fill(table: &mut Table, grid: &Grid) {
    let header = grid.header.iter();
    table.set_header(header.map(|text| Cell::new(text).add_attribute(Attribute::Bold)));
    for row in &grid.rows {
        table.add_row(row.iter().map(|text| match text.as_str() {
            cells::WRONG | "NO" => Cell::new(text).fg(Color::Red),
            "yes" => Cell::new(text).fg(Color::Green),
            text => Cell::new(text),
        }));
    }
    // Names and words to the left, numbers to the right.
    let is_number = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit() || c == '≤' || c == '≥')
            || ["", cells::NOTHING, cells::WRONG].contains(&text)
            || text.starts_with(cells::LEFT_OUT)
    };
    for (at, column) in table.column_iter_mut().enumerate() {
        if grid.rows.iter().all(|row| is_number(&row[at])) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
