//! Resolves the directives and commands of a chapter.

use std::collections::BTreeMap;

use crate::arguments::{value, words};
use crate::command::{CommandOutput, OutputKind};
use crate::context::Context;
use crate::fault::at;
use crate::recorded::Recorded;
use crate::{directive, prose, read};

/// Returns the documents of `docs` that are chapters, with the file of each chapter.
pub(crate) fn documents(sources: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let document = |(name, text): (&String, &String)| {
        let file = text.trim().strip_prefix("{{document ")?.strip_suffix("}}")?;
        Some((format!("docs/{}", file.trim()), name.clone()))
    };
    sources.iter().filter_map(document).collect()
}

/// Returns the chapter's text with its directives and commands resolved. Adds a fault for each directive or command
/// that cannot be resolved.
pub(crate) fn expanded(text: &str, context: &mut Context<'_>, faults: &mut Vec<String>) -> String {
    let mut whole = String::new();
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    while let Some((number, line)) = lines.next() {
        let place = format!("{}:{number}", context.file);
        if let Some(info) = line.strip_prefix("```") {
            let mut body: Vec<&str> = Vec::new();
            let mut is_closed = false;
            for (_, line) in lines.by_ref() {
                is_closed = line == "```";
                if is_closed {
                    break;
                }
                body.push(line);
            }
            if !is_closed {
                faults.push(at(&place, "the code block is not closed"));
            }
            let is_run = info.split(' ').next() == Some("console");
            let block = if is_run { console(info, &body, context) } else { Ok(fenced(info, &body.join("\n"))) };
            whole += &block.unwrap_or_else(|why| {
                faults.push(at(&place, why));
                String::new()
            });
            continue;
        }
        faults.extend(prose::numbers_without_source(line).into_iter().map(|number| {
            at(&place, format_args!("`{number}`: write a measured number as a directive ({{{{recorded …}}}})"))
        }));
        let resolved = directive::resolved(line, context, &mut |why| faults.push(at(&place, why)));
        // Omit a line that only consists of checks.
        if line.is_empty() || !resolved.is_empty() {
            whole += &resolved;
            whole.push('\n');
        }
    }
    whole
}

fn fenced(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n", text.trim_end())
}

/// Returns a block of commands with their output.
fn console(info: &str, body: &[&str], context: &Context<'_>) -> Result<String, String> {
    let options = words(info)?;
    let has = |option: &str| options.iter().any(|given| given == option);
    let commands = joined(body);
    let wrong = commands.iter().map(|(_, line)| line).find(|line| !line.starts_with("$ ") && !line.starts_with("# "));
    if let Some(wrong) = wrong {
        return Err(format!("`{wrong}` is neither a command (`$ `) nor a comment (`# `): the book inserts the output"));
    }
    if let Some(test) = value(&options, "tested") {
        return read(test).map(|_| fenced("console", &body.join("\n")));
    }
    let cut = |printed: &str| between(printed, value(&options, "from"), value(&options, "until"));
    if let Some(file) = value(&options, "recorded") {
        let recorded = Recorded::read(file)?;
        if commands.iter().all(|(_, line)| *line != format!("$ ladder {}", recorded.arguments)) {
            return Err(format!("{} is the output of `ladder {}`", recorded.path, recorded.arguments));
        }
        let shown = cut(&recorded.printed)?.with_dots();
        return Ok(fenced("console", &format!("{}\n{shown}", body.join("\n"))));
    }
    let kind = match (has("gpu"), has("rendered")) {
        (true, _) => OutputKind::Parsing,
        (false, true) => OutputKind::Markdown,
        (false, false) => OutputKind::Text,
    };
    // Request all commands before returning an error for the first command without output.
    let outputs = commands.iter().map(|(_, line)| {
        let Some(command) = line.strip_prefix("$ ") else { return Ok(None) };
        let command = command.split(" # ").next().unwrap_or_default().trim();
        context.commands.output(arguments_of_ladder(command)?, kind).map(Some)
    });
    let outputs: Vec<Result<Option<&CommandOutput>, String>> = outputs.collect();
    let (mut text, mut rendered) = (String::new(), String::new());
    for ((written, _), output) in commands.iter().zip(outputs) {
        text += &continued(written);
        text.push('\n');
        let Some(output) = output?.filter(|_| kind != OutputKind::Parsing) else { continue };
        let shown = cut(&output.out)?;
        if has("rendered") {
            rendered += &format!("\n{}\n", shown.text);
        } else {
            text += &shown.with_dots();
        }
    }
    Ok(fenced("console", &text) + &rendered)
}

/// Returns the arguments of `ladder`, or `lab` with its arguments. Accepts the spellings with and without `cargo`.
fn arguments_of_ladder(command: &str) -> Result<&str, String> {
    let program = command.strip_prefix("cargo ").unwrap_or(command).trim_start_matches("xtask run ");
    match program.strip_prefix("ladder ") {
        Some(arguments) => Ok(arguments),
        None if program.starts_with("lab ") || command.starts_with("cargo xtask run ") => Ok(program),
        None if command.starts_with("cargo xtask ptx ") => Ok(program.trim_start_matches("xtask ")),
        None => Err(format!("`{command}` is not a command of ladder; `tested=FILE` names the test that runs it")),
    }
}

/// Returns each command as written and as run. In the form that is run, a backslash at the end of a line joins it with
/// the next line.
fn joined(body: &[&str]) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut goes_on = false;
    for line in body.iter().filter(|line| !line.is_empty()) {
        let part = line.strip_suffix('\\').unwrap_or(line);
        match (goes_on, commands.last_mut()) {
            (true, Some((written, run))) => {
                *written += &format!("\n{line}");
                run.push_str(part.trim_start());
            }
            _ => commands.push(((*line).to_owned(), part.to_owned())),
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// A part of a command's output.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt {
    /// The number of the first line.
    start: usize,
    text: String,
    /// Whether lines after the part are omitted.
    is_cut: bool,
}

impl Excerpt {
    /// Returns the text, with dots in place of omitted lines.
    fn with_dots(&self) -> String {
        let dots = |is_cut: bool| if is_cut { "…\n" } else { "" };
        let lines: Vec<String> = self.text.lines().map(folded).collect();
        format!("{}{}\n{}", dots(self.start > 0), lines.join("\n"), dots(self.is_cut))
    }
}

/// Breaks a command into lines that fit, with a backslash at the end of each line except the last.
fn continued(command: &str) -> String {
    let options = textwrap::Options::new(WIDEST - 2)
        .subsequent_indent("    ")
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    let lines = command.lines().map(|line| textwrap::wrap(line, &options).join(" \\\n"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The maximum number of characters in a line of a page.
const WIDEST: usize = 100;

/// Wraps a line of words. Further lines are indented to the second column. Lines of tables are not wrapped.
fn folded(line: &str) -> String {
    if line.chars().count() <= WIDEST || line.contains(['│', '┆', '─', '░', '█', '▓']) {
        return line.to_owned();
    }
    let second = line.trim_start().find("  ").map(|gap| line.len() - line.trim_start().len() + gap);
    let begins = second.map(|gap| line[gap..].len() - line[gap..].trim_start().len() + gap).filter(|begin| *begin < 40);
    let indent = " ".repeat(begins.unwrap_or(line.len() - line.trim_start().len() + 2));
    let (mut whole, mut width) = (String::new(), 0);
    for (number, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && width + 1 + length > WIDEST && !word.is_empty() {
            whole = whole.trim_end().to_owned() + "\n" + &indent;
            width = indent.len();
        } else if number > 0 {
            whole.push(' ');
            width += 1;
        }
        whole += word;
        width += length;
    }
    whole
}

/// Returns the lines from the first line that contains `from` up to the line before one that contains `until`.
fn between(printed: &str, from: Option<&str>, until: Option<&str>) -> Result<Excerpt, String> {
    let lines: Vec<&str> = printed.trim_end().lines().collect();
    let find = |part: &str, start: usize| {
        let found = lines.iter().skip(start).position(|line| line.contains(part)).map(|place| place + start);
        found.ok_or_else(|| format!("no line of the output contains `{part}`"))
    };
    let start = from.map_or(Ok(0), |part| find(part, 0))?;
    let end = until.map_or(Ok(lines.len()), |part| find(part, start + 1))?;
    let text = lines[start..end].join("\n").trim_end().to_owned();
    Ok(Excerpt { start, text, is_cut: end < lines.len() })
}

#[cfg(test)]
mod tests {
    use super::{Excerpt, between, folded, joined};

    #[test]
    fn output_is_cut_where_it_is_said() {
        let printed = "a\nb 1\nc\nd\n";
        let shown = |start, text: &str, is_cut| Ok(Excerpt { start, text: text.to_owned(), is_cut });
        assert_eq!(between(printed, None, None), shown(0, "a\nb 1\nc\nd", false));
        assert_eq!(between(printed, Some("b"), Some("d")), shown(1, "b 1\nc", true));
        assert!(between(printed, None, Some("e")).is_err());
    }

    #[test]
    fn long_commands_are_continued() {
        assert_eq!(super::continued("$ a \\\n    b"), "$ a \\\n    b");
        let long = format!("$ ladder why{} --device sim", " reduce_shfl".repeat(8));
        let lines = format!("$ ladder why{} \\\n    reduce_shfl --device sim", " reduce_shfl".repeat(7));
        assert_eq!(super::continued(&long), lines);
    }

    #[test]
    fn lines_of_words_are_folded() {
        let long = format!("the check says      race:{}", " word".repeat(30));
        let folded = folded(&long);
        let lines: Vec<&str> = folded.lines().collect();
        assert!(lines.len() == 2 && lines[1].starts_with("                    word"), "{folded}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&folded), words(&long));
        let table = "│ ".repeat(100);
        assert_eq!(super::folded(&table), table);
    }

    #[test]
    fn commands_continue_after_a_backslash() {
        let pair = |written: &str, run: &str| (written.to_owned(), run.to_owned());
        assert_eq!(joined(&["$ a \\", "    b", "", "# c"]), [pair("$ a \\\n    b", "$ a b"), pair("# c", "# c")]);
    }
}
