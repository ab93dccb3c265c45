//! Reports of programs whose launches this test makes.

use std::fs;
use std::path::Path;

use devices::Description;
use report::{Form, Report};
use simt::{Config, Function, Launch, Module, Simulator};
use simt_check::{Check, Checks};

/// `strided(data)`: each lane loads and stores a word of a separate line. `beyond(data)` stores 4 GiB after the start
/// of `data`.
const KERNELS: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry strided(.param .u64 data) {
    .reg .b32 %r<5>; .reg .b64 %rd<3>;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [data];
    mad.wide.u32 %rd2, %r4, 128, %rd1;
    ld.global.u32 %r1, [%rd2];
    st.global.u32 [%rd2], %r1;
    ret;
}
.visible .entry beyond(.param .u64 data) {
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    add.u64 %rd2, %rd1, 4294967296;
    st.global.u32 [%rd2], 1;
    ret;
}";
const GRID: [u32; 3] = [1056, 1, 1];
const BLOCK: [u32; 3] = [128, 1, 1];

/// Launches kernels for a report.
struct Program {
    simulator: Simulator,
    data: simt::Arg,
}

impl Program {
    fn new() -> Self {
        let mut simulator = Simulator::new(Config::default()).expect("threads start");
        let data = simulator.zeroed::<u32>(1056 * 128 * 32).expect("enough memory").into();
        Self { simulator, data }
    }

    fn launch(&mut self, report: &Report, kernel: &str, grid: [u32; 3]) -> bool {
        let args = [self.data.clone()];
        report
            .launch(&mut self.simulator, &Launch::new(&function(kernel), grid, BLOCK, &args), Checks::NONE)
            .result
            .is_ok()
    }
}

fn function(name: &str) -> Function {
    Module::from_ptx(KERNELS).expect("valid PTX").function(name).expect("the kernel exists")
}

fn open(path: &Path, every: u64) -> Result<Report, String> {
    let device = Description::open("h100").expect("a known device");
    Report::new(path, "a <program>".to_owned(), device, every, |_, _| None)
}

/// Launches `strided` three times with one grid and once with another, and returns the text of the report.
fn text(name: &str, every: u64) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    let report = open(&path, every).expect("a writable path");
    let mut program = Program::new();
    for grid in [GRID, GRID, GRID, [2, 1, 1]] {
        assert!(program.launch(&report, "strided", grid));
    }
    let said = report.finish().expect("kernels were launched").expect("the report is written");
    assert!(said.starts_with("2 kernels, 4 launches: ") && said.ends_with(name), "{said}");
    fs::read_to_string(&path).expect("the report exists")
}

#[test]
fn a_page_has_the_verdict_the_counters_and_the_lines_of_each_kernel() {
    let page = text("report.html", 0);
    for words in [
        "<h1>a &lt;program&gt;</h1>",
        "predicted for NVIDIA H100 80GB HBM3, not measured",
        "4 launches of 2 kernels",
        "The first launch of each kernel and geometry is explained; the others are counted.",
        "What helps: coalescing",
        "sectors &#x2f; load</th><td class=\"n\">32.00",
        "ld.global.u32 %r1, [%rd2];",
        "<svg ",
        "</html>",
    ] {
        assert!(page.contains(words), "`{words}` is not in: {page}");
    }
}

#[test]
fn json_contains_each_explained_launch() {
    for (every, explained) in [(0, 1), (1, 3), (2, 2)] {
        let data: serde_json::Value = serde_json::from_str(&text("report.json", every)).expect("valid JSON");
        let first = &data[0];
        assert_eq!((&first["kernel"], &first["calls"]), (&"strided".into(), &3.into()));
        let launches = first["launches"].as_object().expect("launches by number");
        assert_eq!(launches.len(), explained, "{every}");
        let time = launches["1"]["predicted_ns"].as_f64().expect("a number");
        let total = first["predicted_total_ns"].as_f64().expect("a number");
        assert!((total - 3.0 * time).abs() < 1e-6 * total, "{total} of 3 launches of {time}");
    }
}

#[test]
fn a_kernel_that_fails_is_named_and_the_others_are_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.html");
    let report = open(&path, 0).expect("a writable path");
    let mut program = Program::new();
    assert!(program.launch(&report, "strided", GRID));
    assert!(!program.launch(&report, "beyond", [1, 1, 1]));
    // The program may end without `finish`.
    let page = fs::read_to_string(&path).expect("the report exists");
    for words in ["out of bounds write of 4 bytes", "What helps: coalescing", "not explained"] {
        assert!(page.contains(words), "`{words}` is not in: {page}");
    }
}

#[test]
fn findings_of_sanitizers_are_returned() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = open(&folder.path().join("report.csv"), 0).expect("a writable path");
    let mut program = Program::new();
    let (beyond, args) = (function("beyond"), [program.data.clone()]);
    let done = report.launch(&mut program.simulator, &Launch::new(&beyond, [1; 3], [1; 3], &args), Checks::ALL);
    assert_eq!(done.findings.iter().map(|finding| finding.check).collect::<Vec<_>>(), [Check::Memory]);
}

#[test]
fn launches_or_messages_create_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.html");
    let report = open(&path, 0).expect("a writable path");
    assert!(report.finish().is_none() && !path.exists());
    report.message("the module has no PTX");
    report.finish().expect("there is a message").expect("the report is written");
    let page = fs::read_to_string(&path).expect("the report exists");
    assert!(page.contains("The program launched no kernel.") && page.contains("the module has no PTX"), "{page}");
}

#[test]
fn files_that_are_not_reports_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for name in ["notes.html", "notes.json", "notes.csv"] {
        fs::write(path(name), "notes").expect("a file");
        let error = open(&path(name), 0).err().expect("it is not a report");
        assert!(error.ends_with("the file exists and is not a report; name another file"), "{error}");
        let older = path(&name.replace("notes", "older"));
        fs::write(&older, text(name, 0)).expect("a file");
        assert!(open(&older, 0).is_ok(), "{name}");
    }
    assert_eq!(open(&path("report.txt"), 0).err().expect("no form").split(' ').next_back(), Some(".csv"));
    let nowhere = open(&path("nowhere").join("report.html"), 0).err().expect("there is no such folder");
    assert!(nowhere.starts_with("cannot write "), "{nowhere}");
    assert_eq!(Form::of(Path::new("a/b.csv")), Ok(Form::Csv));
}

#[test]
fn an_unwritable_report_goes_to_the_temporary_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = format!("ladder-report-test-{}.html", std::process::id());
    let report = open(&folder.path().join(&name), 0).expect("a writable path");
    report.message("a message");
    drop(folder);
    let said = report.finish().expect("there is a message").expect("the report is written");
    let other = std::env::temp_dir().join(name);
    assert!(said.contains("cannot write ") && said.ends_with(&other.display().to_string()), "{said}");
    fs::remove_file(other).expect("the report exists");
}
