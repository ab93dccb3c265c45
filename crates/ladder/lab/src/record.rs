//! `lab record`: saves the results of a command in `results/DEVICE/COMMAND.jsonl`, and inserts them into the documents.
//!
//! A document shows results between two marker lines:
//!
//! ```text
//! <!-- results: h100/run.jsonl reduce: n = 16777216 -->
//! <!-- end of results -->
//! ```
//!
//! The first line names a file in `results`, followed by a space and a prefix that selects records by subject. A
//! subject consists of the ladder, a colon and the problem.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use analysis::Error as AnalysisError;
use analysis::predict::Description;
use analysis::results::{self, FOLDER, Record};
use clap::{ArgMatches, Args, FromArgMatches};
use cli::command::{Command, Output, WRONG};
use cli::output::{Document, Form, Table};
use cli::{Env, Error};
use report::files;

use crate::agree;

pub(crate) const RECORD: Command = Command {
    name: "record",
    about: "Keep the results of a command in results/, and show them in the documents: lab record -- run reduce",
    arguments: |command, _| Arguments::augment_args(command),
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// The repository with the folders results and docs
    #[arg(long, value_name = "PATH", default_value = ".")]
    root: PathBuf,
    /// Do not change documents: exit with code 1 if a document does not show the recorded results
    #[arg(long)]
    check: bool,
    /// A command of `lab` or `ladder`; without one, the documents are updated from the recorded results
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "check")]
    command: Vec<String>,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let Arguments { root, check, command } = Arguments::from_arg_matches(matches)?;
    // Reject a folder that is not the repository, and a document that cannot be read, before measuring anything.
    let documents = documents(&root)?;
    if let [name, ..] = &command[..] {
        let records = match measure(&command, env, to)? {
            Ok(records) => records,
            Err(code) => return Ok(code),
        };
        for of_device in records.chunk_by(|a, b| a.device_name() == b.device_name()) {
            let path = root.join(FOLDER).join(folder(of_device[0].device_name())).join(format!("{name}.jsonl"));
            let dropped = results::replace(&path, of_device)?;
            let rows = if of_device.len() == 1 { "row" } else { "rows" };
            writeln!(to.out, "kept {} {rows} in {}", of_device.len(), path.display())?;
            if !dropped.is_empty() {
                let names: Vec<&str> = dropped.iter().map(|record| &*record.rung).collect();
                writeln!(
                    to.err,
                    "note: rows that `{}` does not have are removed: {}",
                    command.join(" "),
                    names.join(", ")
                )?;
            }
        }
    }
    let mut stale = Vec::new();
    for (path, old) in documents {
        let new = with_results(&root, &old).map_err(|why| AnalysisError::file("update", &path, why))?;
        match (new == old, check) {
            (true, _) => {}
            (false, true) => stale.push(path.display().to_string()),
            (false, false) => {
                files::replace(&path, &new).map_err(|why| AnalysisError::file("update", &path, why))?;
                writeln!(to.out, "updated {}", path.display())?;
            }
        }
    }
    match stale.is_empty() {
        true => Ok(0),
        false => {
            let names = stale.join(", ");
            let text =
                format!("these documents do not show the recorded results: {names}; `cargo lab record` updates them");
            Err(Error::Failed { text, code: WRONG })
        }
    }
}

/// Runs a command and returns the records of its results, or its exit code if there are none.
fn measure(command: &[String], env: &Env<'_>, to: &mut Output<'_>) -> Result<Result<Vec<Record>, u8>, Error> {
    // Child processes that launch on a GPU must run the recorded command, not `lab record`.
    let command_line: Option<Vec<OsString>> = env
        .command
        .and_then(|command| command.first())
        .map(|program| std::iter::once(program.clone()).chain(command.iter().map(OsString::from)).collect());
    let env = Env { form: Form::Records, command: command_line.as_deref(), ..*env };
    let (code, out, err) = cli::captured(command, &env);
    write!(to.err, "{err}")?;
    let text = command.join(" ");
    if code != 0 {
        writeln!(to.err, "note: nothing was recorded, because `{text}` ended with exit code {code}")?;
        return Ok(Err(code));
    }
    let records = results::parse(&out).unwrap_or_default();
    if records.is_empty() {
        return Err(Error::Request(format!("`{text}` has no results to keep")));
    }
    Ok(Ok(records.into_iter().map(|record| Record { command: text.clone(), ..record }).collect()))
}

/// Returns the folder for a device's results: the name of the device's description, `sim`, or the device's name in
/// lower case.
fn folder(device: &str) -> String {
    let has_name = |name: &&str| Description::open(name).is_ok_and(|known| known.name == device);
    if let Some(known) = Description::known().into_iter().find(has_name) {
        return known.to_owned();
    }
    if device.starts_with("simt") {
        return "sim".to_owned();
    }
    let words = device.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// Returns the documents that can show results, with their texts: the README and the files of `docs`.
fn documents(root: &Path) -> Result<Vec<(PathBuf, String)>, Error> {
    let folder = root.join("docs");
    let entries = folder.read_dir().map_err(|why| AnalysisError::file("read", &folder, why))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.push(root.join("README.md"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).map_err(|why| AnalysisError::file("read", &path, why))?;
        Ok((path, text))
    };
    paths.into_iter().map(read).collect()
}

const BEGIN: &str = "<!-- results: ";
const AFTER: &str = " -->";
const END: &str = "<!-- end of results -->";

/// Returns a document's text with the recorded results between its markers.
fn with_results(root: &Path, text: &str) -> Result<String, String> {
    let (mut new, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (what, after) = after.split_once(AFTER).ok_or_else(|| format!("`{BEGIN}` has no `{AFTER}`"))?;
        let newline = if after.starts_with("\r\n") { "\r\n" } else { "\n" };
        let (_, after) = after.split_once(END).ok_or_else(|| format!("`{BEGIN}{what}` has no line `{END}`"))?;
        let (file, subject) = what.split_once(' ').unwrap_or((what, ""));
        let path = root.join(FOLDER).join(file);
        let mut records = results::read(&path).map_err(|why| why.to_string())?;
        records.retain(|record| record.subject().starts_with(subject));
        if records.is_empty() {
            return Err(format!("{} has no records of `{subject}`", path.display()));
        }
        let command = path.file_stem().unwrap_or_default().to_string_lossy();
        let shown = document(&command, &records).map_err(|why| why.to_string())?.markdown();
        let shown = shown.trim_end().replace('\n', newline);
        new += &format!("{before}{BEGIN}{what}{AFTER}{newline}{shown}{newline}{END}");
        rest = after;
    }
    Ok(new + rest)
}

/// Returns a document with a command's records.
fn document(command: &str, records: &[Record]) -> Result<Document, Error> {
    if command == agree::AGREE.name {
        return agree::of_records(records);
    }
    let mut document = Document::default();
    let problems = records.chunk_by(|a, b| a.subject() == b.subject()).count();
    let circumstances =
        |record: &Record| [&record.command, &record.device, &record.date, &record.toolchain].map(Clone::clone);
    for of_run in records.chunk_by(|a, b| circumstances(a) == circumstances(b)) {
        let conditions = |record: &Record| record.conditions.split("; ").map(str::to_owned).collect::<Vec<_>>();
        // The caption of a run contains the conditions that all its tables share. The remaining conditions follow the
        // tables of their problem.
        let mut common = conditions(&of_run[0]);
        common.retain(|condition| {
            !condition.is_empty() && of_run.iter().all(|other| conditions(other).contains(condition))
        });
        for of_problem in of_run.chunk_by(|a, b| a.subject() == b.subject()) {
            if problems > 1 {
                let is_of_one_ladder = records.iter().all(|record| record.ladder == records[0].ladder);
                let first = &of_problem[0];
                let title = if is_of_one_ladder { first.problem.clone() } else { first.subject() };
                document.paragraph(format!("**{title}**"));
            }
            of_problem.chunk_by(Record::is_of_table).for_each(|table| document.table(Table::of_records(table)));
            let mut remaining = conditions(&of_problem[0]);
            remaining.retain(|condition| !condition.is_empty() && !common.contains(condition));
            if !remaining.is_empty() {
                document.caption(remaining);
            }
        }
        let Record { command, device, problem, date, toolchain, .. } = &of_run[0];
        let mut caption = vec![format!("`{command}` on {device}")];
        caption.extend((problems == 1).then(|| problem.clone()));
        caption.extend(common);
        caption.extend([date.clone(), toolchain.clone()]);
        document.caption(caption);
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::{folder, with_results};

    #[test]
    fn a_device_has_a_folder() {
        for (device, expected) in [
            ("NVIDIA H100 80GB HBM3", "h100"),
            ("NVIDIA H200", "h200"),
            ("simt, 2 host threads", "sim"),
            ("sim", "sim"),
            ("NVIDIA GeForce RTX 9090 (x)", "nvidia-geforce-rtx-9090-x"),
        ] {
            assert_eq!(folder(device), expected);
        }
    }

    #[test]
    fn markers_that_are_not_in_pairs_are_refused() {
        let refused = |text: &str| with_results("no/such".as_ref(), text).expect_err(text);
        assert_eq!(with_results("no/such".as_ref(), "a\nb"), Ok("a\nb".to_owned()));
        assert!(refused("<!-- results: a").contains("has no ` -->`"));
        assert!(refused("<!-- results: a -->\n").contains("has no line `<!-- end of results -->`"));
        assert!(refused("<!-- results: a -->\n<!-- end of results -->").contains("no/such/results/a"));
    }
}
