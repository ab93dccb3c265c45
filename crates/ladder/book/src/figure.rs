//! Writes the figures of `ladder why --figures` to files next to the pages.

use crate::command::OutputKind;
use crate::context::Context;
use crate::{FOLDER, read};

/// The start of a figure in an SVG file.
const BEGIN: &str = "<g role=\"img\"";

/// Returns the figures of a rung, with the command that draws them. The first word may select figures: `2` or `1-3`.
pub(crate) fn figure(words: &[String], context: &mut Context<'_>) -> Result<String, String> {
    let (range, arguments) = match words {
        [first, rest @ ..] if first.starts_with(|c: char| c.is_ascii_digit()) => (Some(range(first)?), rest),
        all => (None, all),
    };
    let command = format!("why {}", arguments.join(" "));
    let svg = &context.commands.output(&command, OutputKind::Svg)?.svg;
    let (svg, described) = chosen(svg, range).map_err(|why| format!("`ladder {command}`: {why}"))?;
    let words = arguments.iter().map(|word| word.trim_start_matches('-')).chain([words[0].as_str()]);
    let is_fine = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = words.collect::<Vec<_>>().join("-").chars().map(is_fine).collect();
    let file = format!("figures/{name}.svg");
    context.files.insert(file.clone(), svg);
    Ok(format!(
        "<figure>\n<img src=\"{file}\" alt=\"{described}\">\n<figcaption><code>$ ladder {command}</code></figcaption>\n</figure>\n"
    ))
}

/// Returns a picture from `docs/book/pictures`. The picture's `title` and `desc` serve as its description.
pub(crate) fn picture(name: &str, context: &mut Context<'_>) -> Result<String, String> {
    let path = format!("{FOLDER}/pictures/{name}.svg");
    let svg = read(&path)?;
    let described = |tag| tags(&svg, tag).next().map(str::trim).ok_or_else(|| format!("{path} has no <{tag}>"));
    let (title, text) = (described("title")?, described("desc")?.replace('\n', " "));
    let file = format!("figures/{name}.svg");
    context.files.insert(file.clone(), svg.clone());
    // The browser scales a picture down to a phone's width. A wide picture scrolls instead, because scaling would make
    // its type too small.
    let is_wide = attribute(&svg, " width=\"").is_some_and(|width| width > 500.0);
    let class = if is_wide { "" } else { " class=\"picture\"" };
    Ok(format!(
        "<figure{class}>\n<img src=\"{file}\" alt=\"{title}: {text}\">\n<figcaption>{title}</figcaption>\n</figure>\n"
    ))
}

/// Returns the numbers of the first and the last selected figure, counted from 1.
fn range(text: &str) -> Result<(usize, usize), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok((first, last)),
        _ => Err(format!("`{text}` does not select figures: write `2` or `1-3`")),
    }
}

/// Returns the SVG reduced to these figures, and the figures' titles and descriptions.
fn chosen(svg: &str, range: Option<(usize, usize)>) -> Result<(String, String), String> {
    let starts: Vec<usize> = svg.match_indices(BEGIN).map(|(start, _)| start).collect();
    let end = svg.rfind("</svg>").ok_or("the command drew no figure")?;
    if starts.is_empty() && range.is_none() && !svg.is_empty() {
        // A chart consists of a single figure.
        let described: Vec<&str> = ["title", "desc"].into_iter().flat_map(|tag| tags(svg, tag).next()).collect();
        return Ok((svg.to_owned(), described.join(": ")));
    }
    let (first, last) = range.unwrap_or((1, starts.len()));
    if starts.is_empty() || last > starts.len() {
        return Err(format!("the number of figures is {}", starts.len()));
    }
    let stop = |number: usize| starts.get(number).copied().unwrap_or(end);
    let body = &svg[starts[first - 1]..stop(last)];
    let described: Vec<String> =
        tags(body, "title").zip(tags(body, "desc")).map(|(a, b)| format!("{a}: {b}")).collect();
    let described = described.join(". ").replace('\n', " ");
    if (first, last) == (1, starts.len()) {
        return Ok((svg.to_owned(), described));
    }
    // The first line of text marks the top of a figure.
    let top = |at: usize| attribute(&svg[at..], " y=\"").map(|y| y - 20.0);
    let height = attribute(svg, " height=\"").ok_or("the SVG has no height")?;
    let width = attribute(svg, " width=\"").ok_or("the SVG has no width")?;
    let from = top(starts[first - 1]).ok_or("a figure has no position")?;
    let to = match starts.get(last) {
        Some(next) => top(*next).ok_or("a figure has no position")?,
        None => height,
    };
    let head = &svg[svg.find('>').ok_or("the command drew no figure")? + 1..starts[0]];
    let tall = to - from;
    Ok((
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {from} {width} {tall}\" width=\"{width}\" height=\"{tall}\">{head}{body}</svg>\n"
        ),
        described,
    ))
}

/// Returns the texts of the elements with this tag.
fn tags<'t>(text: &'t str, tag: &'t str) -> impl Iterator<Item = &'t str> {
    text.split("</").filter_map(move |part| {
        let start = part.rfind(&format!("<{tag}"))?;
        part[start..].split_once('>').map(|(_, inner)| inner)
    })
}

/// Returns the number after the first `name`.
fn attribute(text: &str, name: &str) -> Option<f64> {
    text.split_once(name)?.1.split('"').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::chosen;

    const SVG: &str = "<svg xmlns=\"…\" viewBox=\"0 0 100 90\" width=\"100\" height=\"90\">\n<title>all</title>\n\
        <text x=\"1\" y=\"20\">head</text>\n\
        <g role=\"img\" a=\"b\">\n<title id=\"0\">one</title>\n<desc id=\"1\">of it</desc>\n<text x=\"1\" y=\"40\">one</text></g>\n\
        <g role=\"img\">\n<title>two</title>\n<desc>of two</desc>\n<text x=\"1\" y=\"70\">two</text></g>\n</svg>\n";

    #[test]
    fn figures_are_cut_out() {
        let (whole, described) = chosen(SVG, None).expect("there are figures");
        assert_eq!((&*whole, &*described), (SVG, "one: of it. two: of two"));
        let (first, described) = chosen(SVG, Some((1, 1))).expect("there are figures");
        assert_eq!(described, "one: of it");
        assert!(first.contains("viewBox=\"0 20 100 30\"") && !first.contains("of two"), "{first}");
        let (second, _) = chosen(SVG, Some((2, 2))).expect("there are figures");
        assert!(second.contains("viewBox=\"0 50 100 40\"") && second.ends_with("</g>\n</svg>\n"), "{second}");
        assert!(chosen(SVG, Some((2, 3))).is_err());
    }
}
