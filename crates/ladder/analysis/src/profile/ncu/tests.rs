//! Tests with recorded output of `ncu`. The table's numbers come from an H100 (driver 580, n = 2^20, blocks of 512).

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::io;

use super::*;
use engine::selection::select_with;
use host::{CATALOG, DeviceProperties};

const RAW: &str = include_str!("fixtures/raw.csv");

const LOADS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const INSTRUCTIONS: &str = "smsp__average_inst_executed_per_warp.ratio";
const SHARED: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";

/// A runner with a recorded answer for each call. It keeps the arguments of each call.
#[derive(Default)]
struct Recorded {
    answers: RefCell<Vec<ProgramOutput>>,
    requests: RefCell<Vec<Vec<String>>>,
}

impl Recorded {
    fn new(answers: impl IntoIterator<Item = (i32, String, &'static str)>) -> Self {
        let mut answers: Vec<_> = answers.into_iter().map(ended).collect();
        answers.reverse();
        Self { answers: RefCell::new(answers), requests: RefCell::default() }
    }

    /// Returns a runner that answers every call with a table.
    fn table(table: impl Into<String>) -> Self {
        Self::new([(0, table.into(), "")])
    }
}

fn ended((code, out, err): (i32, String, &str)) -> ProgramOutput {
    ProgramOutput { code: Some(code), out, err: err.to_owned() }
}

impl Runner for Recorded {
    fn run(&self, program: &Path, args: &[OsString]) -> io::Result<ProgramOutput> {
        assert_eq!(program, Path::new("ncu"));
        let args = args.iter().map(|arg| arg.to_str().unwrap().to_owned());
        let args: Vec<String> = args.collect();
        if args == ["--version"] {
            let out =
                "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 1) (public-release)\n";
            return Ok(ended((0, out.to_owned(), "")));
        }
        self.requests.borrow_mut().push(args);
        let answer = self.answers.borrow_mut().pop();
        answer.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Profiles the first three rungs of the reduction with blocks of 512, as in the recording.
fn profile(runner: &Recorded, metrics: &[&str], optional: &[&str]) -> Result<Vec<Numbers>, Error> {
    let targets = ["reduce_neighbored", "reduce_neighbored_less", "reduce_interleaved"];
    let targets = targets.map(str::to_owned);
    let options = [("n", "2^20".to_owned())];
    let selected = select_with(&CATALOG, &targets, &options).unwrap();
    let block = Some([512, 1, 1]);
    let plan = selected[0].plan(block, None, DeviceProperties::default()).unwrap();
    let ncu = Ncu { program: "ncu".into(), profiled: "ladder".into(), device: "Test GPU".into(), runner };
    let wanted = MetricSet { needed: set(metrics), optional: set(optional) };
    ncu.profile(&selected[0], plan.launches(), block, &wanted)
}

#[test]
fn a_table_has_the_numbers_of_each_launch() {
    let raw = read(RAW, |name| name.contains('.')).unwrap();
    let kernels: Vec<&str> = raw.iter().map(|one| one.kernel.as_str()).collect();
    let four = "reduce_neighbored reduce_neighbored_less reduce_interleaved reduce_shfl_512";
    assert_eq!(kernels.join(" "), four);
    let numbers = [LOADS, INSTRUCTIONS, SHARED].map(|name| raw[0].numbers[name]);
    assert_eq!(numbers, [391_168.0, 161.19, 0.0]);
}

#[test]
fn this_program_runs_one_launch_per_rung_and_the_card_is_unchanged() {
    let runner = Recorded::table(RAW);
    let numbers = profile(&runner, &[LOADS], &[INSTRUCTIONS]).unwrap();
    let loads: Vec<_> = numbers.iter().map(|one| one.get(LOADS)).collect();
    assert_eq!(loads, [Some(&391_168.0), Some(&83_968.0), Some(&83_968.0)]);
    let requests = runner.requests.borrow();
    assert_eq!(
        requests[0].join(" "),
        format!(
            "--clock-control none --csv --page raw --print-units base --kernel-name-base function --kernel-name \
             regex:^(reduce_neighbored|reduce_neighbored_less|reduce_interleaved)$ --metrics {LOADS},{INSTRUCTIONS} \
             ladder run reduce_neighbored reduce_neighbored_less reduce_interleaved --n=2^20 \
             --block=512 --no-time --one-process --device gpu"
        )
    );
}

#[test]
fn a_missing_verdict_metric_is_left_out_and_a_missing_requested_metric_is_an_error() {
    let unknown = |name| format!("==ERROR== Failed to find metric regex:^{name}\n");
    let runner = Recorded::new([(1, unknown(r"lts__throughput\.avg$"), ""), (0, RAW.to_owned(), "")]);
    let optional = ["lts__throughput.avg", INSTRUCTIONS];
    assert_eq!(profile(&runner, &[LOADS], &optional).unwrap().len(), 3);
    let requests = runner.requests.borrow();
    assert!(requests[0].contains(&format!("{LOADS},lts__throughput.avg,{INSTRUCTIONS}")));
    assert!(requests[1].contains(&format!("{LOADS},{INSTRUCTIONS}")));

    for said in [r"sm__no_such_thing\.sum$", r"sm__no_such_thing\.(sum|avg)$"] {
        let runner = Recorded::new([(1, unknown(said), "")]);
        let error = profile(&runner, &[LOADS, "sm__no_such_thing.sum"], &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Test GPU has no metric sm__no_such_thing.sum; `ncu --query-metrics` lists its metrics"
        );
    }
}

#[test]
fn a_misspelled_metric_gets_a_suggestion() {
    let misspelt = "l1tex__t_requests_pipe_lsu_mem_global_op_l.sum";
    let said = format!("==ERROR== Failed to find metric regex:^{misspelt}\n");
    let error = profile(&Recorded::new([(1, said, "")]), &[misspelt], &[]).unwrap_err();
    let near = format!("did you mean `{LOADS}`? `ncu");
    assert!(error.to_string().contains(&near), "{error}");
}

#[test]
fn a_missing_value_is_not_zero() {
    let with = |value: &str| Recorded::table(RAW.replace("\"391,168\"", value));
    let error = profile(&with("\"n/a\""), &[LOADS], &[]).unwrap_err();
    assert_eq!(error.to_string(), format!("Test GPU has no metric {LOADS}; `ncu --query-metrics` lists its metrics"));
    let numbers = profile(&with("\"n/a\""), &[INSTRUCTIONS], &[LOADS]).unwrap();
    assert_eq!(numbers[0].get(LOADS), None);
    assert_eq!(numbers[1].get(LOADS), Some(&83_968.0));
    for quotient in ["\"nan\"", "\"inf\""] {
        let numbers = profile(&with(quotient), &[LOADS], &[]).unwrap();
        assert_eq!(numbers[0].get(LOADS), None);
    }
    // A requested metric that has no column.
    let error = profile(&Recorded::table(RAW), &["sm__x.sum"], &[]);
    assert!(matches!(error, Err(Error::NotOnChip { .. })), "{error:?}");
}

#[test]
fn errors_say_what_to_do() {
    let refused = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance \
                   Counters on the target device 0.";
    for (answer, parts) in [
        ((1, refused.to_owned(), ""), &["NVreg_RestrictProfilingToAdminUsers=0", "--device sim"][..]),
        ((0, String::new(), refused), &["run as root, or have the machine's owner"]),
        (
            (
                2,
                "==PROF== Connected\n==ERROR== The application returned an error code (2).\n".to_owned(),
                "error: no room\n",
            ),
            &["ncu 2025.3.1.0 (build 1) (public-release) failed with exit code 2: error: no room | ==ERROR== The"],
        ),
        (
            (0, "==WARNING== No kernels were profiled.\n".to_owned(), ""),
            &[
                "cannot read the output of ncu 2025.3.1.0 (build 1) (public-release): there is no table in it; note: it starts with: \
                 ==WARNING== No kernels were profiled.",
            ],
        ),
    ] {
        let runner = Recorded::new([answer]);
        let text = profile(&runner, &[LOADS], &[]).unwrap_err().to_string();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\n'), "{text}");
    }
    let error = profile(&Recorded::default(), &[LOADS], &[]).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("cannot start ncu: "), "{error}");
}

#[test]
fn output_in_an_unknown_format_is_shown() {
    let mut lines = RAW.lines();
    let header = lines.position(|line| line.starts_with("\"ID\"")).unwrap();
    let cut = |from: usize, to: usize| {
        let lines: Vec<&str> = RAW.lines().collect();
        [&lines[..from], &lines[to..]].concat().join("\n")
    };
    for (text, why) in [
        (cut(header + 1, header + 2), "there is no row of units below"),
        (cut(header + 1, RAW.lines().count()), "no row below the header"),
        (RAW.replace("391,168", "many"), "`many` of l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum is not a number"),
        (RAW.replace("__", "::"), "no column of a metric"),
        (RAW.replace("\"inst/warp\"", "\"€\""), "the unit `€` of"),
        (RAW.replace("\"reduce_neighbored\",\"1\"", "\"other\",\"1\""), "0 launches of reduce_neighbored, not one"),
        (
            RAW.replace("\"reduce_neighbored_less\",\"1\"", "\"reduce_neighbored\",\"1\""),
            "2 launches of reduce_neighbored, not one",
        ),
        (RAW.replace("\"0\",\"595\"", "\"0\",\"1\",\"595\""), "its table is not CSV"),
    ] {
        let error = profile(&Recorded::table(text), &[LOADS, INSTRUCTIONS], &[]).unwrap_err();
        assert!(matches!(error, Error::Form { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(why), "{why}: {text}");
        assert!(text.contains("it starts with: ==WARNING== Note: "), "{text}");
    }
}

#[test]
fn words_in_columns_that_were_not_requested_are_skipped() {
    const MODE: &str = "device__attribute_confidential_computing_mode";
    let runner = || Recorded::table(RAW);
    let numbers = profile(&runner(), &[LOADS, "launch__block_size"], &[]).unwrap();
    assert_eq!(numbers[0].get("launch__block_size"), Some(&512.0));
    assert_eq!(numbers[0].get(INSTRUCTIONS), None);
    let error = profile(&runner(), &[MODE], &[]).unwrap_err().to_string();
    let why = format!("`No-CC` of {MODE} is not a number");
    assert!(error.contains(&why), "{error}");
}

#[test]
fn a_number_of_another_locale_is_refused() {
    for value in ["48,97", "1.234,5", "1,2345", ",5", "1.000.000"] {
        let text = RAW.replace("391,168", value);
        let error = read(&text, |name| name == LOADS).unwrap_err();
        assert!(error.contains(&format!("`{value}` of")), "{error}");
    }
}

#[test]
fn units_become_base_units() {
    let text = |unit: &str, value: &str| {
        format!("\"ID\",\"Kernel Name\",\"dram__x.sum\"\n\"\",\"\",\"{unit}\"\n\"0\",\"k(int *, int)\",\"{value}\"\n")
    };
    for (unit, value, expected) in [
        ("byte/second", "2,600,000,000,000", 2.6e12),
        ("Gbyte/s", "1.5", 1.5e9),
        ("byte/ns", "3", 3e9),
        ("usecond", "12.5", 12_500.0),
        ("us", "12.5", 12_500.0),
        ("nsecond", "7", 7.0),
        ("", "1e3", 1000.0),
        ("%", "25", 25.0),
    ] {
        let one = &read(&text(unit, value), |_| true).unwrap()[0];
        assert_eq!(one.kernel, "k");
        assert_eq!(one.numbers.get("dram__x.sum"), Some(&expected), "{unit}");
    }
}

#[test]
fn a_report_of_launches_is_read_like_a_table_of_ncu() {
    let ptx = include_str!("../../../../../simt/profile/tests/strided.ptx");
    let strided = simt::Module::from_ptx(ptx).unwrap().function("strided").unwrap();
    let mut simulator = simt::Simulator::new(simt::Config::default()).unwrap();
    let args = [simulator.zeroed::<f32>(32 << 10).unwrap().into(), simulator.zeroed::<f32>(1 << 10).unwrap().into()];
    let path = tempfile::tempdir().unwrap().path().with_extension("csv");
    let device = devices::Description::open("h100").unwrap();
    let report = report::Report::new(&path, "a, \"b\"".to_owned(), device, 0, |_, _| None).unwrap();
    for grid in [4, 2] {
        let launch = simt::Launch::new(&strided, [grid, 1, 1], [256, 1, 1], &args);
        report.launch(&mut simulator, &launch, simt_check::Checks::NONE).result.unwrap();
    }
    report.finish().unwrap().unwrap();
    let launches = read(&std::fs::read_to_string(&path).unwrap(), |_| true).unwrap();
    std::fs::remove_file(&path).unwrap();
    let loads: Vec<_> = launches.iter().map(|launch| (&*launch.kernel, launch.numbers[LOADS])).collect();
    assert_eq!(loads, [("strided", 32.0), ("strided", 16.0)]);
    assert!(launches[0].numbers["gpu__time_duration.sum"] > 0.0);
}
