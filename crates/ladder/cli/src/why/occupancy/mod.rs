//! `ladder why --occupancy`: how many of a rung's blocks a multiprocessor holds, and the resource that limits the
//! number.

mod text;

use crate::command::{CommandArgs, Env, Output, progress_bar};
use crate::error::Error;
use crate::output::{self, Document, OutputStyle};
use analysis::occupancy::{EntryOccupancy, Limits, RungOccupancy, source, usage_of};
use analysis::predict::Description;
use engine::DeviceProperties;
use engine::device::Choice;
use profile::Geometry;
use simt::Function;

/// The default architecture if there is no GPU.
const ARCH: &str = "sm_90";

/// Shows the occupancy of a launch of any kernel, and how it changes with the block, the shared memory and the
/// registers.
///
/// # Errors
/// Returns an error when there is no `ptxas`, or when `ptxas` does not know the device's architecture.
pub(super) fn of_launch(
    function: &Function,
    geometry: Geometry,
    arch: &str,
    style: OutputStyle,
) -> Result<Document, Error> {
    let limits = Limits::named(arch).map_err(analysis::Error::from)?;
    let usage = usage_of(function, arch)?;
    let entry = |geometry| EntryOccupancy::of(function.name().to_owned(), usage, geometry, limits);
    let others = BLOCKS.map(|threads| entry(Geometry { block: [threads, 1, 1], ..geometry }));
    let name = simt::demangled(function.name());
    let report = RungOccupancy::of(name, entry(geometry), usage, others.to_vec(), (arch, limits));
    Ok(text::details(&report, style))
}

/// The block sizes with which the launch of a file's kernel is compared.
const BLOCKS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

pub(super) fn show(args: &CommandArgs<super::Arguments>, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = args;
    let selected = targets.select(env.catalog)?;
    let named = match (&args.arch, &args.timing.on) {
        (None, Some(on)) => Some(Description::open(on).map_err(analysis::Error::from)?.arch),
        (arch, _) => arch.clone(),
    };
    // Computing the occupancy on another architecture does not require the GPU.
    let mut device = match (&named, args.timing.device) {
        (Some(_), Choice::Auto | Choice::Sim) => None,
        (None, choice) | (Some(_), choice @ Choice::Gpu) => Some((env.open)(choice)?),
    };
    let capability = device.as_ref().and_then(|device| device.info().compute_capability);
    let device_arch = || capability.map(|(major, minor)| format!("sm_{major}{minor}"));
    let arch = named.or_else(device_arch).unwrap_or(ARCH.to_owned());
    let limits = Limits::named(&arch).map_err(analysis::Error::from)?;

    let (kernels, style) = (env.catalog.kernels, env.style());
    let is_one = matches!(&selected[..], [one] if one.rungs().len() == 1);
    let (mut document, mut left_out, mut is_empty) = (Document::default(), Vec::new(), true);
    for selection in &selected {
        let mut plan = selection.plan(targets.block(), None, DeviceProperties::default())?;
        plan.leave_out(|_, launch| source(kernels, launch, &arch).err())?;
        left_out.extend_from_slice(plan.left_out());
        let bar = progress_bar(plan.launches().len(), env.terminal);
        let mut rungs = Vec::new();
        for (rung, launch) in plan.launches() {
            bar.set_message(rung.name);
            bar.inc(1);
            if !is_one && !args.view.format.json {
                rungs.push((rung.name, EntryOccupancy::new(kernels, launch, &arch)?));
                continue;
            }
            let problem = plan.problem();
            let mut report = RungOccupancy::new(kernels, selection.ladder, rung, problem, launch, &arch)?;
            // The driver knows the occupancy only for the architecture of its GPU.
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
            document.heading(format!("{} on {arch}", selection.ladder.name), "");
            document.table(text::summary(&rungs, style));
        }
    }
    if is_empty {
        return Err(Error::Request(left_out.join("; ")));
    }
    for why in left_out {
        // The JSON array contains only records, so the text goes to stderr.
        match args.view.format.json {
            true => writeln!(to.err, "{}", output::left_out(why))?,
            false => document.note(output::left_out(why)),
        }
    }
    args.view.format.write(&document, style, to.out)?;
    Ok(0)
}
