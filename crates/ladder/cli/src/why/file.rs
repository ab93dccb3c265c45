//! `ladder why FILE.ptx` and `ladder why KERNEL --grid …`: the views of launches, for the kernels of a file or for a
//! kernel that is built into Ladder.

use std::path::{Path, PathBuf};

use analysis::occupancy::usage_of;
use analysis::predict::Description;
use clap::{ArgGroup, ArgMatches, Args, FromArgMatches as _};
use engine::launch::Launch;
use profile::metrics::Side;
use profile::model::ACCURACY;
use profile::roofline::{Measured, roofline};
use profile::{LaunchProfile, Watch};
use report::files::replace;
use simt::Module;
use simt_cli::{LaunchArguments, OpenLaunches, SPECS};

use super::roofline::Chart;
use super::{View, counters, figures, occupancy, roofline as roofs, verdict};
use crate::charts;
use crate::command::{Env, Output};
use crate::error::Error;
use crate::output::{Document, Printer};
use crate::timing::MODEL;
use report::LaunchRecord;
use report::sources::SourceFiles;
use report::words::assumption;

/// The arguments of `ladder why FILE.ptx`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("view").args(["counters", "occupancy", "roofline", "figures"])))]
struct Arguments {
    #[command(flatten)]
    launch: LaunchArguments,
    #[command(flatten)]
    view: View,
    /// The device to explain the launches for: one of `ladder devices`, or a file in the format of
    /// crates/simt/devices/known
    #[arg(long, value_name = "DEVICE", default_value = MODEL)]
    on: String,
    /// Also write the PTX, the source files that are available, the launch and its arguments to a file for the
    /// playground
    #[arg(long, value_name = "FILE", conflicts_with_all = ["launch", "cluster", "cooperative", "symbol"])]
    playground: Option<PathBuf>,
    #[command(flatten, next_help_heading = super::FIGURES)]
    figure: figures::FigureArguments,
}

pub(super) fn arguments(command: clap::Command) -> clap::Command {
    Arguments::augment_args(command).after_help(SPECS)
}

/// Returns whether the arguments describe launches of a file's kernels.
pub(super) fn is_given(matches: &ArgMatches) -> bool {
    matches.try_contains_id("file").unwrap_or(false)
}

pub(super) fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let Arguments { launch, view, on, playground, figure } = Arguments::from_arg_matches(matches)?;
    view.check()?;
    let device = Description::open(&on).map_err(analysis::Error::from)?;
    let built_in = built_in(launch.file(), env)?;
    let opened = built_in.as_ref().map_or_else(|| launch.open(), |module| launch.open_module(module));
    let OpenLaunches { mut simulator, launches, .. } = match opened {
        Ok(opened) => opened,
        Err(failure) => return Ok(failure.report(to.err)),
    };
    let file = launch.file();
    let mut files = SourceFiles::new(&roots(file));
    if let (Some(path), [launch]) = (playground, &launches[..]) {
        let specs = matches.get_raw("arg").into_iter().flatten();
        let specs = specs.map(|spec| spec.to_string_lossy().into_owned()).collect();
        super::playground::write(&path, launch, specs, &mut files)?;
    }
    let (mut profiles, mut failure) = (Vec::new(), None);
    for opened in &launches {
        let watch = Watch {
            block: figure.block_index.unwrap_or(0),
            warp: figure.warp.unwrap_or(0),
            usage: usage_of(&opened.function, &device.arch).ok().map(analysis::occupancy::counted),
            ..Watch::new(device.clone())
        };
        let done = profile::record(&mut simulator, &opened.launch(), watch);
        to.err.write_all(&simulator.take_printed())?;
        match done {
            // Launches that completed before the failure are still shown.
            Err(profile::Error::Launch(error)) => {
                failure = Some(launch.failed(error));
                break;
            }
            done => profiles.push(done?),
        }
    }
    let mut printer = Printer::new(view.format, env.style(), to.out);
    match &view {
        View { roofline: true, .. } if profiles.is_empty() => {}
        View { roofline: true, .. } => printer.show(&roofs_of(&profiles, &device, &view, env)?)?,
        _ => {
            for (profile, opened) in profiles.iter().zip(&launches) {
                let mut document = match &view {
                    View { figures: Some(chosen), .. } => figures::drawn(
                        chosen,
                        (&view, &figure),
                        &profile.recording,
                        (&title(profile), &mut files),
                        env.style(),
                    )?,
                    View { occupancy: true, .. } => {
                        occupancy::of_launch(&opened.function, profile.geometry, &device.arch, env.style())?
                    }
                    View { counters: Some(names), .. } => counted(profile, names)?,
                    _ => explained(profile, &device, &mut files, env),
                };
                document.record(&LaunchRecord::new(profile));
                printer.show(&document)?;
            }
        }
    }
    printer.finish()?;
    Ok(failure.map_or(0, |failure| failure.report(to.err)))
}

/// Returns the built-in kernel with this name, unless a file has this name.
fn built_in(name: &Path, env: &Env<'_>) -> Result<Option<Module>, Error> {
    let ptx = env.catalog.kernels.newest_for(None)?;
    let named = name.to_str().filter(|_| !name.exists());
    let Some((ptx, entry)) = ptx.zip(named).filter(|(ptx, entry)| ptx.has_entry(entry)) else { return Ok(None) };
    let module = Module::from_ptx(ptx.part_with_lines(entry));
    module.map(Some).map_err(|error| Error::Request(format!("`{entry}`: {error}")))
}

/// Returns the folders that the paths of a file's source lines can be relative to: the current one, and the file's
/// folder.
fn roots(file: &Path) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    std::env::current_dir().into_iter().chain([folder]).collect()
}

/// Returns the launch as CUDA writes it: `saxpy<<<4, 256>>>`.
fn title(profile: &LaunchProfile) -> String {
    let profile::Geometry { grid, block, shared_bytes } = profile.geometry;
    let (code, entry, args) = (Default::default(), profile.kernel.clone(), Vec::new());
    Launch { code, entry, grid, block, shared_bytes, args }.to_string()
}

/// Explains a launch: what bounds it, the counters and the figure that show the bound, and the fix.
fn explained(profile: &LaunchProfile, device: &Description, files: &mut SourceFiles, env: &Env<'_>) -> Document {
    let mut document = Document::default();
    document.heading(title(profile), "");
    let Some(found) = &profile.verdict else {
        document.paragraph("there is no counter that shows what bounds this launch");
        return document;
    };
    let origin = format!("predicted for {}, not measured{}\npredictions: {ACCURACY}", device.name, assumption(profile));
    verdict::explain(&mut document, found, &origin, Side::Sim, |metric| profile.number(metric));
    figures::add_worst(&mut document, found.bound.figure(), &profile.recording, (&title(profile), files), env.style());
    verdict::add_fix(&mut document, found);
    if let Some(pair) = found.helps.and_then(|fix| fix.entry().pairs.first()) {
        document.section("a rung with this fix", format!("{}, where {} does not", pair.after, pair.before));
        document.note(format!("  ladder why {} shows how", pair.after));
    }
    document
}

fn counted(profile: &LaunchProfile, names: &[String]) -> Result<Document, Error> {
    let mut document = Document::default();
    document.heading(title(profile), "");
    let metrics = counters::requested(names, Side::Sim)?;
    let shown = metrics.iter().filter(|metric| !names.is_empty() || metric.sim.missing().is_none());
    document.table(counters::of_one(shown, Side::Sim, |metric| profile.number(metric)));
    Ok(document)
}

fn roofs_of(profiles: &[LaunchProfile], device: &Description, view: &View, env: &Env<'_>) -> Result<Document, Error> {
    let points: Vec<Measured<'_>> = profiles
        .iter()
        .map(|profile| Measured::predicted(&profile.kernel, &profile.estimate, &profile.sample))
        .collect();
    let found = roofline(device, None, &points);
    let about = format!("predicted for {}, not measured", device.name);
    if let Some(path) = &view.svg {
        let chart = charts::file(&Chart::new("launches", &about, &found));
        replace(path, &chart).map_err(|why| analysis::Error::file("write", path, why))?;
    }
    Ok(roofs::document(("launches", &about), device, &found, env.style()))
}
