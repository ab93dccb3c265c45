//! The `simt` program: what it prints, and how it answers mistakes.

use std::ffi::OsString;
use std::process::Command;

use proptest::prelude::*;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cli/small.ptx");
const VARIABLES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/cli/variables.ptx"
);

struct Ended {
    code: u8,
    out: String,
    err: String,
}

fn simt(args: &[&str]) -> Ended {
    let (mut out, mut err) = (
        anstream::StripStream::new(Vec::new()),
        anstream::StripStream::new(Vec::new()),
    );
    let args = ["simt"].iter().chain(args).map(OsString::from);
    let code = simt::cli::main(args, &mut out, &mut err);
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(FILE, "small.ptx")
            .replace(VARIABLES, "variables.ptx")
    };
    Ended {
        code,
        out: text(out.into_inner()),
        err: text(err.into_inner()),
    }
}

/// `simt run small.ptx --entry …` with the words of a line.
fn run(line: &str) -> Ended {
    let mut args = vec!["run", FILE];
    args.extend(line.split_whitespace());
    simt(&args)
}

const SCALE: &str =
    "--entry scale --grid 2 --block 64 --arg f32[100]=iota f32[100] f32:0.5 u32:100";

#[test]
fn a_kernel_runs_and_its_buffers_are_printed() {
    let ended = run(&format!("{SCALE} --print 1:5 0:2"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(
        ended.out,
        "argument 1, f32[100]: 0.0 0.5 1.0 1.5 2.0\nargument 0, f32[100]: 0.0 1.0\n"
    );
    assert!(ended.err.starts_with("scale ran in "), "{}", ended.err);
}

#[test]
fn counters() {
    let ended = run(&format!("{SCALE} --count"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    insta::assert_snapshot!(ended.out);
}

#[test]
fn json() {
    let ended = run(&format!("{SCALE} --json --print 1:3"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let value: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["buffers", "counters", "entry", "seconds"]);
    assert_eq!(value["entry"], "scale");
    assert_eq!(value["buffers"], serde_json::json!({"1": [0.0, 0.5, 1.0]}));
    assert!(value["seconds"].as_f64().unwrap() > 0.0);
    let counters = &value["counters"];
    assert_eq!(
        counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
        4
    );
    assert_eq!(
        counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"],
        13
    );
    assert_eq!(
        counters["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"],
        3.25
    );
    // Shared memory was not used: there is nothing to divide by, and no conflict.
    assert_eq!(
        counters["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"],
        0
    );
    assert_eq!(
        counters.as_object().unwrap().len(),
        simt::counters::METRICS.len()
    );
}

#[test]
fn a_ratio_of_nothing_is_null() {
    let ended = run("--entry shared --grid 1 --block 32,2 --json");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let value: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
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
    let ended = run(&line);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let saved = std::fs::read(&output).unwrap();
    assert_eq!(saved.len(), 256);
    assert_eq!(saved[62 * 4..63 * 4], 124f32.to_le_bytes());
    assert_eq!(saved[63 * 4..], [0xa5; 4]);
    let words: Vec<&str> = ended.out.split_whitespace().collect();
    assert_eq!(words.len(), 3 + 64);

    let wrong = run(&line.replace("f32[64]=file", "f32[63]=file"));
    assert_eq!(wrong.code, 2);
    assert!(
        wrong
            .err
            .contains("in.bin has 256 bytes, f32[63] has 252; f32[64] would take the whole file"),
        "{}",
        wrong.err
    );
}

#[test]
fn below_a_fault_stand_the_functions_that_were_inlined() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/faults/inlined.ptx"
    );
    let mut args = vec!["run", file];
    args.extend("--entry _Z7inlinedPi --grid 1 --block 32 --arg i32[8]".split(' '));
    let ended = simt(&args);
    assert_eq!(ended.code, 1);
    let lines: Vec<_> = ended.err.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ended.err);
    assert!(lines[0].starts_with("error: ") && lines[0].ends_with("/src/inlined.cu:9]"));
    assert!(lines[1..].iter().all(|line| line.starts_with("  ")));
}

#[test]
fn a_fault_is_told_with_its_place_and_what_was_written_before_is_kept() {
    let ended = run("--entry fill --grid 1 --block 64 --arg u32[32] --print 0:4");
    assert_eq!(ended.code, 1);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    for part in [
        "error: out of bounds write of 4 bytes at",
        "0 bytes past the end of argument 0's buffer of 128 bytes",
        "kernel `fill`, block (0, 0, 0), thread (32, 0, 0)",
        "st.global.u32 [%rd3], %r1;",
        "[small.rs:42]",
    ] {
        assert!(ended.err.contains(part), "{part}: {}", ended.err);
    }
    assert_eq!(ended.out, "argument 0, u32[32]: 0 1 2 3\n");

    for (most, words) in [
        ("10000", "more than 10000 instructions executed"),
        (
            "10000000",
            "deadlock: warp 0 repeats itself and reads no new value",
        ),
    ] {
        let endless = run(&format!(
            "--entry forever --grid 1 --block 32 --max-instructions {most}"
        ));
        assert_eq!(endless.code, 1);
        assert!(endless.err.contains(words), "{}", endless.err);
    }
    assert_eq!(
        run("--entry forever --grid 1 --block 32 --max-instructions 1000 --json").out,
        ""
    );
}

#[test]
fn check_lists_kernels_and_what_cannot_be_run() {
    let ended = simt(&["check", FILE]);
    assert_eq!((ended.code, ended.err.as_str()), (2, ""));
    insta::assert_snapshot!(ended.out);
}

#[test]
fn bad_input_is_one_line_with_a_hint_and_exit_code_2() {
    let cases = [
        (
            "--entry scale --grid 1 --block 64",
            "0 arguments for 4 parameters",
        ),
        (
            "--entry scales --grid 1 --block 64",
            "there is no kernel `scales`; there are scale, fill",
        ),
        (
            "--entry tensor --grid 1 --block 64",
            "instruction `wgmma.fence.sync.aligned` is not supported",
        ),
        (
            "--entry forever --grid 0 --block 64",
            "a grid of (0, 1, 1) has no blocks",
        ),
        (
            "--entry forever --grid 1 --block 0",
            "a block of (0, 1, 1) has no threads",
        ),
        ("--entry forever --grid 1 --block 2048", "at most 1024 fit"),
        (
            "--entry forever --grid 1,2,3,4 --block 1",
            "three dimensions at most",
        ),
        ("--entry forever --grid x --block 1", "`x` is not a number"),
        (
            "--entry forever --grid 1 --block 1 --shared 9999999",
            "bytes of shared memory a block",
        ),
        (
            "--entry forever --grid 1 --block 1 --threads 0",
            "0 is not in 1..=1024",
        ),
        (
            "--entry forever --grid 1 --block 1 --print 0",
            "--print 0: there are 0 arguments",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg u64:0 --save 0=x",
            "argument 0 is a scalar",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg u64:0 --save x",
            "write an argument's index and a file",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg u32:0",
            "argument 0 has 4 bytes, parameter `p` has 8 (.u64)",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg i32[x]",
            "`x` is not a number of elements",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg i32[4]=file:no/such",
            "argument 0: cannot read no/such",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg u64[4611686018427387904]",
            "is more than any memory",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg u8[1099511627776]",
            "make them smaller",
        ),
        (
            "--entry fill --grid 1 --block 1 --arg u32[4] --save 0=no/such/folder/x",
            "cannot write no/such/folder/x",
        ),
        (
            "--entry shared --grid 1 --block 64",
            "compiled for blocks of (32, 2, 1)",
        ),
        (
            "--grid 1 --block 64",
            "required arguments were not provided: --entry <NAME>",
        ),
        (
            "--entry scale --grid 1 --blok 64",
            "a similar argument exists",
        ),
    ];
    for (line, expected) in cases {
        let ended = run(line);
        assert_eq!(ended.code, 2, "{line}: {}", ended.err);
        assert_eq!(ended.err.lines().count(), 1, "{line}: {}", ended.err);
        assert!(ended.err.starts_with("error: "), "{line}: {}", ended.err);
        assert!(ended.err.contains(expected), "{line}: {}", ended.err);
        assert_eq!(ended.out, "", "{line}");
    }
}

#[test]
fn files_that_are_no_ptx_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ptx");
    let check = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let ended = simt(&["check", path.to_str().unwrap()]);
        assert_eq!(ended.code, 2);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
        ended.err
    };
    let broken = check(b".version 8.0\n.target sm_80\n.address_size 64\n.entry k( {\n");
    assert!(broken.contains("x.ptx:4:"), "{broken}");
    assert!(broken.contains(".entry k( {"), "{broken}");
    assert!(check(b"\x7fELF\x02\x01\xff").contains("this is an ELF file"));
    assert!(check(b"ok\xff").contains("byte 2 is not UTF-8"));
    let narrow = check(b".version 8.0\n.target sm_80\n.address_size 32\n");
    assert!(narrow.contains("only .address_size 64"), "{narrow}");
    let missing = simt(&["check", "no/such.ptx"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains("cannot read no/such.ptx"),
        "{}",
        missing.err
    );
}

#[test]
fn the_process_ends_with_the_code() {
    let program = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_simt"))
            .args(args)
            .output()
            .unwrap()
    };
    let fault = program(&[
        "run", FILE, "--entry", "fill", "--grid", "1", "--block", "2", "--arg", "u32[1]",
    ]);
    assert_eq!(fault.status.code(), Some(1));
    assert!(fault.stdout.is_empty());
    let help = program(&["run", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("SplitMix64")
    );
    assert_eq!(program(&[]).status.code(), Some(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any arguments are answered: with a run, or one line.
    #[test]
    fn any_arguments_are_answered(
        spec in "([iuf](8|16|32|64))?(\\[[0-9]{0,3}\\]|:)?(=)?(iota|rand:|uninit|file:)?[-a-z0-9.é]{0,6}",
        print in "[0-9:x-]{0,4}",
        grid in "[0-9,x]{0,4}",
    ) {
        let ended = simt(&[
            "run", FILE, "--entry", "fill", "--grid", &grid, "--block", "32", "--arg", &spec, "--print", &print,
            "--max-instructions", "10000",
        ]);
        prop_assert!(ended.code <= 2);
        if ended.code > 0 {
            prop_assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
        }
    }
}

/// The README's commands of the program `simt` do what it says, on files that are there.
#[test]
fn the_commands_of_the_readme_run() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    let text = readme.replace("\\\n", " ");
    let commands: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("$ cargo run --release --bin simt -- "))
        .collect();
    assert!(!commands.is_empty());
    for command in commands {
        let args: Vec<String> = command
            .split_whitespace()
            .map(|word| match word.ends_with(".ptx") {
                true => format!("{root}/{word}"),
                false => word.to_owned(),
            })
            .collect();
        let ended = simt(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ended.code, 0, "{command}: {}", ended.err);
        assert!(!ended.out.is_empty(), "{command}");
    }
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    if !std::path::Path::new("/dev/zero").exists() {
        return;
    }
    let ended = run("--entry fill --grid 1 --block 32 --arg u32[32]=file:/dev/zero");
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .err
            .contains("/dev/zero has more bytes than the 128 of u32[32]"),
        "{}",
        ended.err
    );
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut err = Vec::new();
    let words = ["simt".into(), "--help".into()];
    assert_eq!(simt::cli::main(words, &mut Full, &mut err), 2);
    assert!(
        String::from_utf8(err)
            .unwrap()
            .contains("cannot write the output")
    );
}

#[test]
fn orders_and_time_limits() {
    for order in ["fixed", "round-robin", "random:7"] {
        let ended = run(&format!(
            "--entry fill --grid 1 --block 32 --arg u32[32] --print 0:3 --schedule {order} --time-limit 60"
        ));
        assert_eq!(
            (ended.code, &ended.out[..]),
            (0, "argument 0, u32[32]: 0 1 2\n"),
            "{}",
            ended.err
        );
    }
    let bad = run("--entry fill --grid 1 --block 32 --arg u32[32] --schedule randm");
    assert!(
        bad.err.contains("write fixed, round-robin or random:SEED"),
        "{}",
        bad.err
    );
    let bad = run("--entry fill --grid 1 --block 32 --arg u32[32] --time-limit -1");
    assert_eq!(bad.code, 2);
}

/// `simt run variables.ptx …` with these words.
fn run_variables(words: &[&str]) -> Ended {
    simt(&[&["run", VARIABLES], words].concat())
}

const DOUBLE_AND_FILL: [&str; 13] = [
    "--symbol",
    "math::factor=f32[2]=iota",
    "factor=bytes:0000004000000000",
    "--arg",
    "f32[4]=iota",
    "bytes:0a00000002000000",
    "u32[4]",
    "--print",
    "0",
    "2",
    "--launch",
    "scale(float*) grid=1 block=4 args=0",
    "fill(Range, unsigned int*) grid=1,1 block=4 args=1,2",
];

#[test]
fn kernels_run_one_after_the_other_over_the_same_memory() {
    let ended = run_variables(&DOUBLE_AND_FILL);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let buffers = "argument 0, f32[4]: 0.0 2.0 4.0 6.0\nargument 2, u32[4]: 4 12 14 16\n";
    assert_eq!(ended.out, buffers);
    let names = ended.err.lines().map(|line| line.split(" ran in ").next());
    assert!(names.eq([Some("scale(float*)"), Some("fill(Range, unsigned int*)")]));
}

#[test]
fn each_of_several_launches_has_counters() {
    let ended = run_variables(&[&DOUBLE_AND_FILL[..], &["--json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let entries = value["launches"].as_array().unwrap().iter();
    assert!(
        entries
            .map(|own| &own["entry"])
            .eq(["_Z5scalePf", "_Z4fill5RangePj"])
    );
    let instructions = &value["launches"][1]["counters"]["ptx_inst_executed.sum"];
    assert_eq!(instructions, 11);
    assert_eq!(value["buffers"]["2"], serde_json::json!([4, 12, 14, 16]));

    let ended = run_variables(&[&DOUBLE_AND_FILL[..], &["--count"]].concat());
    let heads: Vec<&str> = ended
        .out
        .lines()
        .filter(|line| line.ends_with(':'))
        .collect();
    assert_eq!(heads, ["scale(float*):", "fill(Range, unsigned int*):"]);
}

#[test]
fn a_fault_ends_the_launches_and_names_the_variable() {
    let launches = [
        "scale grid=1 block=4",
        "beyond<float> grid=1 block=1 args=",
        "scale grid=1 block=4",
    ];
    let ended = run_variables(
        &[
            &["--arg", "f32[4]=iota", "--print", "0", "--launch"],
            &launches[..],
        ]
        .concat(),
    );
    assert_eq!(ended.code, 1);
    assert_eq!(ended.err.matches(" ran in ").count(), 1, "{}", ended.err);
    let fault = "0 bytes past the end of variable `calls` of 4 bytes, in kernel `beyond<float>()`";
    assert!(ended.err.contains(fault), "{}", ended.err);
    assert_eq!(ended.out, "argument 0, f32[4]: 0.0 1.0 2.0 3.0\n");
}

#[test]
fn names_are_shown_as_the_source_has_them() {
    let ended = simt(&["check", VARIABLES]);
    assert_eq!(ended.code, 0);
    insta::assert_snapshot!(ended.out);
}

#[test]
fn bad_launches_and_symbols_are_one_line_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let empty = format!("bytes:file:{}", empty.display());
    let alone = ["--entry", "scale", "--grid", "1", "--block", "1"];
    for (words, expected) in [
        (
            &["--launch", "scale grid=1"][..],
            "block= is missing; write it as",
        ),
        (
            &["--launch", "grid=1 block=1"],
            "the kernel's name is missing",
        ),
        (
            &["--launch", "scale grid=1 blok=1"],
            "a launch has no `blok`",
        ),
        (
            &["--launch", "scale grid=1 grid=1 block=1"],
            "`grid` stands twice",
        ),
        (
            &["--launch", "scale grid=1 block=1 shared=x"],
            "`x` is not a number",
        ),
        (
            &["--launch", "scale grid=1 block=1 args=0,x"],
            "`x` is not a number",
        ),
        (
            &["--launch", "scale grid=1 block=1 args=3"],
            "--launch scale: there is no argument 3, but 0, from 0 on",
        ),
        (
            &["--launch", "scale grid=1 block=1", "--grid", "1"],
            "cannot be used with",
        ),
        (
            &["--launch", "scal grid=1 block=1"],
            "there are scale(float*), fill(Range, unsigned int*), beyond<float>()",
        ),
        (
            &["--symbol", "factor"],
            "as factor=f32:2 or table=i32[16]=iota",
        ),
        (
            &["--symbol", "factro=f32:2"],
            "there is no variable `factro`; the nearest name is `math::factor`",
        ),
        (
            &["--symbol", "factor=f32:2"],
            "--symbol factor: the variable has 8 bytes, and the value 4",
        ),
        (
            &["--symbol", "factor=f32[2]=file:no/such"],
            "--symbol factor: cannot read no/such",
        ),
        (
            &["--arg", "bytes:0"],
            "write two hexadecimal digits for each",
        ),
        (
            &["--arg", "bytes:+1"],
            "write two hexadecimal digits for each",
        ),
        (
            &["--arg", "bytes:"],
            "write two hexadecimal digits for each",
        ),
        (&["--arg", "bytes:file:no/such"], "cannot read no/such"),
        (&["--arg", &empty], "is empty"),
        (
            &["--arg", "bytes:00"],
            "kernel `scale(float*)`: argument 0 has 1 bytes",
        ),
    ] {
        let entry = if words[0] == "--launch" {
            &[][..]
        } else {
            &alone
        };
        let ended = run_variables(&[entry, words].concat());
        assert_eq!(ended.code, 2, "{words:?}: {}", ended.err);
        assert_eq!(ended.err.lines().count(), 1, "{words:?}: {}", ended.err);
        assert!(ended.err.contains(expected), "{words:?}: {}", ended.err);
    }
    let file = folder.path().join("factor");
    std::fs::write(&file, [0; 8]).unwrap();
    let symbol = format!("factor=bytes:file:{}", file.display());
    let ended = run_variables(&[&alone[..], &["--arg", "f32[1]", "--symbol", &symbol]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
}
