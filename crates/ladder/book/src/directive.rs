//! Resolves the directives of a line: `{{recorded h200 reduce_smem time}}`.

use host::CATALOG;
use profile::counters::Numbers;
use profile::metrics::{METRICS, Metric, Side};

use crate::arguments::{value, words};
use crate::command::OutputKind;
use crate::context::{Context, rung};
use crate::numbers::holds;
use crate::{Destination, FOLDER, change, exercises, figure, item, links, read, record};

/// Returns the line with its directives resolved. Reports errors to `fault`.
pub(crate) fn resolved(line: &str, context: &mut Context<'_>, fault: &mut dyn FnMut(String)) -> String {
    let (mut whole, mut rest) = (String::new(), line);
    while let Some((before, start)) = rest.split_once("{{") {
        whole += before;
        let Some((inner, after)) = start.split_once("}}") else {
            fault(format!("`{{{{{start}` is not closed on its line"));
            return whole;
        };
        match words(inner).and_then(|words| directive(&words, context)) {
            Ok(text) => whole += &text,
            Err(why) => fault(why),
        }
        rest = after;
    }
    whole + rest
}

/// Returns the text of a directive.
fn directive(words: &[String], context: &mut Context<'_>) -> Result<String, String> {
    let strings: Vec<&str> = words.iter().map(String::as_str).collect();
    let results = context.results;
    match strings[..] {
        ["item", file, ..] if words.len() > 2 => items(file, &words[2..]),
        ["lesson", name] => Ok(rung(name)?.lesson.to_owned()),
        ["lessons", name] => {
            let ladder = CATALOG.ladder(name).map_err(|why| why.to_string())?;
            let rows = ladder.rungs.iter().map(|rung| format!("| `{}` | {} |\n", rung.name, rung.lesson));
            Ok(format!("| rung | what it teaches |\n|---|---|\n{}", rows.collect::<String>()))
        }
        ["ladders"] => {
            let rows = CATALOG.ladders.iter().map(|ladder| {
                let chapter = format!("{}.md", ladder.name);
                let has_chapter = std::path::Path::new(FOLDER).join("src").join(&chapter).is_file();
                let name = format!("`{}`", ladder.name);
                let name = if has_chapter { format!("[{name}]({chapter})") } else { name };
                format!("| {name} | {} | {} |\n", ladder.rungs.len(), ladder.summary)
            });
            Ok(format!("| ladder | rungs | computes |\n|---|--:|---|\n{}", rows.collect::<String>()))
        }
        ["published", name] => {
            let published = rung(name)?.published.ok_or_else(|| format!("no published speedup for `{name}`"))?;
            Ok(format!("{}×", published.factor))
        }
        ["figure", ..] if words.len() > 1 => figure::figure(&words[1..], context),
        ["change", name, ..] => change::change(name, &words[2..]),
        ["climb", name, source, ..] => change::climb(name, source, &words[3..], context),
        ["picture", name] => figure::picture(name, context),
        ["uses", text, name] => {
            let name = rung(name)?.name;
            match context.commands.output(&format!("ptx {name}"), OutputKind::Text)?.out.contains(text) {
                true => Ok(String::new()),
                false => Err(format!("the PTX of `{name}` has no `{text}`; change the chapter's text")),
            }
        }
        ["device", name, key] => device(name, key),
        ["counter", rung, metric, ..] => counter(rung, metric, &strings[3..], context),
        ["recorded", source, row, quantity] => results.cell(source, row, quantity),
        ["factor", source, row, quantity] => Ok(format!("{:.2}", results.number(source, row, quantity)?)),
        ["ratio", source, a, b, quantity] => {
            let number = |row| results.number(source, row, quantity);
            Ok(format!("{:.2}", number(a)? / number(b)?))
        }
        ["holds", a, comparison, b] => {
            let value = |text: &str| match text.split('|').collect::<Vec<_>>()[..] {
                [source, row, quantity] => results.number(source, row, quantity),
                _ => text.parse().map_err(|_| format!("`{text}` is not a number")),
            };
            let (left, right) = (value(a)?, value(b)?);
            match holds(left, comparison, right)? {
                true => Ok(String::new()),
                false => Err(format!("`{a} {comparison} {b}` is false: {left} and {right}; change the chapter's text")),
            }
        }
        ["metrics", group] => metrics(group),
        ["table", ..] => table(words, context),
        ["document", file] => {
            let path = format!("docs/{file}");
            Ok(links::from_the_book(&path, &read(&path)?))
        }
        ["exercises", topic] => exercises::of(topic, context.commands),
        ["playground", name] => {
            let name = rung(name)?.name;
            Ok(match context.destination {
                Destination::Site => format!(
                    "<iframe class=\"simulator\" title=\"The playground with {name}\" loading=\"lazy\" src=\"../playground/index.html?rung={name}&amp;embed=1\"></iframe>"
                ),
                Destination::Repository => {
                    format!("[The playground](../../playground.md) runs `{name}` step by step in a browser.")
                }
            })
        }
        _ => Err(format!(
            "`{{{{{}}}}}` is not a directive of the book; crates/ladder/book/src/lib.rs lists them",
            strings.join(" ")
        )),
    }
}

/// Returns items of a file of device code, or the lines of one item from `from=…` to the line before `until=…`.
fn items(file: &str, words: &[String]) -> Result<String, String> {
    let is_option = |word: &&str| ["from=", "until="].iter().any(|key| word.starts_with(key));
    let names: Vec<&str> = words.iter().map(String::as_str).filter(|word| !is_option(word)).collect();
    let (from, until) = (value(words, "from"), value(words, "until"));
    if names.len() != 1 && (from.is_some() || until.is_some()) {
        return Err("`from=…` and `until=…` select lines of a single item".to_owned());
    }
    let path = ["kernels-gpu/src/", ""].map(|folder| format!("{folder}{file}"));
    let path = path.into_iter().find(|path| std::path::Path::new(path).is_file());
    let path = path.ok_or_else(|| format!("there is no file {file} in kernels-gpu/src or the repository's root"))?;
    let text = read(&path)?;
    if names == ["*"] {
        return Ok(format!("```rust,ignore\n{}\n```\n\n<p class=\"source\">{path}</p>\n", text.trim_end()));
    }
    let lines = |name: &&str| item::excerpt(&item::item(&text, name)?, from, until);
    let found = names.iter().map(|name| lines(name).map_err(|why| format!("{path}: {why}")));
    let found: Vec<String> = found.collect::<Result<_, _>>()?;
    Ok(format!("```rust,ignore\n{}\n```\n\n<p class=\"source\">{path}</p>\n", found.join("\n\n")))
}

/// Returns the value of a counter on the simulator.
fn counter(name: &str, metric: &str, options: &[&str], context: &Context<'_>) -> Result<String, String> {
    let known = METRICS.iter().find(|known| known.heading == metric || known.name == metric);
    let known = known.ok_or_else(|| format!("`ladder why` has no metric named `{metric}`"))?;
    // A kernel that is not a rung runs only on the simulator.
    let is_launch = options.contains(&"--grid");
    let on: &[&str] = if is_launch { &[] } else { &["--device", "sim"] };
    let arguments = [&["why", name, "--counters"], on, &["--json"], options].concat().join(" ");
    let printed = &context.commands.output(&arguments, OutputKind::Text)?.out;
    let json: serde_json::Value = serde_json::from_str(printed).map_err(|why| format!("`{arguments}`: {why}"))?;
    let number = match is_launch {
        true => {
            let counters: Numbers =
                serde_json::from_value(json[0]["counters"].clone()).map_err(|why| format!("`{arguments}`: {why}"))?;
            known.sim.of(&known.name, &counters)
        }
        false => json[0]["metrics"][&known.name]["sim"].as_f64(),
    };
    // In prose, write `4` instead of `4.00`.
    let written = number.map(|number| known.form.write(number).trim_end_matches(".00").to_owned());
    written.ok_or_else(|| format!("`{arguments}` has no `{metric}`"))
}

/// Returns a table of a group's metrics: the heading of each metric, the devices that have it, its meaning and its
/// name.
fn metrics(group: &str) -> Result<String, String> {
    let members = METRICS.iter().filter(|metric| format!("{:?}", metric.group).eq_ignore_ascii_case(group));
    let row = |metric: &Metric| {
        let on = [Side::Sim, Side::Gpu].map(|side| metric.source(side).missing().map_or(side.name(), |_| ""));
        let on = on.join(" ").trim().replace(' ', ", ");
        let note = if metric.sim_note.is_empty() { String::new() } else { format!(" ({})", metric.sim_note) };
        format!("| {} | {on} | {}{note} | `{}` |\n", metric.heading, metric.meaning, metric.name)
    };
    let rows: String = members.map(row).collect();
    match rows.is_empty() {
        true => Err(format!("no metric of `ladder why` is in group `{group}`")),
        false => Ok(format!("| counter | on | what it is | Nsight Compute's name |\n|---|---|---|---|\n{rows}")),
    }
}

/// Returns a value of a known device: `l2.gb_per_s` is the key `gb_per_s` in the table `l2` of the device's file.
fn device(name: &str, key: &str) -> Result<String, String> {
    let path = format!("crates/simt/devices/known/{name}.toml");
    let file: toml::Table = read(&path)?.parse().map_err(|why| format!("{path}: {why}"))?;
    let mut parts = key.split('.');
    let first = parts.next().and_then(|part| file.get(part));
    let found = parts.fold(first, |value, part| value?.get(part));
    match found.ok_or_else(|| format!("{path} has no `{key}`"))? {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        _ => Err(format!("`{key}` of {path} is neither a number nor a string")),
    }
}

/// Returns a table of recorded results.
fn table(words: &[String], context: &Context<'_>) -> Result<String, String> {
    let list = |key| value(words, key).ok_or_else(|| format!("a table needs `{key}=…`"));
    // Each row, and whether the directive names it. Rungs that are only included through their ladder are omitted if
    // they have no record.
    let mut rows: Vec<(&str, bool)> = Vec::new();
    for name in list("rows")?.split(',') {
        match CATALOG.ladders.iter().find(|ladder| ladder.name == name) {
            Some(ladder) => rows.extend(ladder.rungs.iter().map(|rung| (rung.name, false))),
            None => rows.push((name, true)),
        }
    }
    let columns = list("columns")?.split(',').map(|column| {
        column.split_once('|').ok_or_else(|| format!("`{column}` is not a column: write SOURCE|QUANTITY"))
    });
    let columns: Vec<(&str, &str)> = columns.collect::<Result<_, _>>()?;
    let problem = |source: &str| source.split_once('@').map(|(_, problem)| problem.to_owned());
    let has_problem = columns.iter().any(|(source, _)| problem(source) != problem(columns[0].0));
    let headings = columns.iter().map(|(source, quantity)| record::heading(source, quantity, has_problem));
    let mut text =
        format!("| | {} |\n|---|{}\n", headings.collect::<Vec<_>>().join(" | "), "--:|".repeat(columns.len()));
    for (row, is_named) in rows {
        let cell = |(source, quantity): &(&str, &str)| {
            let value = context.results.value(source, row, quantity)?;
            Ok(value.map_or("–".to_owned(), |value| value.to_string()))
        };
        let cells: Vec<String> = columns.iter().map(cell).collect::<Result<_, String>>()?;
        if cells.iter().all(|cell| cell == "–") {
            if !is_named {
                continue;
            }
            return Err(format!("there is no record of row `{row}`"));
        }
        text += &format!("| `{row}` | {} |\n", cells.join(" | "));
    }
    Ok(text)
}
