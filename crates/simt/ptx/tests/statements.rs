//! Tests of labels, instructions and operands.

use super::{HEAD, body, operands, rows};
use ptx::ast::{Guard, Instruction, Linkage, Loc, Operand, Space, Span, Statement, Variable};

const OPERANDS: &str = include_str!("fixtures/operands.txt");

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
fn labels_and_target_lists() {
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
            is_managed: false,
            is_pointer: false,
            comment: "",
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
