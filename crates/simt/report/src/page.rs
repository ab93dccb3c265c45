//! Pages from templates: the shared templates, and the page of a program's launches.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use serde::Serialize;

use crate::launch::Section;
use crate::words::{duration, percent};

/// The shared templates and the template for a program's launches, by name.
const TEMPLATES: [(&str, &str); 4] = [
    ("page.html", include_str!("page.html")),
    ("page.css", include_str!("page.css")),
    ("page.js", include_str!("page.js")),
    ("launches.html", include_str!("launches.html")),
];

/// The information about the whole program on a page.
#[derive(Serialize)]
pub(crate) struct About<'a> {
    pub(crate) program: &'a str,
    pub(crate) device: &'a str,
    pub(crate) launches: u64,
    /// Remarks about launches that are left out.
    pub(crate) notes: Vec<String>,
    /// The messages of the driver.
    pub(crate) messages: &'a [String],
}

/// The information about a kernel with one geometry on a page.
#[derive(Serialize)]
pub(crate) struct KernelShown<'s> {
    pub(crate) kernel: &'s str,
    pub(crate) geometry: String,
    pub(crate) calls: u64,
    /// The mean predicted time of the explained launches, multiplied by the number of all launches.
    pub(crate) total_ns: f64,
    pub(crate) sections: Vec<&'s Section>,
    pub(crate) failures: &'s [String],
}

/// Marks every page of this project. Only files with this mark are overwritten.
pub const GENERATOR: &str = r#"<meta name="generator" content="ladder report">"#;

/// Returns the shared templates, to which callers add others. All values in templates are escaped.
pub fn templates() -> Environment<'static> {
    let mut templates = Environment::new();
    let is_plain = |name: &str| name.ends_with(".css") || name.ends_with(".js");
    templates.set_auto_escape_callback(move |name| if is_plain(name) { AutoEscape::None } else { AutoEscape::Html });
    templates.add_filter("duration", duration);
    templates.add_filter("percent", percent);
    templates.add_filter("capitalize_first", |text: &str| {
        let mut letters = text.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    });
    for (name, text) in TEMPLATES {
        templates.add_template(name, text).expect("a test renders every template");
    }
    templates
}

/// Renders the page of a program's launches.
pub(crate) fn launches(about: &About<'_>, kernels: &[KernelShown<'_>]) -> String {
    let total: f64 = kernels.iter().map(|kernel| kernel.total_ns).sum();
    let templates = templates();
    let context = context! { generator => GENERATOR, about => Value::from(Serde(about)), kernels => Value::from(Serde(kernels)), total };
    let page = templates.get_template("launches.html").and_then(|template| template.render(context));
    page.expect("a test renders every template")
}
