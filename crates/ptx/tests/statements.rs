//! Labels, instructions, operands.

use super::{HEAD, body, operands, rows};
use ptx::ast::{Guard, Instruction, Linkage, Loc, Operand, Space, Span, Statement, Variable};

const OPERANDS: &str = r#"
ret => []
bra.uni $L__BB0_1 => [Name("$L__BB0_1")]
mov.u32 %r1, %tid.x => [Name("%r1"), Name("%tid.x")]
mov.u32 %r1, %cluster_nctaid.z => [Name("%r1"), Name("%cluster_nctaid.z")]
mov.u32 %r1, %lanemask_lt => [Name("%r1"), Name("%lanemask_lt")]
mov.u32 v.x, %r1.a => [Element("v", 'x'), Element("%r1", 'a')]
vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1 => [Name("%r1"), Name("%r2.b0"), Name("%r3.h1")]
mov.u64 %rd1, tile => [Name("%rd1"), Name("tile")]
mov.u64 %rd1, tile+4 => [Name("%rd1"), NameOffset("tile", 4)]
mov.u64 %rd1, tile[1+2] => [Name("%rd1"), Indexed("tile", 3)]
mov.u32 %r1, (1<<4)|2 => [Name("%r1"), Number(Integer(18))]
ld.b32 _, [%rd1] => [Name("_"), Address { base: Name("%rd1"), offset: 0 }]
ld.b32 %r1, [p_0+16] => [Name("%r1"), Address { base: Name("p_0"), offset: 16 }]
ld.b32 %r1, [%rd1+-4] => [Name("%r1"), Address { base: Name("%rd1"), offset: -4 }]
ld.b32 %r1, [0x400] => [Name("%r1"), Address { base: Absolute(1024), offset: 0 }]
ld.global.L1::no_allocate.L2::cache_hint.v2.b32 {%r1, _}, [%rd1], %rd2 => [Vector([Name("%r1"), Name("_")]), Address { base: Name("%rd1"), offset: 0 }, Name("%rd2")]
mov.b64 %rd1, {%r1, 3} => [Name("%rd1"), Vector([Name("%r1"), Number(Integer(3))])]
setp.eq.and.s32 p|q, %r1, 0, !%p3 => [Pair("p", "q"), Name("%r1"), Number(Integer(0)), Not("%p3")]
shfl.sync.up.b32 %r1|%p1, %r2, 1 => [Pair("%r1", "%p1"), Name("%r2"), Number(Integer(1))]
setp.eq.s32 _|%p1, %r1, !0 => [Pair("_", "%p1"), Name("%r1"), Number(Integer(1))]
tex.2d.v4.f32.f32 {a, b, c, d}, [%rd1, {%f1, %f2}] => [Vector([Name("a"), Name("b"), Name("c"), Name("d")]), Tuple([Name("%rd1"), Vector([Name("%f1"), Name("%f2")])])]
cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [t], [m+8, {1}], [b] => [Address { base: Name("t"), offset: 0 }, Tuple([NameOffset("m", 8), Vector([Number(Integer(1))])]), Address { base: Name("b"), offset: 0 }]
call f => [Name("f")]
call.uni f, () => [Name("f"), List([])]
call.uni (r), f, (a, 3) => [List([Name("r")]), Name("f"), List([Name("a"), Number(Integer(3))])]
call (r), %rd1, (a), proto => [List([Name("r")]), Name("%rd1"), List([Name("a")]), Name("proto")]
"#;

#[test]
fn forms_of_operands() {
    for (text, expected) in rows(OPERANDS) {
        operands(&format!("{text};"), |operands| {
            assert_eq!(format!("{operands:?}"), expected, "{text}");
        });
    }
}

#[test]
fn guards_and_places() {
    let text = "@%p1 bra L; @ ! p\tmembar.gl ;ret;";
    let start = (HEAD.len() + ".entry k() { ".len()) as u32;
    body(text, |body| {
        let guard = |register, negated| Some(Guard { register, negated });
        let place = |what: &str| start + text.find(what).unwrap() as u32;
        let instruction = |guard, opcode, operands, whole: &str| {
            let span = Span { start: place(whole), end: place(whole) + whole.len() as u32 };
            Statement::Instruction(Instruction { guard, opcode, at: place(opcode), span, operands })
        };
        assert_eq!(
            body,
            [
                instruction(guard("%p1", false), "bra", vec![Operand::Name("L")], "@%p1 bra L;"),
                instruction(guard("p", true), "membar.gl", vec![], "@ ! p\tmembar.gl ;"),
                instruction(None, "ret", vec![], "ret;"),
            ]
        );
    });
}

#[test]
fn labels_and_what_they_name() {
    let text = "L: M : $x_0: .branchtargets L, M; c: .calltargets f; \
        p: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[16]); q: .callprototype ()_ (.param .b64 _); \
        r: .callprototype _ .noreturn .abi_preserve 3;";
    let start = (HEAD.len() + ".entry k() { ".len()) as u32;
    body(text, |body| {
        let at = |label: &str| start + text.find(label).unwrap() as u32;
        let parameter = |ty, align, dims, place| Variable {
            linkage: Linkage::Internal,
            space: Space::Param,
            align,
            ty,
            vector: 1,
            name: "_",
            at: at(place),
            dims,
            init: None,
        };
        assert_eq!(
            body,
            [
                Statement::Label { name: "L", at: at("L:") },
                Statement::Label { name: "M", at: at("M :") },
                Statement::BranchTargets { label: "$x_0", targets: vec!["L", "M"], at: at("$x_0") },
                Statement::CallTargets { label: "c", targets: vec!["f"], at: at("c:") },
                Statement::CallPrototype {
                    label: "p",
                    returns: vec![parameter("b32", None, vec![], "_) _")],
                    params: vec![parameter("b8", Some(8), vec![Some(16)], "_[16]")],
                    at: at("p: .")
                },
                Statement::CallPrototype {
                    label: "q",
                    returns: vec![],
                    params: vec![parameter("b64", None, vec![], "_); r")],
                    at: at("q: .")
                },
                Statement::CallPrototype { label: "r", returns: vec![], params: vec![], at: at("r: .") },
            ]
        );
    });
}

#[test]
fn scopes() {
    body("{ // callseq 0, 0\n .param .b32 a; { ret;\n} } {}", |body| {
        let [Statement::Scope(outer), Statement::Scope(empty)] = body else { panic!("{body:?}") };
        assert!(empty.is_empty());
        let [Statement::Variable(_), Statement::Scope(inner)] = &outer[..] else { panic!("{outer:?}") };
        assert!(matches!(inner[..], [Statement::Instruction(Instruction { opcode: "ret", .. })]));
    });
}

#[test]
fn source_lines() {
    let text = ".loc 1 2 3\n.loc 2 408 9, function_name $L__info_string0, inlined_at 1 23 9 \
        .loc 1 0 0, function_name .debug_str+16, inlined_at 4 5 6 ret;";
    let start = HEAD.len() + ".entry k() { ".len();
    let mut places = text.match_indices(".loc").map(|(at, _)| (start + at) as u32);
    body(text, |body| {
        let mut loc = |file, line, column, name: &str, inlined_at| {
            let name_at = text.find(name).map(|at| (start + at) as u32);
            Statement::Loc(Loc {
                at: places.next().unwrap(),
                file,
                line,
                column,
                function_name: name_at
                    .filter(|_| !name.is_empty())
                    .map(|start| Span { start, end: start + name.len() as u32 }),
                inlined_at,
            })
        };
        assert_eq!(
            body[..3],
            [
                loc(1, 2, 3, "", None),
                loc(2, 408, 9, "$L__info_string0", Some((1, 23, 9))),
                loc(1, 0, 0, ".debug_str+16", Some((4, 5, 6)))
            ]
        );
    });
}
