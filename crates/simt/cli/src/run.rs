//! `simt run`.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Instant;

use serde::Serialize;

use super::args::{Print, Run};
use super::launches::{BufferArg, OpenLaunches};
use super::spec::Spec;
use super::{Failure, style};
use simt::counters::{Counters, Metric, Value};
use simt::demangled;
use simt::run::{LaunchError, Simulator};
use simt_check::diagnostic::{Diagnostic, texts};
use simt_check::{Check, Sanitized};

pub(super) fn run(args: &Run, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Failure> {
    for (index, wanted) in args
        .print
        .iter()
        .map(|print| (print.index, "--print"))
        .chain(args.save.iter().map(|save| (save.index, "--save")))
    {
        match args.launch.arg.get(index) {
            Some(Spec::Buffer { .. }) => {}
            Some(Spec::Scalar { .. }) => {
                return Err(Failure::usage(format!(
                    "{wanted} {index}: argument {index} is a scalar, which a kernel cannot change; name a buffer"
                )));
            }
            None => {
                return Err(Failure::usage(format!(
                    "{wanted} {index}: there are {} arguments, numbered from 0",
                    args.launch.arg.len()
                )));
            }
        }
    }
    let OpenLaunches { mut simulator, launches, held } = args.launch.open()?;

    let mut done = Vec::new();
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    let mut fault = None;
    for open_launch in &launches {
        let launch = open_launch.launch();
        let start = Instant::now();
        let counted = if !args.sanitize.is_empty() {
            let sanitized = args.sanitize.launch(&mut simulator, &launch);
            let Sanitized { result, findings: mut found, notes: mut left } = sanitized;
            findings.append(&mut found);
            notes.append(&mut left);
            result.map(Some)
        } else if args.count || args.json {
            simulator.launch_counted(&launch).map(Some)
        } else {
            simulator.launch(&launch).map(|()| None)
        };
        let seconds = start.elapsed().as_secs_f64();
        // With --json, the output is a single JSON object, so the kernels' output goes to `err`.
        let printed = simulator.take_printed();
        match args.json {
            true => err.write_all(&printed)?,
            false => out.write_all(&printed)?,
        }
        match counted {
            Err(LaunchError::Fault(error)) => {
                let is_found = Check::of(&error.kind).is_some_and(|check| args.sanitize.contains(check));
                fault = (!is_found).then(|| Failure::fault(&error, &args.launch.file));
                break;
            }
            Err(error) => return Err(Failure::usage(error.to_string())),
            Ok(counters) => done.push(FinishedLaunch {
                entry: open_launch.function.name(),
                seconds,
                metrics: counters
                    .filter(|_| args.count || args.json)
                    .map_or(Vec::new(), |counters: Counters| counters.metrics()),
            }),
        }
    }

    // Prints buffers even after a fault, because the values written before the fault help to find its cause.
    for save in &args.save {
        if let Some(held) = held.get(save.index).and_then(Option::as_ref) {
            std::fs::write(&save.path, simulator.read(held.buffer)?)
                .map_err(|error| Failure::usage(format!("cannot write {}: {error}", save.path.display())))?;
        }
    }
    let shown = args.print.iter().filter_map(|print| {
        let held = held.get(print.index)?.as_ref()?;
        Some((print, held))
    });
    let code = u8::from(!findings.is_empty());
    if args.json {
        if let Some(fault) = fault.filter(|_| findings.is_empty()) {
            return Err(fault);
        }
        let launches: Vec<String> = done.iter().map(FinishedLaunch::json).collect();
        match (args.launch.is_single(), launches.is_empty()) {
            (true, true) => write!(out, "{{\"buffers\": {{")?,
            (true, false) => write!(out, "{{{}, \"buffers\": {{", launches.concat())?,
            (false, true) => write!(out, "{{\"launches\": [], \"buffers\": {{")?,
            (false, false) => write!(out, "{{\"launches\": [{{{}}}], \"buffers\": {{", launches.join("}, {"))?,
        }
        for (place, (print, held)) in shown.enumerate() {
            let separator = if place > 0 { ", " } else { "" };
            write!(out, "{separator}\"{}\": [", print.index)?;
            write_elements(out, &simulator, print, held, true)?;
            write!(out, "]")?;
        }
        match args.sanitize.is_empty() {
            true => writeln!(out, "}}}}")?,
            false => {
                let notes = if notes.is_empty() { String::new() } else { format!(", \"notes\": {}", json(&notes)) };
                writeln!(out, "}}, \"findings\": {}{notes}}}", json(&findings))?;
            }
        }
        return Ok(code);
    }
    for (print, held) in shown {
        let Print { index, .. } = print;
        let name = held.ty.name();
        write!(out, "argument {index}, {name}[{}]: ", held.count)?;
        write_elements(out, &simulator, print, held, false)?;
        writeln!(out)?;
    }
    for FinishedLaunch { entry, metrics, .. } in &done {
        if !args.launch.is_single() && args.count {
            writeln!(out, "{}:", demangled(entry))?;
        }
        write!(out, "{}", table(metrics))?;
    }
    for FinishedLaunch { entry, seconds, .. } in &done {
        writeln!(err, "{} ran in {seconds:.3} s", demangled(entry))?;
    }
    let file = args.launch.file.display().to_string();
    let diagnostics = Diagnostic::of_findings(&findings).into_iter().map(|diagnostic| diagnostic.in_ptx_file(&file));
    let diagnostics: Vec<Diagnostic> = diagnostics.collect();
    write!(out, "{}", texts(&diagnostics[..diagnostics.len().min(SHOWN)], style()))?;
    if diagnostics.len() > SHOWN {
        writeln!(out, "\n{} more findings: `--json` lists all of them", diagnostics.len() - SHOWN)?;
    }
    for note in &notes {
        writeln!(out, "{note}")?;
    }
    fault.map_or(Ok(code), Err)
}

/// The maximum number of findings that are shown.
const SHOWN: usize = 100;

/// A completed launch.
struct FinishedLaunch<'a> {
    entry: &'a str,
    seconds: f64,
    metrics: Vec<Metric>,
}

impl FinishedLaunch<'_> {
    /// Returns the members of the launch's JSON object.
    fn json(&self) -> String {
        let (entry, counters) = (json(self.entry), json_counters(&self.metrics));
        let seconds = self.seconds;
        format!("\"entry\": {entry}, \"seconds\": {seconds}, \"counters\": {{{counters}}}")
    }
}

/// Writes the elements of a buffer in parts, because the text of all elements may need more memory than the host has.
fn write_elements(
    out: &mut dyn Write,
    simulator: &Simulator,
    print: &Print,
    held: &BufferArg,
    json: bool,
) -> Result<(), Failure> {
    let bytes = simulator.read(held.buffer)?;
    let count = print.count.unwrap_or(held.count).min(held.count);
    let parts = bytes[..count * held.ty.bytes()].chunks(held.ty.bytes() << 12);
    for (place, part) in parts.enumerate() {
        let separator = if json { "," } else { " " };
        let text = held.ty.text(part, json);
        // Each part is an array, whose brackets are removed.
        let values = text.trim_start_matches('[').trim_end_matches(']');
        write!(out, "{}{values}", if place > 0 { separator } else { "" })?;
    }
    Ok(())
}

fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("findings and strings always serialize")
}

fn json_counters(metrics: &[Metric]) -> String {
    let counters: Vec<String> = metrics
        .iter()
        .map(|metric| {
            let value = match metric.value {
                Value::Count(count) => count.to_string(),
                Value::Ratio(Some(ratio)) => format!("{ratio:?}"),
                Value::Ratio(None) => "null".to_owned(),
            };
            format!("\"{}\": {value}", metric.name)
        })
        .collect();
    counters.join(", ")
}

/// Returns the counters, one per line. Counters of operations that did not occur are left out.
fn table(metrics: &[Metric]) -> String {
    let rows: Vec<(&Metric, String)> = metrics
        .iter()
        .filter_map(|metric| {
            let value = match metric.value {
                Value::Count(0) | Value::Ratio(None) => return None,
                Value::Count(count) => count.to_string(),
                Value::Ratio(Some(ratio)) => format!("{ratio:.2}"),
            };
            Some((metric, value))
        })
        .collect();
    let name = rows.iter().map(|row| row.0.name.len()).max().unwrap_or(0);
    let value = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (metric, number) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:name$}  {number:>value$} {}", metric.name, metric.unit);
    }
    text
}
