//! Charts as SVG: logarithmic axes, numbers with prefixes, and the templates that draw them.

mod axis;

use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

pub(crate) use axis::Axis;

/// A chart or page that a template in this folder draws from its data.
pub(crate) trait Drawn: Serialize {
    /// The name of the template.
    const TEMPLATE: &'static str;
}

/// A text at a position in a chart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Label {
    pub at: [f64; 2],
    pub text: String,
}

/// The templates, by name.
const TEMPLATES: [(&str, &str); 4] = [
    ("chart.css", include_str!("chart.css")),
    ("roofline.svg", include_str!("roofline.svg")),
    ("ladder_chart.svg", include_str!("ladder_chart.svg")),
    ("file.svg", include_str!("file.svg")),
];

/// Returns the templates of pages and charts, to which callers can add more templates. The templates escape all values.
pub(crate) fn templates() -> Environment<'static> {
    let mut templates = report::page::templates();
    // One decimal is enough for coordinates.
    templates.add_filter("px", |value: f64| format!("{value:.1}"));
    for (name, text) in TEMPLATES {
        templates.add_template(name, text).expect("a test draws every template");
    }
    templates
}

/// Returns a chart as a standalone file.
pub(crate) fn file<C: Drawn>(chart: &C) -> String {
    let templates = templates();
    let template = templates.get_template("file.svg").expect("it is in the list");
    let context = minijinja::context! { template => C::TEMPLATE, chart => Value::from(Serde(chart)), id => "chart" };
    template.render(context).expect("a test draws every template")
}

/// Formats a number of units per second: `3.35 TB/s`, `512 G`.
pub(crate) fn per_second(value: f64, unit: &str) -> String {
    let (scaled, prefix) = prefixed(value);
    match unit {
        "" => format!("{scaled} {prefix}").trim_end().to_owned(),
        "B" => format!("{scaled} {prefix}B/s"),
        "FLOP" => format!("{scaled} {prefix}FLOP/s"),
        words => format!("{scaled} {prefix} {words}s/s"),
    }
}

/// Formats a number with three digits and returns the SI prefix of its unit.
fn prefixed(value: f64) -> (String, &'static str) {
    let prefixes = ["", "k", "M", "G", "T", "P"];
    let thousands = (value.max(1.0).log10() / 3.0).floor().clamp(0.0, 5.0) as usize;
    (plain(value / 1000f64.powi(thousands as i32)), prefixes[thousands])
}

/// Formats a number with three digits: `0.25`, `3.35`, `12.5`, `512`.
pub(crate) fn plain(value: f64) -> String {
    let decimals = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{per_second, plain};

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        assert_eq!(per_second(3.352e12, "B"), "3.35 TB/s");
        assert_eq!(per_second(66.9e12, "FLOP"), "66.9 TFLOP/s");
        assert_eq!(per_second(1e9, "warp instruction"), "1 G warp instructions/s");
        assert_eq!(per_second(512e6, ""), "512 M");
        assert_eq!([0.001, 0.25, 1.0, 12.54, 999.0].map(plain), ["0.001", "0.25", "1", "12.5", "999"]);
    }
}
