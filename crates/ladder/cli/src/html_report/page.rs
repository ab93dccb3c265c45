//! Renders the pages from templates.

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::collect::ReportPage;
use super::compare::Comparison;
use crate::charts;
use report::page::GENERATOR;

/// The templates of pages, by name.
const TEMPLATES: [(&str, &str); 3] = [
    ("report.html", include_str!("report.html")),
    ("rung.html", include_str!("rung.html")),
    ("comparison.html", include_str!("comparison.html")),
];

/// Returns the page of a report.
pub(super) fn report(report: &ReportPage) -> String {
    let (element, report) = (report.data.element(), Value::from(Serde(report)));
    rendered("report.html", context! { generator => GENERATOR, element, report })
}

/// Returns the page that compares two reports.
pub(super) fn comparison(comparison: &Comparison) -> String {
    rendered("comparison.html", context! { generator => GENERATOR, comparison => Value::from(Serde(comparison)) })
}

fn rendered(name: &str, context: Value) -> String {
    let mut templates = charts::templates();
    for (name, text) in TEMPLATES {
        templates.add_template(name, text).expect("a test makes every page");
    }
    let page = templates.get_template(name).and_then(|template| template.render(context));
    page.expect("a test makes every page")
}
