//! The plot: two panels, the same kernels in both.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Kernel, Point};

/// One kernel's points, and how they are drawn.
struct Line {
    name: &'static str,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// Draws what was measured.
pub(super) fn draw(
    path: &Path,
    measured: &[(&Kernel, Vec<Point>)],
    command: &str,
) -> Result<(), Box<dyn Error>> {
    let lines = |coordinates: fn(&Point) -> Option<(f64, f64)>| -> Vec<Line> {
        measured
            .iter()
            .map(|(kernel, points)| Line {
                name: kernel.name,
                color: kernel.color,
                points: points.iter().filter_map(coordinates).collect(),
            })
            .collect()
    };
    let root = SVGBackend::new(path, (960, 440)).into_drawing_area();
    root.fill(&WHITE)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (body, caption) = root.split_vertically(405);
    let text = format!("{command}, on {threads} host threads");
    caption.draw(&Text::new(text, (20, 8), ("monospace", 13)))?;
    let (left, right) = body.split_horizontally(480);
    time(
        &left,
        &lines(|point| Some((point.warp_instructions, point.seconds))),
    )?;
    memory(&right, &lines(|point| Some((point.blocks, point.memory?))))?;
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Seconds against instructions. With both axes logarithmic, what is linear has the slope of the grey lines.
fn time(area: &Area<'_>, lines: &[Line]) -> Result<(), Box<dyn Error>> {
    let (x, y) = (bounds(lines, |at| at.0), bounds(lines, |at| at.1));
    let mut chart = ChartBuilder::on(area)
        .caption("Time against instructions", ("sans-serif", 17))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(58)
        .build_cartesian_2d(x.clone().log_scale(), y.clone().log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("instructions of warps")
        .y_desc("seconds, best launch (grey: proportional)")
        .x_label_formatter(&|x| format!("{x:.0e}"))
        .y_label_formatter(&|y| format!("{y}"))
        .draw()?;
    for line in lines {
        if let Some(last) = line.points.last() {
            let slope = last.1 / last.0;
            let from = x.start.max(y.start / slope);
            let to = x.end.min(y.end / slope);
            let proportional = [(from, from * slope), (to, to * slope)];
            chart.draw_series(LineSeries::new(proportional, RGBColor(190, 190, 190)))?;
        }
    }
    for line in lines {
        chart.draw_series(LineSeries::new(line.points.clone(), line.color))?;
        chart.draw_series(
            line.points
                .iter()
                .map(|at| Circle::new(*at, 4, line.color.filled())),
        )?;
        chart.draw_series(line.points.last().map(|at| label(line, *at)))?;
    }
    Ok(())
}

/// Memory against the grid.
fn memory(area: &Area<'_>, lines: &[Line]) -> Result<(), Box<dyn Error>> {
    let x = bounds(lines, |at| at.0);
    let most = lines
        .iter()
        .flat_map(|line| &line.points)
        .fold(0.0, |most: f64, at| most.max(at.1));
    let caption = if most > 0.0 {
        "Memory against the grid"
    } else {
        "Memory: only Linux tells a process its peak"
    };
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 17))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(58)
        .build_cartesian_2d(x.log_scale(), 0.0..(most * 2.0).max(1.0))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("blocks of the grid")
        .y_desc("peak resident MiB beyond the buffers")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .draw()?;
    for line in lines {
        chart.draw_series(LineSeries::new(line.points.clone(), line.color))?;
        chart.draw_series(
            line.points
                .iter()
                .map(|at| Circle::new(*at, 4, line.color.filled())),
        )?;
        chart.draw_series(line.points.last().map(|at| label(line, *at)))?;
    }
    Ok(())
}

/// A kernel's name, left above one of its points, of which the first coordinate is on a logarithmic axis.
fn label(line: &Line, at: (f64, f64)) -> Text<'static, (f64, f64), &'static str> {
    let style = ("sans-serif", 14).into_font().color(&line.color);
    let corner = Pos::new(HPos::Right, VPos::Bottom);
    Text::new(line.name, (at.0 / 1.25, at.1 * 1.04), style.pos(corner))
}

/// The range of a coordinate on a logarithmic axis, with room on both sides.
fn bounds(lines: &[Line], coordinate: fn(&(f64, f64)) -> f64) -> Range<f64> {
    let all = lines.iter().flat_map(|line| &line.points).map(coordinate);
    let (least, most) = all.fold((f64::INFINITY, 0.0f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    if least > most {
        return 1.0..10.0;
    }
    least / 2.0..most * 2.0
}
