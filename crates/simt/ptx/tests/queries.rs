//! Tests of queries on a tree: a small file of LLVM, and parts of nvcc's output.

use proptest::prelude::*;
use ptx::ast::{Function, Instruction, Module, Operand, Space, Statement};
use ptx::{FileName, Outline, PieceKind, Place, Source, SourceFrame, parse, pieces};

const SUMS: &str = include_str!("fixtures/ptx/sums.ptx");

fn function<'m, 'a>(module: &'m Module<'a>, name: &str) -> &'m Function<'a> {
    let mut functions = module.functions.iter();
    functions.find(|function| function.name == name).unwrap()
}

fn instruction<'m, 'a>(function: &'m Function<'a>, operation: &str) -> &'m Instruction<'a> {
    let mut instructions = function.instructions();
    instructions.find(|instruction| instruction.operation() == operation).unwrap()
}

#[test]
fn the_module() {
    let module = parse(SUMS).unwrap();
    assert_eq!(module.version, (6, 3));
    assert_eq!(module.target, ["sm_75"]);
    assert_eq!(module.files[0], (1, "sums.rs".into()));
    let names: Vec<_> = module.functions.iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["sum_64", "sum_128", "fill"]);
    let sum = function(&module, "sum_64");
    let parameters: Vec<_> = sum.params.iter().map(|parameter| parameter.name).collect();
    assert_eq!(parameters, ["sum_64_param_0", "sum_64_param_1"]);
    assert_eq!(sum.directives, [("maxntid", vec![64, 1, 1])]);
    let variable = function(&module, "sum_128").statements().find_map(|statement| match statement {
        Statement::Variable(variable) => Some(variable.name),
        _ => None,
    });
    assert_eq!(variable, Some("TILE_128"));
    assert_eq!(module.variables[0].name, "TILE_64");
}

#[test]
fn parts_and_line_of_an_instruction() {
    let module = parse(SUMS).unwrap();
    let sum = function(&module, "sum_64");
    let (shuffle, loc) = sum.located().find(|(instruction, _)| instruction.operation() == "shfl").unwrap();
    assert_eq!(shuffle.opcode, "shfl.sync.bfly.b32");
    assert_eq!(shuffle.span.of(SUMS), "shfl.sync.bfly.b32 \t%r3, %r2, 16, 31, -1;");
    let loc = loc.unwrap();
    let place = loc.place();
    assert_eq!((place.file, place.line), (FileName::Number(1), 10));
    let calls: Vec<_> = loc.inlined_through(SUMS).iter().map(|place| (module.path_of(place), place.line)).collect();
    assert_eq!(calls, [(Some("sums.rs"), 4), (Some("sums.rs"), 16)]);

    let fill = function(&module, "fill");
    let store = instruction(fill, "st");
    assert_eq!((store.space(), store.access()), (Some(Space::Global), Some((4, 32))));
    assert_eq!(store.span.of(SUMS), "st.global.v4.b32 \t[%rd4], {%r3, %r3, %r3, %r3};");
    let guarded: Vec<_> =
        fill.instructions().filter_map(|instruction| instruction.guard.map(|guard| guard.register)).collect();
    assert_eq!(guarded, ["%p1", "%p2"]);
    assert_eq!(fill.backward_branches().count(), 1);
    assert_eq!(sum.backward_branches().count(), 0);
    let mut labels: Vec<_> = fill.used_labels().into_iter().filter(|name| name.starts_with('$')).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["$L__BB2_1", "$L__BB2_2"]);
}

#[test]
fn text_of_another_compiler() {
    // From nvcc: a callee, call sequences in separate braces, a call over several lines, `inlined_at`.
    let text = "\
.version 9.5\n.target sm_80\n.address_size 64\n\
.extern .func (.param .b32 r) other (.param .b32 a);\n\
.func (.param .b32 func_retval0) g(\n.param .b32 g_0\n)\n{\nret;\n}\n\
.visible .entry k(.param .u64 k_0, .param .align 8 .b8 k_1[16]) {\n\
{ // callseq 0, 0\n.reg .b32 t;\ncall.uni (retval0),\ng,\n(\nparam0\n);\n}\n\
L1: .loc 1 1 71, function_name $L__info0, inlined_at 1 3 30\n\
@!%p1 bra L1;\nld.shared::cta.v2.u64 {%rd1, %rd2}, [%rd3+8];\n}\n\
.file 1 \"a b.cu\"\n.section .debug_str\n{\n$L__info0:\n.b8 95,0\n}\n";
    let module = parse(text).unwrap();
    let k = function(&module, "k");
    let parameters: Vec<_> = k.params.iter().map(|parameter| parameter.name).collect();
    assert_eq!(parameters, ["k_0", "k_1"]);
    let instructions: Vec<_> = k.located().collect();
    let list = |name| Operand::List(vec![Operand::Name(name)]);
    assert_eq!(instructions[0].0.operands, [list("retval0"), Operand::Name("g"), list("param0")]);
    let (branch, loc) = instructions[1];
    let guard = branch.guard.unwrap();
    assert!(guard.negated && guard.register == "%p1");
    assert_eq!(branch.span.of(text), "@!%p1 bra L1;");
    let load = instructions[2].0;
    assert_eq!((load.space(), load.access()), (Some(Space::Shared), Some((2, 64))));
    let call = Place { file: FileName::Number(1), line: 3, column: 30 };
    assert_eq!(loc.unwrap().inlined_through(text), [call]);
    assert_eq!(module.path_of(&call), Some("a b.cu"));
    let short = text.replace("inlined_at 1 3 30", "inlined_at 1 3 30 // @[ 1:5:6 @[ b.cu:7:8 ]");
    let outline = Outline::new(short.as_str());
    let entry = outline.entry("k").unwrap().unwrap();
    let calls = entry.located().nth(1).unwrap().1.unwrap().inlined_through(&short);
    let call = |file, line, column| Place { file, line, column };
    assert_eq!(calls, [call(FileName::Number(1), 5, 6), call(FileName::Path("b.cu"), 7, 8)]);
    let label = k.statements().find_map(|statement| match statement {
        Statement::Label { name, at } => Some((*name, Source::new(text).line_column(*at).0)),
        _ => None,
    });
    assert_eq!(label, Some(("L1", 20)));
    assert!(!function(&module, "g").entry);
    let bodies = module.functions.iter().filter(|function| function.body.is_some());
    assert_eq!(bodies.count(), 2, "a declaration has no body");
}

#[test]
fn inline_chains_continue_at_the_loc_of_the_call() {
    let text = "\
.version 9.5\n.target sm_80\n.address_size 64\n\
.entry other() {\n.loc 1 9 9, function_name $no, inlined_at 1 1 1\nret;\n}\n\
.entry k() {\n.loc 1 3 30\n\
.loc 1 9 9, function_name $mid, inlined_at 1 3 30\n\
.loc 2 7 7, function_name $mid+2, inlined_at 1 9 9\nexit;\n\
.loc 1 9 9\n\
.loc 2 7 7, function_name .debug_str+3, inlined_at 1 9 9\ntrap;\n\
.loc 2 5 5, function_name $mid, inlined_at 2 5 5\nbar.sync 0;\n\
.loc 2 1 1, function_name $mid, inlined_at 2 7 7 // @[ b.cu:7:7 @[ a.cu:3:30 ] ]\nret;\n}\n\
.section .debug_str\n{\n$no:\n.b8 120,\n.b8 121,0\n$mid:\n.b8 109,105,100,0\n}\n";
    let module = parse(text).unwrap();
    let k = function(&module, "k");
    let chains = k.located().map(|(_, loc)| {
        let chain = k.inline_chain(&module, loc.unwrap(), text);
        let frame = |frame: &SourceFrame<'_>| (frame.function.clone(), frame.place.line);
        chain.iter().map(frame).collect::<Vec<_>>()
    });
    let frame = |name: &str, line| ((!name.is_empty()).then(|| name.to_owned()), line);
    let expected = [
        vec![frame("d", 7), frame("mid", 9), frame("k", 3)],
        vec![frame("mid", 7), frame("k", 9)],
        vec![frame("mid", 5), frame("k", 5)],
        vec![frame("mid", 1), frame("", 7), frame("k", 3)],
    ];
    assert_eq!(chains.collect::<Vec<_>>(), expected);
    let strings = ["$no", "$no+1", "$none", "$no+x", "$no+90"].map(|at| module.debug_string(at));
    let expected = [Some("xy"), Some("y"), None, None, Some("")].map(|name| name.map(str::to_owned));
    assert_eq!(strings, expected);
}

#[test]
fn an_access_without_a_space_is_generic() {
    let text = ".entry k() {\nld.b32 %r1, [%rd1];\nst.volatile.v2.b32 [%rd1], {%r1, %r1};\natom.add.u32 %r1, [%rd1], 1;\n\
                ld.param.b64 %rd1, [p];\nst.shared::cta.b32 [%r1], %r1;\nld.volatile.global.b32 %r1, [%rd1];\n\
                add.s32 %r1, %r1, 1;\n}";
    let outline = Outline::new(text);
    let generic: Vec<_> = outline.entry("k").unwrap().unwrap().instructions().map(Instruction::is_generic).collect();
    assert_eq!(generic, [true, true, true, false, false, false, false]);
}

#[test]
fn pieces_by_kind() {
    let text = "\t@%p1 ld.b32\t%r1, [a+4]; /* b */// c\n.file 1 \"d\"'/* e";
    let pieces = pieces(text).into_iter();
    let pieces = pieces.filter(|piece| piece.kind != PieceKind::Blank);
    let kinds: Vec<_> = pieces.map(|piece| format!("{:?} {}", piece.kind, piece.text)).collect();
    let expected = r#"Sign @;Word %p1;Word ld.b32;Word %r1;Sign ,;Sign [;Word a;Sign +;Number 4;Sign ];Sign ;
Comment /* b */;Comment // c;Directive .file;Number 1;String "d";Sign ';Comment /* e"#;
    assert_eq!(kinds.join(";"), expected.replace('\n', ";"));
}

proptest! {
    #[test]
    fn joined_pieces_are_the_text(text in "(\\PC|[ \n\t/*\".:%$])*") {
        prop_assert_eq!(pieces(&text).iter().map(|piece| piece.text).collect::<String>(), text);
    }

    #[test]
    fn any_text_has_an_outline(text in "(\\PC|[ \n\t/*\".:%${}();,]|.entry k|.file|.loc 1 2 3)*") {
        let outline = Outline::new(text.as_str());
        let names: Vec<_> = outline.entries().map(|entry| entry.name.to_owned()).collect();
        for name in names {
            let _ = outline.entry(&name);
            let _ = ptx::extract(&outline, &name, ptx::extract::SourceLines::Drop);
        }
        let _ = outline.header();
    }
}
