//! `SIMT_TEST_REPORT`: a report of the kernels that tests launch.

use std::path::Path;
use std::sync::LazyLock;

use devices::Description;
use report::Report;

/// The environment variable that names the file of a report about the kernels that tests launch on the simulator:
/// `report.html`, `report.json` or `report.csv`. The path is relative to the package's folder. The second test program
/// of a run writes `report-2.html`.
pub const REPORT: &str = "SIMT_TEST_REPORT";
/// The device for which times are predicted.
const DEVICE: &str = "h100";

/// Returns the report, if it was requested and can be written.
pub(crate) fn of_tests() -> Option<&'static Report> {
    static OPEN: LazyLock<Option<Report>> = LazyLock::new(|| {
        let path = std::env::var_os(REPORT).filter(|path| !path.is_empty())?;
        // Cargo runs the test programs one after another.
        let path = match run() {
            Some(run) => report::files::numbered(Path::new(&path), &run),
            None => path.into(),
        };
        let opened = open(&path);
        if let Err(why) = &opened {
            eprintln!("{REPORT}: {why}; the tests run without a report");
        }
        opened.ok()
    });
    OPEN.as_ref()
}

fn open(path: &Path) -> Result<Report, String> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_stem).map_or("tests".into(), |name| name.to_string_lossy());
    // Cargo appends a hash to the name.
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name).to_owned();
    let device = Description::open(DEVICE).map_err(|error| error.to_string())?;
    let report = Report::new(path, program, device, 0, |_, _| None)?;
    report::at_exit(write);
    Ok(report)
}

/// Returns an identifier of this run of cargo: the id of cargo's process.
#[cfg(unix)]
fn run() -> Option<String> {
    std::env::var_os("CARGO").map(|_| std::os::unix::process::parent_id().to_string())
}

#[cfg(not(unix))]
fn run() -> Option<String> {
    None
}

extern "C" fn write() {
    if let Some(Ok(said) | Err(said)) = of_tests().and_then(Report::finish) {
        eprintln!("{REPORT}: {said}");
    }
}
