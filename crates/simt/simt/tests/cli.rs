//! Tests what the `simt` program prints, and how it reports mistakes.

use std::ffi::OsString;

mod arguments;
mod launches;
mod mistakes;
mod numbers;
#[path = "../../cli/src/spec.rs"]
mod spec;
#[allow(dead_code, reason = "the tests of the program cover the code that prints buffers")]
#[path = "../../cli/src/values.rs"]
mod values;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/cli/small.ptx");
const VARIABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/cli/variables.ptx");

struct Outcome {
    code: u8,
    out: String,
    err: String,
}

fn simt(args: &[&str]) -> Outcome {
    let (mut out, mut err) = (anstream::StripStream::new(Vec::new()), anstream::StripStream::new(Vec::new()));
    let args = ["simt"].iter().chain(args).map(OsString::from);
    let code = simt_cli::main(args, &mut out, &mut err);
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(FILE, "small.ptx").replace(VARIABLES, "variables.ptx")
    };
    Outcome { code, out: text(out.into_inner()), err: text(err.into_inner()) }
}

/// Runs `simt run FILE …` with the words of a line. Words that contain spaces are in single quotes.
fn run_file(file: &str, line: &str) -> Outcome {
    let mut args = vec!["run", file];
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            0 => args.extend(part.split_whitespace()),
            _ => args.push(part),
        }
    }
    simt(&args)
}

/// Runs `simt run small.ptx --entry …`.
fn run(line: &str) -> Outcome {
    run_file(FILE, line)
}

const SCALE: &str = "--entry scale --grid 2 --block 64 --arg f32[100]=iota f32[100] f32:0.5 u32:100";

#[test]
fn a_kernel_runs_and_its_buffers_are_printed() {
    let outcome = run(&format!("{SCALE} --print 1:5 0:2"));
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert_eq!(outcome.out, "argument 1, f32[100]: 0.0 0.5 1.0 1.5 2.0\nargument 0, f32[100]: 0.0 1.0\n");
    assert!(outcome.err.starts_with("scale ran in "), "{}", outcome.err);
}

#[test]
fn counters() {
    let outcome = run(&format!("{SCALE} --count"));
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    insta::assert_snapshot!(outcome.out);
}

#[test]
fn json() {
    let outcome = run(&format!("{SCALE} --json --print 1:3"));
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let value: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let keys = value.as_object().unwrap().keys();
    assert!(keys.eq(["buffers", "counters", "entry", "seconds"]));
    assert_eq!(value["entry"], "scale");
    assert_eq!(value["buffers"], serde_json::json!({"1": [0.0, 0.5, 1.0]}));
    assert!(value["seconds"].as_f64().unwrap() > 0.0);
    let counters = &value["counters"];
    assert_eq!(counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"], 4);
    assert_eq!(counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], 13);
    assert_eq!(counters["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"], 3.25);
    // Shared memory was not used, so the ratio has no denominator and there are no conflicts.
    assert_eq!(counters["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"], 0);
    assert_eq!(counters.as_object().unwrap().len(), simt::counters::METRICS.len());
}

#[test]
fn a_ratio_of_nothing_is_null() {
    let outcome = run("--entry shared --grid 1 --block 32,2 --json");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let value: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let ratio = &value["counters"]["smsp__sass_average_branch_targets_threads_uniform.pct"];
    assert!(ratio.is_null());
    assert_eq!(value["buffers"], serde_json::json!({}));
}

#[test]
fn buffers_are_read_from_files_and_saved_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.bin"), folder.path().join("out.bin"));
    let bytes: Vec<u8> = (0..64).flat_map(|i| (i as f32).to_le_bytes()).collect();
    std::fs::write(&input, &bytes).unwrap();
    let line = format!(
        "--entry scale --grid 1 --block 64 --arg f32[64]=file:{} f32[64]=uninit f32:2 u32:63 --save 1={} --print 1",
        input.display(),
        output.display()
    );
    let outcome = run(&line);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let saved = std::fs::read(&output).unwrap();
    assert_eq!(saved.len(), 256);
    assert_eq!(saved[62 * 4..63 * 4], 124f32.to_le_bytes());
    assert_eq!(saved[63 * 4..], [0xa5; 4]);
    let words: Vec<&str> = outcome.out.split_whitespace().collect();
    assert_eq!(words.len(), 3 + 64);

    let wrong = run(&line.replace("f32[64]=file", "f32[63]=file"));
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("in.bin has 256 bytes, f32[63] has 252\nhelp: f32[64] would hold the whole file"),
        "{}",
        wrong.err
    );
}

#[test]
fn a_fault_lists_inlined_functions() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/faults/inlined.ptx");
    let mut args = vec!["run", file];
    args.extend("--entry _Z7inlinedPi --grid 1 --block 32 --arg i32[8]".split(' '));
    let outcome = simt(&args);
    assert_eq!(outcome.code, 1);
    assert_eq!(outcome.err.matches("/src/inlined.cu:").count(), 4, "{}", outcome.err);
    assert!(
        outcome.err.contains("inlined at /home/me/project/src/inlined.cu:20 in `app::fill(int*, int)`"),
        "{}",
        outcome.err
    );
}

#[test]
fn a_fault_is_reported_with_its_place_and_keeps_earlier_writes() {
    let outcome = run("--entry fill --grid 1 --block 64 --arg u32[32] --print 0:4");
    assert_eq!(outcome.code, 1);
    for part in [
        "error[memory]: out of bounds write of 4 bytes\n",
        "0 bytes past the end of argument 0's buffer of 128 bytes",
        "in kernel `fill`, thread 32 of block 0",
        "st.global.u32 [%rd3], %r1;",
        "the source is small.rs:42, which cannot be read here",
    ] {
        assert!(outcome.err.contains(part), "{part}: {}", outcome.err);
    }
    assert_eq!(outcome.out, "argument 0, u32[32]: 0 1 2 3\n");

    for (most, words) in [
        ("10000", "more than 10000 instructions executed"),
        ("10000000", "deadlock: warp 0 repeats itself and reads no new value"),
    ] {
        let endless = run(&format!("--entry forever --grid 1 --block 32 --max-instructions {most}"));
        assert_eq!(endless.code, 1);
        assert!(endless.err.contains(words), "{}", endless.err);
    }
    assert_eq!(run("--entry forever --grid 1 --block 32 --max-instructions 1000 --json").out, "");
}

#[test]
fn check_lists_kernels_and_what_cannot_be_run() {
    let outcome = simt(&["check", FILE]);
    assert_eq!((outcome.code, outcome.err.as_str()), (2, ""));
    insta::assert_snapshot!(outcome.out);
}

#[test]
fn names_are_shown_as_the_source_has_them() {
    let outcome = simt(&["check", VARIABLES]);
    assert_eq!(outcome.code, 0);
    insta::assert_snapshot!(outcome.out);
}

/// The commands of the program `simt` in docs/commands.md run on files of the repository.
#[test]
fn the_documented_commands_run() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../..");
    let commands = std::fs::read_to_string(format!("{root}/docs/commands.md")).unwrap();
    let text = commands.replace("\\\n", " ");
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("$ cargo run --bin simt -- ")).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let args: Vec<String> = command
            .split_whitespace()
            .map(|word| match word.ends_with(".ptx") {
                true => format!("{root}/{word}"),
                false => word.to_owned(),
            })
            .collect();
        let outcome = simt(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.err);
        assert!(!outcome.out.is_empty(), "{command}");
    }
}

#[test]
fn orders_and_time_limits() {
    for order in ["fixed", "round-robin", "random:7"] {
        let outcome = run(&format!(
            "--entry fill --grid 1 --block 32 --arg u32[32] --print 0:3 --schedule {order} --time-limit 60"
        ));
        assert_eq!((outcome.code, &outcome.out[..]), (0, "argument 0, u32[32]: 0 1 2\n"), "{}", outcome.err);
    }
}

#[test]
fn output_of_printf_is_shown() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/runtime.ptx");
    let line = "--entry printed --grid 1 --block 7 --cooperative --arg u32[64] u32[64] --print 0:7";
    let outcome = run_file(file, line);
    // The lanes of the warp print together, in the order of their numbers.
    let lines = "no argument\nno argument\n1 of 64:  1.56%\n5 of 64:  7.81%\naz 4     |-00002|    2|abc\nbz 40    |-00006|    6|abc\n";
    let rest = "argument 0, u32[64]: 0 3 7 7 0 3 7\n";
    assert_eq!((outcome.code, outcome.out), (0, format!("{lines}{rest}")));
    let outcome = run_file(file, &format!("{line} --json"));
    assert!(outcome.out.starts_with('{'), "{}", outcome.out);
    assert!(outcome.err.starts_with(lines), "{}", outcome.err);
}
