//! Mistakes of the user are told in one line, with a hint, and end the program with code 2.

use proptest::prelude::*;

use super::{Ended, FILE, VARIABLES, run, run_file, simt};

/// Checks that the program ended with one line of error, which has these words.
#[track_caller]
fn assert_mistake(ended: &Ended, words: &str, of: &str) {
    assert_eq!(ended.code, 2, "{of}: {}", ended.err);
    assert_eq!(ended.err.lines().count(), 1, "{of}: {}", ended.err);
    assert!(ended.err.starts_with("error: "), "{of}: {}", ended.err);
    assert!(ended.err.contains(words), "{of}: {}", ended.err);
    assert_eq!(ended.out, "", "{of}");
}

/// Rows: arguments behind `simt run small.ptx`, and words of the error.
const ARGUMENTS: &str = "
--entry scale --grid 1 --block 64 => 0 arguments for 4 parameters
--entry scales --grid 1 --block 64 => there is no kernel `scales`; there are scale, fill
--entry tensor --grid 1 --block 64 => instruction `tcgen05.wait::ld.sync.aligned`, of sm_100 and later, is not supported
--entry forever --grid 0 --block 64 => a grid of (0, 1, 1) has no blocks
--entry forever --grid 1 --block 0 => a block of (0, 1, 1) has no threads
--entry forever --grid 1 --block 2048 => at most 1024 fit
--entry forever --grid 1,2,3,4 --block 1 => three dimensions at most
--entry forever --grid x --block 1 => `x` is not a number
--entry forever --grid 1 --block 1 --shared 9999999 => bytes of shared memory a block
--entry forever --grid 1 --block 1 --threads 0 => 0 is not in 1..=1024
--entry forever --grid 1 --block 1 --print 0 => --print 0: there are 0 arguments
--entry fill --grid 1 --block 1 --arg u64:0 --save 0=x => argument 0 is a scalar
--entry fill --grid 1 --block 1 --arg u64:0 --save x => write an argument's index and a file
--entry fill --grid 1 --block 1 --arg u32:0 => argument 0 has 4 bytes, parameter `p` has 8 (.u64)
--entry fill --grid 1 --block 1 --arg i32[x] => `x` is not a number of elements
--entry fill --grid 1 --block 1 --arg i32[4]=file:no/such => argument 0: cannot read no/such
--entry fill --grid 1 --block 1 --arg u64[4611686018427387904] => is more than any memory
--entry fill --grid 1 --block 1 --arg u8[1099511627776] => make them smaller
--entry fill --grid 1 --block 1 --arg u32[4] --save 0=no/such/folder/x => cannot write no/such/folder/x
--entry shared --grid 1 --block 64 => compiled for blocks of (32, 2, 1)
--grid 1 --block 64 => required arguments were not provided: --entry <NAME>
--entry scale --grid 1 --blok 64 => a similar argument exists
--entry fill --grid 1 --block 32 --arg u32[32] --schedule randm => write fixed, round-robin or random:SEED
--entry fill --grid 1 --block 32 --arg u32[32] --time-limit -1 => unexpected argument
";

/// The same behind `simt run variables.ptx`; without `--launch`, a kernel is chosen besides.
const LAUNCHES_AND_SYMBOLS: &str = "
--launch 'scale grid=1' => block= is missing; write it as
--launch 'grid=1 block=1' => the kernel's name is missing
--launch 'scale grid=1 blok=1' => a launch has no `blok`
--launch 'scale grid=1 grid=1 block=1' => `grid` stands twice
--launch 'scale grid=1 block=1 shared=x' => `x` is not a number
--launch 'scale grid=1 block=1 args=0,x' => `x` is not a number
--launch 'scale grid=1 block=1 args=3' => --launch scale: there is no argument 3, but 0, from 0 on
--launch 'scale grid=1 block=1' --grid 1 => cannot be used with
--launch 'scal grid=1 block=1' => there are scale(float*), fill(Range, unsigned int*), beyond<float>()
--symbol factor => as factor=f32:2 or table=i32[16]=iota
--symbol factro=f32:2 => there is no variable `factro`; the nearest name is `math::factor`
--symbol factor=f32:2 => --symbol factor: the variable has 8 bytes, and the value 4
--symbol factor=f32[2]=file:no/such => --symbol factor: cannot read no/such
--arg bytes:0 => write two hexadecimal digits for each
--arg bytes:+1 => write two hexadecimal digits for each
--arg bytes: => write two hexadecimal digits for each
--arg bytes:file:no/such => cannot read no/such
--arg bytes:00 => kernel `scale(float*)`: argument 0 has 1 bytes
";

/// `simt run variables.ptx --entry scale …`
fn scale(line: &str) -> Ended {
    run_file(VARIABLES, &format!("--entry scale --grid 1 --block 1 {line}"))
}

#[test]
fn bad_arguments_are_one_line_with_a_hint_and_exit_code_2() {
    let rows = |table: &'static str| {
        let rows = table.lines().skip(1);
        rows.map(|row| row.split_once(" => ").unwrap())
    };
    for (line, expected) in rows(ARGUMENTS) {
        assert_mistake(&run(line), expected, line);
    }
    for (line, expected) in rows(LAUNCHES_AND_SYMBOLS) {
        let ended = match line.starts_with("--launch") {
            true => run_file(VARIABLES, line),
            false => scale(line),
        };
        assert_mistake(&ended, expected, line);
    }
}

#[test]
fn files_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let path = file.display();
    std::fs::write(&file, "").unwrap();
    let empty = scale(&format!("--arg bytes:file:{path}"));
    assert_mistake(&empty, "is empty", "an empty file");
    std::fs::write(&file, [0; 8]).unwrap();
    let line = format!("--arg f32[1] --symbol factor=bytes:file:{path}");
    let ended = scale(&line);
    assert_eq!(ended.code, 0, "{}", ended.err);
    if std::path::Path::new("/dev/zero").exists() {
        let line = "--entry fill --grid 1 --block 32 --arg u32[32]=file:/dev/zero";
        let words = "/dev/zero has more bytes than the 128 of u32[32]";
        assert_mistake(&run(line), words, "a file without end");
    }
}

#[test]
fn files_that_are_no_ptx_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ptx");
    let head = ".version 8.0\n.target sm_80\n.address_size";
    for (bytes, words) in [
        (format!("{head} 64\n.entry k( {{\n").as_bytes(), "x.ptx:4:"),
        (format!("{head} 64\n.entry k( {{\n").as_bytes(), ".entry k( {"),
        (b"\x7fELF\x02\x01\xff", "this is an ELF file"),
        (b"ok\xff", "byte 2 is not UTF-8"),
        (format!("{head} 32\n").as_bytes(), "only .address_size 64"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        assert_mistake(&simt(&["check", path.to_str().unwrap()]), words, words);
    }
    let missing = simt(&["check", "no/such.ptx"]);
    assert_mistake(&missing, "cannot read no/such.ptx", "a missing file");
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
    assert!(String::from_utf8(err).unwrap().contains("cannot write the output"));
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
