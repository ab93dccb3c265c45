//! `simt run`.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Instant;

use serde::Serialize;

use super::args::{Print, Run, Symbol};
use super::spec::{BufferInit, Spec};
use super::values::Type;
use super::{Failure, load, parameters, refused, style};
use crate::counters::{Counters, Metric, Value};
use crate::demangle::demangled;
use crate::diagnostic::{Diagnostic, texts};
use crate::run::{Arg, Buffer, Config, Instance, Launch, LaunchError, Machine, Schedule};
use crate::sanitize::{Check, Sanitized};

/// A buffer among the arguments.
struct BufferArg {
    ty: Type,
    count: usize,
    buffer: Buffer<u8>,
}

pub(super) fn run(args: &Run, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Failure> {
    let (_, module) = load(&args.file)?;
    for (index, wanted) in args
        .print
        .iter()
        .map(|print| (print.index, "--print"))
        .chain(args.save.iter().map(|save| (save.index, "--save")))
    {
        match args.arg.get(index) {
            Some(Spec::Buffer { .. }) => {}
            Some(Spec::Scalar { .. }) => {
                return Err(Failure::usage(format!(
                    "{wanted} {index}: argument {index} is a scalar, which a kernel cannot change; name a buffer"
                )));
            }
            None => {
                return Err(Failure::usage(format!(
                    "{wanted} {index}: there are {} arguments; the first is 0",
                    args.arg.len()
                )));
            }
        }
    }
    let memory = room(args)?;
    let config = Config {
        max_memory_bytes: memory,
        threads: args.threads.unwrap_or(0) as usize,
        max_instructions: args.max_instructions,
        time_limit: args.time_limit,
        schedule: args.schedule,
        ..Config::default()
    };
    let mut machine = Machine::new(config)
        .map_err(|error| Failure::usage(format!("cannot start threads: {error}; lower --threads")))?;
    let instance = machine.load(&module).map_err(|error| Failure::usage(error.to_string()))?;
    for Symbol { name, value } in &args.symbol {
        set(&mut machine, &instance, name, value).map_err(|why| Failure::usage(format!("--symbol {name}: {why}")))?;
    }
    let mut functions = Vec::new();
    for launch in args.launches(&module).map_err(Failure::usage)? {
        let function = instance.function(&launch.entry);
        functions.push((launch, function.map_err(|error| refused(&args.file, &error))?));
    }
    let mut random = match args.schedule {
        Schedule::Random(seed) => Some(fastrand::Rng::with_seed(seed)),
        _ => None,
    };
    let mut held = Vec::with_capacity(args.arg.len());
    let mut values = Vec::with_capacity(args.arg.len());
    for (index, spec) in args.arg.iter().enumerate() {
        let (value, buffer) =
            place(&mut machine, spec, &mut random).map_err(|why| Failure::usage(format!("argument {index}: {why}")))?;
        values.push(value);
        held.push(buffer);
    }

    let mut launches = Vec::new();
    for (launch, function) in functions {
        let count = values.len();
        let numbers = launch.args.clone().unwrap_or_else(|| (0..count).collect());
        if let Some(number) = numbers.iter().find(|number| **number >= count) {
            let entry = &launch.entry;
            let problem = format!("--launch {entry}: there is no argument {number}, but {count}, from 0 on");
            return Err(Failure::usage(problem));
        }
        let specs: Vec<_> = numbers.iter().map(|number| (*number, &args.arg[*number])).collect();
        parameters::check(&function.program().params, &specs).map_err(|problem| {
            let kernel = demangled(function.name());
            Failure::usage(format!("kernel `{kernel}`: {problem}"))
        })?;
        let chosen: Vec<Arg> = numbers.iter().map(|number| values[*number].clone()).collect();
        launches.push((launch, function, chosen));
    }

    let mut done = Vec::new();
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    let mut fault = None;
    for (own, function, values) in &launches {
        let launch = Launch::new(function, own.grid, own.block, values);
        let launch = launch.with_shared_bytes(own.shared).with_cooperative(args.cooperative).with_cluster(own.cluster);
        let start = Instant::now();
        let counted = if !args.sanitize.is_empty() {
            let sanitized = machine.launch_sanitized(&launch, args.sanitize);
            let Sanitized { result, findings: mut found, notes: mut left } = sanitized;
            findings.append(&mut found);
            notes.append(&mut left);
            result.map(Some)
        } else if args.count || args.json {
            machine.launch_counted(&launch).map(Some)
        } else {
            machine.launch(&launch).map(|()| None)
        };
        let seconds = start.elapsed().as_secs_f64();
        // Beside one JSON object, what kernels print has no place.
        let printed = machine.take_printed();
        match args.json {
            true => err.write_all(&printed)?,
            false => out.write_all(&printed)?,
        }
        match counted {
            Err(LaunchError::Fault(error)) => {
                let is_found = Check::of(&error.kind).is_some_and(|check| args.sanitize.contains(check));
                fault = (!is_found).then(|| Failure::fault(&error, &args.file));
                break;
            }
            Err(error) => return Err(Failure::usage(error.to_string())),
            Ok(counters) => done.push(FinishedLaunch {
                entry: function.name(),
                seconds,
                metrics: counters
                    .filter(|_| args.count || args.json)
                    .map_or(Vec::new(), |counters: Counters| counters.metrics()),
            }),
        }
    }

    // Buffers are shown after a fault too: the values written before it help to find its cause.
    for save in &args.save {
        if let Some(held) = held.get(save.index).and_then(Option::as_ref) {
            std::fs::write(&save.path, machine.read(held.buffer)?)
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
        match (args.is_single(), launches.is_empty()) {
            (true, true) => write!(out, "{{\"buffers\": {{")?,
            (true, false) => write!(out, "{{{}, \"buffers\": {{", launches.concat())?,
            (false, true) => write!(out, "{{\"launches\": [], \"buffers\": {{")?,
            (false, false) => write!(out, "{{\"launches\": [{{{}}}], \"buffers\": {{", launches.join("}, {"))?,
        }
        for (place, (print, held)) in shown.enumerate() {
            let separator = if place > 0 { ", " } else { "" };
            write!(out, "{separator}\"{}\": [", print.index)?;
            write_elements(out, &machine, print, held, true)?;
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
        write_elements(out, &machine, print, held, false)?;
        writeln!(out)?;
    }
    for FinishedLaunch { entry, metrics, .. } in &done {
        if !args.is_single() && args.count {
            writeln!(out, "{}:", demangled(entry))?;
        }
        write!(out, "{}", table(metrics))?;
    }
    for FinishedLaunch { entry, seconds, .. } in &done {
        writeln!(err, "{} ran in {seconds:.3} s", demangled(entry))?;
    }
    let file = args.file.display().to_string();
    let diagnostics = Diagnostic::of_findings(&findings).into_iter().map(|own| own.in_ptx_file(&file));
    write!(out, "{}", texts(&diagnostics.collect::<Vec<_>>(), style()))?;
    for note in &notes {
        writeln!(out, "{note}")?;
    }
    fault.map_or(Ok(code), Err)
}

/// A launch that has run to its end.
struct FinishedLaunch<'a> {
    entry: &'a str,
    seconds: f64,
    metrics: Vec<Metric>,
}

impl FinishedLaunch<'_> {
    /// The members of its JSON object.
    fn json(&self) -> String {
        let (entry, counters) = (json(self.entry), json_counters(&self.metrics));
        let seconds = self.seconds;
        format!("\"entry\": {entry}, \"seconds\": {seconds}, \"counters\": {{{counters}}}")
    }
}

/// Gives a variable its value.
fn set(machine: &mut Machine, instance: &Instance, name: &str, value: &Spec) -> Result<(), String> {
    let variable = instance.variable::<u8>(name).map_err(|error| error.to_string())?;
    let filled;
    let bytes = match value {
        Spec::Scalar { bytes, .. } => bytes,
        Spec::Buffer { ty, count, fill } => {
            filled = ty.fill(*count, fill)?;
            &filled
        }
    };
    if bytes.len() != variable.len() {
        let (own, given) = (variable.len(), bytes.len());
        return Err(format!("the variable has {own} bytes, and the value {given}"));
    }
    let written = machine.write(variable, bytes);
    written.map_err(|error| error.to_string())
}

/// The bytes of memory that the host has, as far as that can be known. The kernel's arguments have to fit into it.
fn room(args: &Run) -> Result<u64, Failure> {
    // Every buffer is held twice for a moment: as bytes here and as the machine's memory.
    let mut need = 0usize;
    let values = args.symbol.iter().map(|symbol| &symbol.value);
    for spec in args.arg.iter().chain(values) {
        if let Spec::Buffer { ty, count, .. } = spec {
            need = count.checked_mul(ty.bytes()).and_then(|bytes| need.checked_add(bytes)).ok_or_else(|| {
                let name = ty.name();
                Failure::usage(format!("{name}[{count}] is more than any memory"))
            })?;
        }
    }
    let free = crate::run::available_memory().unwrap_or(16 << 30);
    if (need as u64).saturating_mul(2) > free {
        return Err(Failure::usage(format!(
            "the buffers have {need} bytes, and this machine has {free} free, of which filling them takes twice as many; \
             make them smaller"
        )));
    }
    Ok(free)
}

/// Puts an argument onto the machine. What nobody has written is random where there are random numbers.
fn place(
    machine: &mut Machine,
    spec: &Spec,
    random: &mut Option<fastrand::Rng>,
) -> Result<(Arg, Option<BufferArg>), String> {
    match spec {
        Spec::Scalar { bytes, .. } => Ok((Arg::Bytes(bytes.clone()), None)),
        Spec::Buffer { ty, count, fill } => {
            let buffer = match (fill, random) {
                (BufferInit::Zeros, _) => machine.zeroed(count * ty.bytes()),
                (BufferInit::Uninit, Some(random)) => {
                    let mut bytes = vec![0; count * ty.bytes()];
                    random.fill(&mut bytes);
                    machine.upload(&bytes)
                }
                (fill, _) => machine.upload(&ty.fill(*count, fill)?),
            }
            .map_err(|error| error.to_string())?;
            if let BufferInit::Uninit = fill {
                machine.memory_mut().set_unwritten(buffer.address());
            }
            let held = BufferArg { ty: *ty, count: *count, buffer };
            Ok((buffer.into(), Some(held)))
        }
    }
}

/// Writes the elements of a buffer that are to be shown, some at a time: the text of all may need more memory than the
/// host has.
fn write_elements(
    out: &mut dyn Write,
    machine: &Machine,
    print: &Print,
    held: &BufferArg,
    json: bool,
) -> Result<(), Failure> {
    let bytes = machine.read(held.buffer)?;
    let count = print.count.unwrap_or(held.count).min(held.count);
    let parts = bytes[..count * held.ty.bytes()].chunks(held.ty.bytes() << 12);
    for (place, part) in parts.enumerate() {
        let separator = if json { "," } else { " " };
        let text = held.ty.text(part, json);
        // The parts of an array are arrays.
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

/// The counters, a line each. Those that are zero because nothing of the kind was done are left out.
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
