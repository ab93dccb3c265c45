//! Tests of the sanitizer `init` across calls: parameters and results of functions, and the initial contents of their
//! frames.

use simt::{Config, Launch, Module, Simulator};
use simt_check::{Check, Checks, Finding};

use crate::sanitize_init::{STORED, none, only};

/// Returns the findings of a launch of one block of 32 threads. `from` has two words; the host has written only the first.
/// They are loaded to `%r3` and `%r4`. `to` has 32 uninitialized words.
fn findings(before: &str, body: &str) -> Vec<Finding> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{before}\n.entry k(.param .u64 from, .param .u64 to)\n{{\n\
         .reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .pred %p<8>;\nld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\n\
         mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.u32 %r3, [%rd1];\n\
         ld.global.u32 %r4, [%rd1+4];\n{body}\nret;\n}}\n"
    );
    let module = Module::from_ptx(text).unwrap_or_else(|error| panic!("{error}"));
    let function = module.function("k").unwrap_or_else(|error| panic!("{error}"));
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let from = simulator.uninitialized::<u32>(2).unwrap();
    let to = simulator.uninitialized::<u32>(32).unwrap();
    simulator.write(from, &[7]).unwrap();
    let args = [from.into(), to.into()];
    let launch = Launch::new(&function, [1, 1, 1], [32, 1, 1], &args);
    let sanitized = Checks::NONE.with(Check::Init).launch(&mut simulator, &launch);
    sanitized.result.unwrap();
    sanitized.findings
}

#[track_caller]
fn clean(before: &str, body: &str) {
    none(&findings(before, body), body);
}

#[track_caller]
fn one(before: &str, body: &str) -> Finding {
    only(findings(before, body), body)
}

/// Returns a function with the parameters `a` and `b` and the result `out`.
fn function(name: &str, body: &str) -> String {
    format!(
        ".func (.param .b32 out) {name}(.param .b32 a, .param .b32 b)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
         .reg .pred %p<9>;\nld.param.b32 %r1, [a];\nld.param.b32 %r2, [b];\n{body}\nret;\n}}\n"
    )
}

/// Returns a call of a function, and a store of its result.
fn call(callee: &str, a: &str, b: &str) -> String {
    format!(
        "{{\n.param .b32 a;\n.param .b32 b;\n.param .b32 out;\nst.param.b32 [a], {a};\nst.param.b32 [b], {b};\n\
         call (out), {callee}, (a, b);\nld.param.b32 %r5, [out];\n}}\nst.global.u32 [%rd5], %r5;\n"
    )
}

#[test]
fn parameters_and_results_propagate_undefined_values() {
    let add = function("f", "add.u32 %r3, %r1, %r2;\nst.param.b32 [out], %r3;");
    clean(&add, &call("f", "%r3", "%r1"));
    let found = one(&add, &call("f", "%r3", "%r4"));
    assert_eq!((found.what.as_str(), found.times), (STORED, 32));
    // The finding names the result, because the whole result was computed from uninitialized memory.
    assert_eq!(found.place.as_deref(), Some("byte 0 of parameter `out`"));
    assert_eq!(found.other.unwrap().ptx_line, found.ptx_line - 2);
    // The value is not used, or only where it is defined.
    clean(&function("f", "st.param.b32 [out], %r1;"), &call("f", "%r3", "%r4"));
    let chosen = function("f", "setp.eq.u32 %p1, %r1, 7;\nselp.b32 %r3, %r1, %r2, %p1;\nst.param.b32 [out], %r3;");
    clean(&chosen, &call("f", "%r3", "%r4"));
    // The value decides a branch inside the function.
    let branch =
        function("f", "st.param.b32 [out], 1;\nsetp.eq.u32 %p1, %r2, 7;\n@%p1 bra L;\nst.param.b32 [out], 2;\nL:");
    let found = one(&branch, &call("f", "%r3", "%r4"));
    assert_eq!(found.what, "a branch depends on uninitialized memory");
    assert_eq!((found.place.as_deref(), found.ptx_line), (Some("byte 0 of parameter `b`"), 13));
    // The value is undefined in only one lane.
    let odd = format!("setp.ne.u32 %p1, %r1, 5;\n@%p1 mov.u32 %r4, 1;\n{}", call("f", "%r3", "%r4"));
    let found = one(&add, &odd);
    assert_eq!((found.thread, found.times), ([5, 0, 0], 1));
}

#[test]
fn a_result_that_is_not_always_written() {
    let sometimes_written = function("f", "setp.lt.u32 %p1, %r2, 5;\n@%p1 st.param.b32 [out], %r1;");
    let found = one(&sometimes_written, &call("f", "%r3", "%r1"));
    assert_eq!((found.what.as_str(), found.thread, found.times), (STORED, [5, 0, 0], 27));
    clean(
        &sometimes_written,
        &call("f", "%r3", "%r1").replace("st.global", "setp.lt.u32 %p1, %r1, 5;\n@%p1 st.global"),
    );
    // The result is not that of the previous call.
    let both = format!("{}setp.eq.u32 %p2, %r1, 99;\n{}", call("g", "%r3", "%r3"), call("f", "%r3", "%r1"));
    let always_written = function("g", "st.param.b32 [out], %r1;");
    assert_eq!(one(&format!("{sometimes_written}{always_written}"), &both).times, 27);
}

#[test]
fn frames_start_uninitialized() {
    let register = function("f", "add.u32 %r3, %r1, %r8;\nst.param.b32 [out], %r3;\nmov.u32 %r8, 1;");
    let twice = format!("{}{}", call("f", "%r3", "%r3"), call("f", "%r3", "%r3"));
    let found = findings(&register, &twice);
    assert_eq!(found.len(), 2, "{found:?}");
    // The value passes through the result.
    assert!(found.iter().all(|finding| finding.what == STORED && finding.times == 32));
    let decides =
        function("f", "st.param.b32 [out], 1;\nsetp.eq.u32 %p1, %r8, 7;\n@%p1 bra L;\nst.param.b32 [out], 2;\nL:");
    let found = one(&decides, &call("f", "%r3", "%r3"));
    assert_eq!(found.what, "a branch depends on an uninitialized register");
    assert_eq!(found.place.as_deref(), Some("register `%r8`"));
    clean(&register.replace("add.u32 %r3, %r1, %r8", "add.u32 %r3, %r1, %r2"), &twice);
    // The second call reads local memory that only the first call has written.
    let local = function(
        "f",
        ".local .align 4 .b8 l[8];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 st.local.u32 [l], %r1;\nld.local.u32 %r3, [l];\n\
         st.param.b32 [out], %r3;",
    );
    clean(&local, &call("f", "%r3", "0"));
    let found = one(&local, &format!("{}{}", call("f", "%r3", "0"), call("f", "%r3", "1")));
    assert_eq!((found.what.as_str(), found.times), (STORED, 32));
}

#[test]
fn recursive_functions_are_tracked() {
    // Sums copies of `b` in `a` recursive calls; each frame keeps its copy in local memory across the call.
    let sum = |store: &str| {
        function(
            "sum",
            &format!(
                ".local .align 4 .b8 l[4];\nst.param.b32 [out], %r2;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ret;\n{store}\n\
                 sub.u32 %r3, %r1, 1;\n{{\n.param .b32 x;\n.param .b32 y;\n.param .b32 z;\nst.param.b32 [x], %r3;\n\
                 st.param.b32 [y], %r2;\ncall (z), sum, (x, y);\nld.param.b32 %r4, [z];\n}}\nld.local.u32 %r5, [l];\n\
                 add.u32 %r6, %r4, %r5;\nst.param.b32 [out], %r6;"
            ),
        )
    };
    let store = "st.local.u32 [l], %r2;";
    clean(&sum(store), &call("sum", "6", "%r3"));
    // Lanes recurse to different depths.
    clean(&sum(store), &call("sum", "%r1", "%r3"));
    assert_eq!(one(&sum(store), &call("sum", "6", "%r4")).what, STORED);
    // Only the frame at depth 3 does not store its addend.
    let once = format!("setp.eq.u32 %p2, %r1, 3;\n@!%p2 {store}");
    clean(&sum(&once), &call("sum", "2", "%r3"));
    let found = one(&sum(&once), &call("sum", "%r1", "%r3"));
    assert_eq!((found.what.as_str(), found.thread, found.times), (STORED, [3, 0, 0], 29));
}

#[test]
fn indirect_calls_are_tracked() {
    let both = function("first", "st.param.b32 [out], %r1;") + &function("second", "st.param.b32 [out], %r2;");
    let by_address = |a: &str, b: &str| {
        call("%rd6, PARAMS, proto", a, b).replace("(out), %rd6, PARAMS, proto, (a, b);", "(out), %rd6, (a, b), proto;")
    };
    let head = "proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\nmov.u64 %rd6, first;\n\
                mov.u64 %rd7, second;\nsetp.lt.u32 %p1, %r1, 8;\nselp.b64 %rd6, %rd7, %rd6, %p1;\n";
    clean(&both, &format!("{head}{}", by_address("%r3", "%r1")));
    // Eight lanes call `second`, which returns an uninitialized value.
    let found = one(&both, &format!("{head}{}", by_address("%r3", "%r4")));
    assert_eq!((found.what.as_str(), found.thread, found.times), (STORED, [0, 0, 0], 8));
    let found = one(&both, &format!("{head}{}", by_address("%r4", "%r3")));
    assert_eq!((found.thread, found.times), ([8, 0, 0], 24));
}

#[test]
fn results_of_the_runtime_are_initialized() {
    let before = ".extern .func (.param .b64 q) malloc(.param .b64 p);\n.extern .func free(.param .b64 p);";
    let body = "{\n.param .b64 p;\n.param .b64 q;\nst.param.b64 [p], 32;\ncall (q), malloc, (p);\nld.param.b64 %rd6, [q];\n}\n\
                st.global.u32 [%rd6], 7;\n{\n.param .b64 p;\nst.param.b64 [p], %rd6;\ncall free, (p);\n}\n";
    clean(before, body);
}

#[test]
fn each_store_is_tracked_separately() {
    // The first round stores an uninitialized value; later rounds store defined values.
    let before = ".shared .align 4 .b8 tile[512];";
    let rounds = |stored: &str| {
        format!(
            "mov.u32 %r6, tile;\nmad.lo.u32 %r6, %r1, 4, %r6;\nmov.u32 %r7, 0;\nmov.u32 %r8, %r4;\nL:\n\
             st.shared.u32 [%r6], %r8;\nmov.u32 %r8, 5;\nadd.u32 %r6, %r6, 128;\nadd.u32 %r7, %r7, 1;\n\
             setp.lt.u32 %p1, %r7, 4;\n@%p1 bra L;\nmov.u32 %r6, tile;\nmad.lo.u32 %r6, %r1, 4, %r6;\n\
             ld.shared.u32 %r9, [%r6{stored}];\nst.global.u32 [%rd5], %r9;"
        )
    };
    assert_eq!(one(before, &rounds("")).what, STORED);
    clean(before, &rounds("+128"));
    clean(before, &rounds("+384"));
}
