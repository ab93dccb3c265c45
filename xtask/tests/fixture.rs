//! What `cargo xtask ptx` shows of a small PTX file, as snapshots. Needs no compiler and no tool of NVIDIA's.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use toolkit::usage;
use xtask::ptx::{FileName, Module, Statement};
use xtask::show::source::Sources;
use xtask::show::{diff, list, print, select, stats};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn module() -> Module {
    Module::parse(&std::fs::read_to_string(fixtures().join("sums.ptx")).unwrap()).unwrap()
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn printed(name: &str, options: print::Options, rust: bool) -> String {
    let module = module();
    let mut sources = Sources::new(vec![fixtures()]);
    let function = module.function(name).unwrap();
    print::function(&module, function, options, rust.then_some(&mut sources))
}

#[test]
fn the_module() {
    let module = module();
    assert_eq!(module.version, Some((6, 3)));
    assert_eq!(module.target, ["sm_75"]);
    assert_eq!(module.files[&1], "sums.rs");
    let names: Vec<_> = module.entries().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["sum_64", "sum_128", "fill"]);
    let sum = module.function("sum_64").unwrap();
    assert_eq!(sum.parameters, ["sum_64_param_0", "sum_64_param_1"]);
    assert_eq!(sum.directives, [".maxntid 64, 1, 1"]);
    assert_eq!(
        module.function("sum_128").unwrap().variables[0].name,
        "TILE_128"
    );
    assert_eq!(module.variables[0].name, "TILE_64");
}

#[test]
fn an_instruction_knows_its_parts_and_its_line() {
    let module = module();
    let sum = module.function("sum_64").unwrap();
    let shuffle = sum
        .instructions()
        .find(|instruction| instruction.operation() == "shfl")
        .unwrap();
    assert_eq!(shuffle.opcode, "shfl.sync.bfly.b32");
    assert_eq!(shuffle.operands, ["%r3", "%r2", "16", "31", "-1"]);
    let location = &sum.locations[shuffle.location.unwrap()];
    assert_eq!(
        (&location.place.file, location.place.line),
        (&FileName::Number(1), 10)
    );
    let calls: Vec<_> = location
        .inlined_at
        .iter()
        .map(|place| (module.path_of(place), place.line))
        .collect();
    assert_eq!(calls, [(Some("sums.rs"), 4), (Some("sums.rs"), 16)]);

    let fill = module.function("fill").unwrap();
    let store = fill
        .instructions()
        .find(|instruction| instruction.operation() == "st")
        .unwrap();
    assert_eq!(
        (store.space(), store.access()),
        (Some("global"), Some((4, 32)))
    );
    assert_eq!(store.operands, ["[%rd4]", "{%r3, %r3, %r3, %r3}"]);
    let guarded: Vec<_> = fill
        .instructions()
        .filter_map(|instruction| instruction.guard.as_deref())
        .collect();
    assert_eq!(guarded, ["@%p1", "@%p2"]);
    assert_eq!(fill.backward_branches().count(), 1);
    assert_eq!(sum.backward_branches().count(), 0);
}

#[test]
fn another_compiler_s_text() {
    // nvcc: a callee, call sequences in braces of their own, a call over several lines, `inlined_at`.
    let text = "\
.version 9.5\n.target sm_80\n.address_size 64\n\
.extern .func (.param .b32 r) other (.param .b32 a);\n\
.func (.param .b32 func_retval0) g(\n.param .b32 g_0\n)\n{\nret;\n}\n\
.visible .entry k(.param .u64 k_0, .param .align 8 .b8 k_1[16]) {\n\
{ // callseq 0, 0\n.reg .b32 t;\ncall.uni (retval0),\ng,\n(\nparam0\n);\n}\n\
L1: .loc 1 1 71, function_name $L__info0, inlined_at 1 3 30\n\
@!%p1 bra L1;\nld.shared::cta.v2.u64 {%rd1, %rd2}, [%rd3+8];\n}\n\
.file 1 \"a b.cu\"\n.section .debug_str\n{\n$L__info0:\n.b8 95,0\n}\n";
    let module = Module::parse(text).unwrap();
    let k = module.function("k").unwrap();
    assert_eq!(k.parameters, ["k_0", "k_1"]);
    let instructions: Vec<_> = k.instructions().collect();
    assert_eq!(instructions[0].operands, ["(retval0)", "g", "(param0)"]);
    assert_eq!(instructions[1].guard.as_deref(), Some("@!%p1"));
    assert_eq!(instructions[2].space(), Some("shared"));
    assert_eq!(instructions[2].access(), Some((2, 64)));
    assert_eq!(k.locations[0].inlined_at[0].line, 3);
    assert!(
        matches!(&k.body[1], Statement::Label { name, line: 20 } if name == "L1"),
        "{:?}",
        k.body[1]
    );
    assert!(!module.function("g").unwrap().entry);
    assert_eq!(
        module.functions.len(),
        2,
        "a declaration has no body to show"
    );
}

#[test]
fn an_access_without_a_space_is_generic() {
    let text = ".entry k() {\nld.b32 %r1, [%rd1];\nst.volatile.v2.b32 [%rd1], {%r1, %r1};\natom.add.u32 %r1, [%rd1], 1;\n\
                ld.param.b64 %rd1, [p];\nst.shared::cta.b32 [%r1], %r1;\nld.volatile.global.b32 %r1, [%rd1];\n\
                add.s32 %r1, %r1, 1;\n}";
    let module = Module::parse(text).unwrap();
    let generic: Vec<_> = module.functions[0]
        .instructions()
        .map(|instruction| instruction.is_generic())
        .collect();
    assert_eq!(generic, [true, true, true, false, false, false, false]);
}

#[test]
fn what_is_not_ptx_is_refused_with_its_line() {
    let failure = |text: &str| Module::parse(text).unwrap_err().to_string();
    assert_snapshot!(failure(".version 6.3\nhello"), @"line 2: expected a directive such as `.visible` or `.entry`, found `hello`");
    assert_snapshot!(failure(".version six"), @"line 1: expected a version such as `6.4`, found `six`");
    assert_snapshot!(failure(".visible .entry k()\n{\nret;\n"), @"line 1: the body of `k` is not closed");
    assert_snapshot!(failure(".entry k()\n{\nadd.s32 %r1, %r2\n}\n"), @"line 3: `add.s32` has no `;`");
    assert_snapshot!(failure(".entry k(\n"), @"line 1: expected `)`, found the end of the text");
    assert_snapshot!(failure(".entry k()\n{\n.loc 1 x 2\nret;}"), @"line 3: expected `.loc FILE LINE COLUMN`");
    assert_snapshot!(failure("/* never\nended"), @"line 1: this comment has no `*/`");
}

#[test]
fn the_list() {
    let messages = std::fs::read_to_string(fixtures().join("sums.ptxas")).unwrap();
    let usages = usage::parse(&messages);
    assert_snapshot!(list::text(&list::rows(&module(), Some(("sm_75", &usages)))));
    assert_snapshot!(
        "the_list_as_json",
        list::json(&list::rows(&module(), Some(("sm_75", &usages))))
    );
    assert_snapshot!(
        "the_list_without_ptxas",
        list::text(&list::rows(&module(), None))
    );
}

#[test]
fn one_kernel() {
    assert_snapshot!(plain(&printed("fill", print::Options::default(), false)));
}

#[test]
fn one_kernel_verbatim_is_the_file_s_own_text() {
    let text = plain(&printed("sum_64", print::Options { verbatim: true }, false));
    assert!(module().text.contains(&text), "{text}");
    assert!(
        text.contains(".loc\t1 14 0 ") && text.contains("$L__tmp0:"),
        "{text}"
    );
}

#[test]
fn one_kernel_in_colour() {
    assert_snapshot!(printed("sum_64", print::Options::default(), false).replace('\u{1b}', "␛"));
}

#[test]
fn one_kernel_with_its_rust() {
    assert_snapshot!(plain(&printed("sum_64", print::Options::default(), true)));
}

#[test]
fn statistics() {
    let module = module();
    let of = |name: &str| plain(&stats::text(module.function(name).unwrap()));
    assert_snapshot!(format!("{}\n{}", of("sum_64"), of("fill")));
}

#[test]
fn two_kernels() {
    let module = module();
    let (a, b) = (
        module.function("sum_64").unwrap(),
        module.function("sum_128").unwrap(),
    );
    assert_snapshot!(
        "two_kernels_unified",
        plain(&diff::text(&module, a, b, diff::Layout::Unified))
    );
    let beside = diff::Layout::for_width(Some(90));
    assert_eq!(beside, diff::Layout::SideBySide(90));
    assert_snapshot!(
        "two_kernels_side_by_side",
        plain(&diff::text(&module, a, b, beside))
    );
    assert_eq!(diff::Layout::for_width(Some(70)), diff::Layout::Unified);
    assert_eq!(diff::Layout::for_width(None), diff::Layout::Unified);
}

#[test]
fn choosing() {
    let module = module();
    let chosen =
        |pattern: &str| select::select(&module, pattern).map(|function| function.name.clone());
    assert_eq!(chosen("128").unwrap(), "sum_128");
    assert_eq!(chosen("fill").unwrap(), "fill");
    let ambiguous = chosen("sum").unwrap_err();
    assert_eq!(ambiguous.code, 2);
    assert_snapshot!("ambiguous", ambiguous);
    let unknown = chosen("sun_46").unwrap_err();
    assert_eq!(unknown.code, 2);
    assert_snapshot!("unknown", unknown);
    assert_snapshot!("nothing_near", chosen("qqq").unwrap_err());
}

/// The program itself, on the fixture.
fn xtask(arguments: &[&str]) -> Output {
    let file = fixtures().join("sums.ptx");
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("ptx")
        .arg("--file")
        .arg(file)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn piped_output_is_plain() {
    let output = xtask(&["fill"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text,
        plain(&printed("fill", print::Options::default(), false))
    );
}

#[test]
fn a_pattern_that_will_not_do_exits_with_2() {
    for (pattern, says) in [
        ("sum", "matches 2 kernels"),
        ("nothing", "no kernel's name contains `nothing`"),
    ] {
        let output = xtask(&[pattern]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains(says));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_that_is_not_there() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["ptx", "--file", "no/such.ptx"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: cannot read no/such.ptx: "),
        "{text}"
    );
}
