//! Tests of invalid accesses: a sanitized launch skips them, reports them, and continues.

use simt::memory::POISON;
use simt::{Config, Launch, LaunchError, Module, Simulator};
use simt_check::{Check, Checks, Finding, Sanitized};

/// Returns a module with the kernel `k`, whose arguments are two buffers of 64 words. `%rd3` and `%rd4` are the
/// addresses of the thread's words in the first and the second buffer.
fn module(before: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{before}\n.entry k(.param .u64 a, .param .u64 b)\n{{\n\
         .reg .b16 %rs<8>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<8>;\n.reg .pred %p<8>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd9, %r1, 4;\n\
         add.s64 %rd3, %rd1, %rd9;\nadd.s64 %rd4, %rd2, %rd9;\n{body}\nret;\n}}\n"
    );
    Module::from_ptx(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the result of a launch of one block of 64 threads, and the contents of the second buffer after it.
fn launch(before: &str, body: &str, checks: Checks) -> (Sanitized<()>, Vec<u32>) {
    let function = module(before, body).function("k").unwrap_or_else(|error| panic!("{error}"));
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let a = simulator.upload(&[5_u32; 64]).unwrap();
    let b = simulator.upload(&[7_u32; 64]).unwrap();
    let args = [a.into(), b.into()];
    let launch = Launch::new(&function, [1, 1, 1], [64, 1, 1], &args);
    let sanitized = checks.launch(&mut simulator, &launch).map(drop);
    (sanitized, simulator.read(b).unwrap())
}

/// Returns the findings of a launch that must not fail, and the second buffer.
fn findings(body: &str, checks: Checks) -> (Vec<Finding>, Vec<u32>) {
    let (sanitized, b) = launch("", body, checks);
    sanitized.result.unwrap_or_else(|error| panic!("{body}\n{error}"));
    (sanitized.findings, b)
}

fn summary(found: &[Finding]) -> Vec<(Check, &str, u64)> {
    found.iter().map(|finding| (finding.check, finding.what.as_str(), finding.times)).collect()
}

#[test]
fn faulting_lanes_load_poison_and_other_lanes_continue() {
    // From the 33rd thread on, the word lies past the end.
    let (found, b) = findings("ld.global.u32 %r2, [%rd3+128];\nst.global.u32 [%rd4], %r2;", Checks::ALL);
    assert_eq!(summary(&found), [(Check::Memory, "out of bounds read of 4 bytes", 32)]);
    assert_eq!(
        (found[0].thread, found[0].place.as_deref()),
        ([32, 0, 0], Some("0 bytes past the end of argument 0's buffer of 256 bytes"))
    );
    assert_eq!(b, [[5; 32], [POISON as u32; 32]].concat());
    assert!(f32::from_bits(POISON as u32).is_nan() && f64::from_bits(POISON).is_nan() && (POISON as i32) < 0);
}

#[test]
fn every_kind_of_access_is_skipped() {
    let cases = [
        ("st.global.u32 [%rd4+128], %r1;", "out of bounds write of 4 bytes", 32),
        (
            "ld.global.v2.u32 {%r2, %r3}, [%rd1+4];",
            "misaligned read of 8 bytes, whose address has to be a multiple of 8",
            64,
        ),
        ("ld.global.u8 %rs1, [%rd3+300];", "out of bounds read of 1 bytes", 64),
        ("atom.global.add.u32 %r2, [%rd4+128], 1;", "out of bounds write of 4 bytes", 32),
        ("red.global.add.u32 [%rd2+1], 1;", "misaligned write of 4 bytes, whose address has to be a multiple of 4", 64),
        ("mov.u64 %rd5, 0;\nst.u32 [%rd5], 1;", "out of bounds write of 4 bytes", 64),
        ("mov.u32 %r2, 1024;\nld.shared.u32 %r3, [%r2];", "out of bounds read of 4 bytes", 64),
        (
            "mov.u32 %r2, 0;\ncp.async.ca.shared.global [%r2], [%rd3+128], 4;\ncp.async.wait_all;",
            "out of bounds write of 4 bytes",
            64,
        ),
        (
            "mov.u32 %r2, 1024;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];\nst.global.u32 [%rd4], %r3;",
            "out of bounds read of 16 bytes",
            2,
        ),
    ];
    for (body, what, times) in cases {
        // The next instruction runs too.
        let (mut found, _) = findings(&format!("{body}\nld.global.u32 %r9, [%rd2+-4];"), "memory".parse().unwrap());
        found.sort_by_key(|finding| finding.ptx_line);
        let expected = [(Check::Memory, what, times), (Check::Memory, "out of bounds read of 4 bytes", 64)];
        assert_eq!(summary(&found), expected, "{body}");
    }
}

#[test]
fn a_race_is_found_although_an_access_faults_before_it() {
    for checks in ["race", "memory,race"] {
        let (found, _) = findings("ld.global.u32 %r2, [%rd1+-4];\nst.global.u32 [%rd2], %r1;", checks.parse().unwrap());
        let checks: Vec<Check> = found.iter().map(|finding| finding.check).collect();
        assert!(checks.contains(&Check::Race) && checks.contains(&Check::Memory), "{found:?}");
    }
}

#[test]
fn thousands_of_faults_are_counted_and_a_loop_that_only_faults_ends() {
    let stores: String = (0..400).map(|at| format!("st.global.u32 [%rd3+{}], 1;\n", 256 + 4 * at)).collect();
    let (found, _) = findings(&stores, "memory".parse().unwrap());
    assert_eq!((found.len(), found.iter().all(|finding| finding.times == 64)), (256, true));
    let (sanitized, _) = launch("", &stores, "memory".parse().unwrap());
    assert_eq!(sanitized.notes, ["256 different skipped accesses are listed; others were skipped 9216 times"]);
    // A lock at an out-of-bounds address is never free.
    let lock = "L:\natom.global.cas.b32 %r2, [%rd3+256], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;";
    let (sanitized, _) = launch("", lock, "memory".parse().unwrap());
    assert!(matches!(sanitized.result, Err(LaunchError::Fault(_))), "simt detects that the loop does not end");
    assert_eq!(sanitized.findings.len(), 1);
    // The loop skips more accesses than a launch may skip.
    let many = "mov.u32 %r2, 0;\nL:\nst.global.u32 [%rd3+256], %r2;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 20000;\n@%p1 bra L;";
    let (sanitized, _) = launch("", many, "memory".parse().unwrap());
    assert!(matches!(sanitized.result, Err(LaunchError::Fault(_))));
    assert_eq!((sanitized.findings.len(), sanitized.findings[0].times), (1, 1 << 20));
    assert_eq!(sanitized.notes, ["the launch ended early: it had skipped 1048576 accesses"]);
}

#[test]
fn without_checks_the_launch_ends_at_the_first_fault() {
    let body = "st.global.u32 [%rd3+256], 1;\nst.global.u32 [%rd4], 1;";
    let (sanitized, b) = launch("", body, Checks::NONE);
    assert!(matches!(sanitized.result, Err(LaunchError::Fault(_))) && sanitized.findings.is_empty());
    assert_eq!(b, [7; 64]);
}

#[test]
fn the_first_line_is_the_users() {
    let library = ".file 1 \"/home/u/k.cu\"\n.file 2 \"/usr/local/cuda/include/atomics.hpp\"\n.func add(.param .b64 p)\n\
                   {\n.reg .b64 %rd<2>;\n.loc 2 7 3\nld.param.b64 %rd1, [p];\nred.global.add.u32 [%rd1], 1;\nret;\n}";
    let call = |line: u32, offset: u32| {
        format!(
            ".loc 1 {line} 5\nadd.s64 %rd5, %rd3, {offset};\n{{\n.param .b64 p;\nst.param.b64 [p], %rd5;\ncall add, (p);\n}}\n"
        )
    };
    // A call that was not inlined, from two lines. An access within the other buffer is a finding of a sanitizer, not a
    // fault.
    let body = call(20, 256) + &call(30, 260);
    let (sanitized, _) = launch(library, &body, Checks::ALL);
    let lines: Vec<_> = sanitized.findings.iter().map(|finding| finding.source.clone().unwrap()).collect();
    let expected = [("/home/u/k.cu".to_owned(), 20), ("/home/u/k.cu".to_owned(), 30)];
    assert!(lines.iter().all(|line| expected.contains(line)), "{lines:?}");
    assert_eq!(sanitized.findings[0].library[0].place, Some(("/usr/local/cuda/include/atomics.hpp".to_owned(), 7)));
    // A finding of a sanitizer in a function with a single caller.
    let racy = library.replace("red.global.add.u32 [%rd1], 1;", "st.global.u32 [%rd1], 1;");
    let body = ".loc 1 20 5\n{\n.param .b64 p;\nst.param.b64 [p], %rd2;\ncall add, (p);\n}\n";
    let (sanitized, _) = launch(&racy, body, "race".parse().unwrap());
    let [found] = &sanitized.findings[..] else { panic!("{:?}", sanitized.findings) };
    assert_eq!((found.check, found.source.as_ref()), (Check::Race, Some(&expected[0])));
    assert_eq!(found.other.as_ref().unwrap().source.as_ref(), Some(&expected[0]));
}
