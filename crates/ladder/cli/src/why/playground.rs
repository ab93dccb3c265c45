//! `ladder why FILE.ptx --playground FILE`: writes a launch and its sources to a file that the playground opens.

use std::collections::BTreeMap;
use std::path::Path;

use report::files::replace;
use serde::Serialize;
use simt::observe::Site;
use simt::run::Position;
use simt_cli::OpenLaunch;

use crate::error::Error;
use report::sources::SourceFiles;

/// A launch in the format that the playground's page reads.
#[derive(Serialize)]
struct Project<'a> {
    ptx: &'a str,
    /// The texts of the source files that exist on this machine, by their paths in the PTX.
    sources: BTreeMap<String, String>,
    /// The name of the kernel in the PTX.
    kernel: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    /// The arguments as they were typed: `f32[1024]=iota`.
    arguments: Vec<String>,
}

/// Writes a launch with these arguments to the file.
pub(super) fn write(
    path: &Path,
    opened: &OpenLaunch,
    arguments: Vec<String>,
    files: &mut SourceFiles,
) -> Result<(), Error> {
    let function = &opened.function;
    let functions = (0..).zip(&function.program().functions);
    let sites: Vec<Site> = functions
        .flat_map(|(function, function_code)| (0..function_code.code.len() as u32).map(move |pc| Site { function, pc }))
        .collect();
    let mut sources = BTreeMap::new();
    for (file, _) in Position::of_all(function, &sites).into_iter().filter_map(|position| position.source) {
        if let Some(lines) = files.lines(&file) {
            sources.entry(file).or_insert_with(|| lines.join("\n"));
        }
    }
    let launch = opened.launch();
    let project = Project {
        ptx: function.ptx(),
        sources,
        kernel: function.name(),
        grid: launch.grid,
        block: launch.block,
        shared: launch.shared_bytes,
        arguments,
    };
    let text = serde_json::to_string(&project).expect("strings, numbers and maps by name serialize");
    Ok(replace(path, &text).map_err(|why| analysis::Error::file("write", path, why))?)
}
