//! `ladder occupancy`: the number of a rung's blocks that a multiprocessor holds, and the resource that limits it.

mod text;

use std::io::Write;

use clap::{ArgMatches, Args};

use crate::command::{Command, CommandArgs, Output};
use crate::env::{Env, WRONG, progress_bar};
use crate::error::Error;
use crate::output::{Document, Format, Printer};
use crate::targets::NAMES;
use analysis::occupancy::check::{self, Comparison, LadderComparison};
use analysis::occupancy::{EntryOccupancy, Limits, RungOccupancy, source};
use engine::DeviceProperties;
use engine::device::Choice;
use engine::selection::Selection;
use engine::size::dims;

/// The architecture where none is asked for and there is no GPU.
const ARCH: &str = "sm_90";

pub(crate) const OCCUPANCY: Command = Command {
    name: "occupancy",
    about: "Compute how many blocks of a rung a multiprocessor holds at once, and what limits that",
    arguments: |command, scope| {
        let command = CommandArgs::<Arguments>::arguments(command, scope);
        command
            .mut_arg("names", |arg| arg.help(format!("{NAMES} [default with --check: all]")))
            .mut_arg("block", |arg| arg.conflicts_with("check"))
    },
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// The architecture to assemble for [default: the GPU's where there is one, else sm_90]
    #[arg(long, value_name = "sm_XX", conflicts_with = "check")]
    arch: Option<String>,
    /// Whose architecture, and whose driver to ask
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// Compare the calculation with the driver's for every block of these rungs, or of all
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, own: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let selected = targets.select(env.catalog)?;
    if args.check {
        return against_the_driver(&args, &selected, env, to);
    }
    if targets.is_empty() {
        return Err(Error::Request(
            "which rung? `ladder list` names them; --check takes all where none is named".to_owned(),
        ));
    }
    // A GPU that only another architecture is asked of is not needed.
    let mut device = match (&args.arch, args.device) {
        (Some(_), Choice::Auto | Choice::Sim) => None,
        (None, _) | (Some(_), Choice::Gpu) => Some((env.open)(args.device)?),
    };
    let capability = device.as_ref().and_then(|own| own.info().compute_capability);
    let own_arch = || capability.map(|(major, minor)| format!("sm_{major}{minor}"));
    let arch = args.arch.clone().or_else(own_arch).unwrap_or(ARCH.to_owned());
    let limits = Limits::named(&arch).map_err(analysis::Error::from)?;

    let (kernels, style) = (env.catalog.kernels, env.style());
    let is_one = matches!(&selected[..], [one] if one.rungs().len() == 1);
    let (mut document, mut left_out, mut is_empty) = (Document::default(), Vec::new(), true);
    for own in &selected {
        let mut plan = own.plan(targets.block(), None, DeviceProperties::default())?;
        plan.leave_out(|_, launch| source(kernels, launch, &arch).err())?;
        left_out.extend_from_slice(plan.left_out());
        let bar = progress_bar(plan.launches().len(), env.terminal);
        let mut rungs = Vec::new();
        for (rung, launch) in plan.launches() {
            bar.set_message(rung.name);
            bar.inc(1);
            if !is_one && !args.format.json {
                rungs.push((rung.name, EntryOccupancy::new(kernels, launch, &arch)?));
                continue;
            }
            let problem = plan.problem();
            let mut report = RungOccupancy::new(kernels, own.ladder, rung, problem, launch, &arch)?;
            // The driver answers for its own architecture only.
            if let Some(device) = &mut device
                && capability == Some(limits.capability)
            {
                report.driver = device.resident(launch)?;
            }
            document.record(&report);
            document.append(text::details(&report, style));
        }
        bar.finish_and_clear();
        is_empty &= plan.launches().is_empty();
        if !rungs.is_empty() {
            document.heading(format!("{} on {arch}", own.ladder.name), "");
            document.table(text::summary(&rungs, style));
        }
    }
    if is_empty {
        return Err(Error::Request(left_out.join("; ")));
    }
    for why in left_out {
        tell_left_out(&why, args.format, &mut document, to.err)?;
    }
    args.format.write(&document, style, to.out)?;
    Ok(0)
}

/// Says what was left out: in the document, or where that is JSON, which has no place for it, beside it.
fn tell_left_out(why: &str, format: Format, document: &mut Document, err: &mut dyn Write) -> std::io::Result<()> {
    match format.json {
        true => writeln!(err, "left out: {why}"),
        false => {
            document.note(format!("left out: {why}"));
            Ok(())
        }
    }
}

fn against_the_driver(
    args: &Arguments,
    selected: &[Selection],
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let mut device = (env.open)(args.device)?;
    let mut printer = Printer::new(args.format, env.style(), to.out);
    let mut code = 0;
    for own in selected {
        let LadderComparison { comparisons, left_out } = check::check(&mut *device, own.ladder, &own.rungs())?;
        let different: Vec<&Comparison> = comparisons.iter().filter(|one| !one.agrees()).collect();
        let mut document = Document::default();
        let result = match different.len() {
            0 => "all as the driver says".to_owned(),
            count => format!("{count} NOT as the driver says"),
        };
        document.note(format!("{}: {} entries and blocks, {result}", own.ladder.name, comparisons.len()));
        for one in different {
            code = WRONG;
            document.note(format!("  {}", difference(one)));
        }
        for why in left_out {
            tell_left_out(&why, args.format, &mut document, to.err)?;
        }
        for one in &comparisons {
            document.record(one);
        }
        printer.show(&document)?;
    }
    let mut place = Document::default();
    place.note(format!("on {}", device.info()));
    printer.show(&place)?;
    printer.finish()?;
    Ok(code)
}

fn difference(one: &Comparison) -> String {
    let (entry, block, driver) = (&one.entry, dims(one.block), &one.driver);
    format!(
        "{entry} with blocks of {block}: {} blocks an SM calculated, {} by the driver ({} registers, {} bytes static and \
         {} dynamic)",
        one.calculated, driver.blocks, driver.registers, driver.static_shared, one.dynamic_shared
    )
}
