//! Listings of the changes between two rungs, and charts of a ladder's times.

use cli::Mark;
use engine::Rung;
use host::CATALOG;

use crate::arguments::value;
use crate::context::{Context, rung};
use crate::{item, read};

/// Returns a code block with the changes from the kernel of the previous rung to the kernel of this rung. `over=…`
/// names another rung to compare with. Further words name items of the two files, which are compared before the kernel.
///
/// # Errors
/// Returns a message when a rung or an item does not exist, and when there is no change.
pub(crate) fn change(name: &str, words: &[String]) -> Result<String, String> {
    let new = rung(name)?;
    let old = rung(value(words, "over").unwrap_or(new.after)).map_err(|why| format!("before `{name}`: {why}"))?;
    let items: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with("over=")).collect();
    let [old_text, new_text] = [read(old.source)?, read(new.source)?];
    if let Some(missing) = items.iter().find(|name| [&old_text, &new_text].iter().all(|t| item::item(t, name).is_err()))
    {
        return Err(format!("neither {} nor {} has an item `{missing}`", old.source, new.source));
    }
    let after = code(new, &new_text, &items)?;
    let is_kept = |line: &&str| !line.trim_start().starts_with("//") || after.lines().any(|new_line| new_line == *line);
    let before = code(old, &old_text, &items)?;
    let before: String = before.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    let lines = cli::difference(&before, &after).into_iter().map(|line| match line.sign {
        '…' => " …\n".to_owned(),
        sign => format!("{sign}{}", line.text).trim_end().to_owned() + "\n",
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return Err(format!("`{}` and `{name}` are equal", old.name));
    }
    let source = match old.source == new.source {
        true => new.source.to_owned(),
        false => format!("{}, compared with {}", new.source, old.source.rsplit('/').next().unwrap_or_default()),
    };
    Ok(format!("```diff\n{lines}```\n\n<p class=\"source\">{source}</p>\n"))
}

/// Returns the items and the kernel of a rung. Skips items that the file does not contain.
fn code(rung: &Rung, text: &str, items: &[&str]) -> Result<String, String> {
    let kernel = item::item(text, rung.name).map_err(|why| format!("{}: {why}", rung.source))?;
    let others = items.iter().filter_map(|name| item::item(text, name).ok());
    let parts: Vec<String> = others.chain([kernel]).map(|part| part + "\n").collect();
    // Leave out comments that refer to the previous rung, because the listing itself shows the differences.
    let is_shown =
        |line: &&str| !["// As in `", "// From here on as in"].iter().any(|start| line.trim().starts_with(start));
    Ok(parts.join("\n").lines().filter(is_shown).map(|line| format!("{line}\n")).collect())
}

/// Returns the chart of a ladder's recorded times. If the source has the quantity `of peak`, a line marks the minimum
/// time that the memory bandwidth allows. `mark="NAME|SOURCE|ROW"` marks the time of that row instead. `rungs=…`
/// selects rungs.
///
/// # Errors
/// Returns a message when the ladder does not exist or has no recorded times.
pub(crate) fn climb(name: &str, source: &str, words: &[String], context: &mut Context<'_>) -> Result<String, String> {
    let ladder = CATALOG.ladder(name).map_err(|why| why.to_string())?;
    let (results, prefix) = (context.results, format!("{name}_"));
    let mut times = Vec::new();
    let named: Option<Vec<&str>> = value(words, "rungs").map(|names| names.split(',').collect());
    for rung in ladder.rungs.iter().filter(|rung| named.as_ref().is_none_or(|names| names.contains(&rung.name))) {
        if let Some(time) = results.value(source, rung.name, "time")?.and_then(|time| time.number()) {
            times.push((rung.name.strip_prefix(&prefix).unwrap_or(rung.name), time));
        }
    }
    let mark = match value(words, "mark").map(|mark| mark.split('|').collect::<Vec<_>>()) {
        Some(parts) => {
            let [name, source, row] = parts[..] else { return Err("write `mark=\"NAME|SOURCE|ROW\"`".to_owned()) };
            Some(Mark { name: name.to_owned(), time: results.number(source, row, "time")? })
        }
        None => ladder.rungs.iter().find_map(|rung| {
            let number = |quantity| results.number(source, rung.name, quantity).ok();
            Some(Mark { name: "floor".to_owned(), time: number("time")? * number("of peak")? / 100.0 })
        }),
    };
    let title = format!("Times of the ladder {name}, {source}");
    let svg = cli::climb(&title, &times, mark.as_ref()).ok_or_else(|| format!("{source} has no times of {name}"))?;
    let described = times.iter().map(|(rung, time)| format!("{rung} {:.1} µs", time / 1e3)).collect::<Vec<_>>();
    let part = named.map_or(String::new(), |names| format!("-{}", names[0]));
    let file = format!("figures/climb-{name}{part}-{}.svg", source.replace(['/', '@', ' '], "-"));
    context.files.insert(file.clone(), svg);
    Ok(format!("<figure>\n<img src=\"{file}\" alt=\"{title}: {}\">\n</figure>\n", described.join(", ")))
}
