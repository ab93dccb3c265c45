//! Real modules of LLVM and nvcc. The source of each fixture is next to it, with the compile command in its first
//! lines. Paths are cut to file names, and the sections of debug.ptx to their first lines.

use ptx::ast::{Init, Linkage, Module, Number, Operand, Space, Statement, Variable};
use ptx::parse;

pub(super) const LLVM: &str = include_str!("fixtures/ptx/llvm.ptx");
pub(super) const CALLS: &str = include_str!("fixtures/ptx/calls.ptx");
pub(super) const MEMORY: &str = include_str!("fixtures/ptx/memory.ptx");
pub(super) const ASYNC: &str = include_str!("fixtures/ptx/async.ptx");
pub(super) const BULK: &str = include_str!("fixtures/ptx/bulk.ptx");
pub(super) const DEBUG: &str = include_str!("fixtures/ptx/debug.ptx");
pub(super) const ALL: [&str; 6] = [LLVM, CALLS, MEMORY, ASYNC, BULK, DEBUG];

fn read(text: &str) -> Module<'_> {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the statements of a function, including those in inner scopes.
fn statements<'m, 'a>(module: &'m Module<'a>, function: &str) -> Vec<&'m Statement<'a>> {
    fn walk<'m, 'a>(body: &'m [Statement<'a>], out: &mut Vec<&'m Statement<'a>>) {
        for statement in body {
            out.push(statement);
            if let Statement::Scope(inner) = statement {
                walk(inner, out);
            }
        }
    }
    let mut named = module.functions.iter().filter(|f| f.name == function);
    let mut out = Vec::new();
    walk(named.find_map(|f| f.body.as_ref()).unwrap(), &mut out);
    out
}

fn opcodes<'a>(statements: &[&Statement<'a>]) -> Vec<&'a str> {
    let opcode = |statement: &&Statement<'a>| match statement {
        Statement::Instruction(instruction) => Some(instruction.opcode),
        _ => None,
    };
    statements.iter().filter_map(opcode).collect()
}

fn variable<'m, 'a>(module: &'m Module<'a>, name: &str) -> &'m Variable<'a> {
    module.variables.iter().find(|variable| variable.name == name).unwrap()
}

/// Every semicolon, label and `.loc` of the text is in the tree exactly once.
#[test]
fn nothing_is_lost() {
    for text in ALL {
        let module = read(text);
        let code = text.split("\t.section").next().unwrap();
        let code: Vec<_> = code.lines().map(|line| line.split("//").next().unwrap().trim()).collect();
        let (declared, defined): (Vec<_>, Vec<_>) = module.functions.iter().partition(|f| f.body.is_none());
        let count = |wanted: &dyn Fn(&Statement<'_>) -> bool| -> usize {
            defined.iter().map(|f| statements(&module, f.name).into_iter().filter(|s| wanted(s)).count()).sum()
        };
        let locs = count(&|s| matches!(s, Statement::Loc(_)));
        assert_eq!(locs, code.iter().filter(|line| line.starts_with(".loc\t")).count());
        let labels = count(&|s| matches!(s, Statement::Label { .. }));
        assert_eq!(labels, code.iter().filter(|line| line.ends_with(':')).count());
        let ended = count(&|s| !matches!(s, Statement::Loc(_) | Statement::Label { .. } | Statement::Scope(_)));
        let outside = module.variables.len() + declared.len() + module.aliases.len();
        assert_eq!(ended + outside, code.join("\n").matches(';').count());
    }
}

#[test]
fn llvm_writes_jump_tables_aliases_and_addresses() {
    let module = read(LLVM);
    assert_eq!((module.version, &module.target[..], module.address_size), ((7, 8), &["sm_75"][..], 64));
    assert_eq!(module.aliases, [("twofold", "double")]);
    assert_eq!(module.functions.len(), 9);
    assert_eq!(module.functions[0].directives, [("noreturn", vec![])]);
    let Some(Init::List(bytes)) = &variable(&module, "data").init else { panic!() };
    assert_eq!(bytes.len(), 13);
    let double = || Box::new(Init::Address { name: "double", offset: 0, generic: false });
    assert_eq!(bytes[2], Init::Mask { mask: 0xff00, of: double() });
    assert_eq!(bytes[12], Init::Number(Number::Integer(63)));
    let inside = Init::Address { name: "data", offset: 8, generic: true };
    assert_eq!(variable(&module, "inside").init, Some(inside));
    assert_eq!(variable(&module, "seconds").linkage, Linkage::Common);
    let body = statements(&module, "llvm");
    let targets = body.iter().find_map(|statement| match statement {
        Statement::BranchTargets { label, targets, .. } => Some((*label, targets.len())),
        _ => None,
    });
    assert_eq!(targets, Some(("$L_brx_0", 5)));
    assert!(body.iter().any(|s| matches!(s, Statement::CallPrototype { label: "prototype_3", .. })));
    let opcodes = opcodes(&body);
    assert_eq!(opcodes.len(), 57);
    assert_eq!(opcodes.iter().filter(|opcode| opcode.starts_with("call")).count(), 4);
}

#[test]
fn nvcc_writes_calls_with_source_lines() {
    let module = read(CALLS);
    assert_eq!(module.files, [(1, "calls.cu".into()), (2, "sm_30_intrinsics.hpp".into())]);
    let [(".debug_str", names)] = module.sections[..] else { panic!() };
    assert!(names.contains("$L__info_string0:"));
    let entry = module.functions.iter().find(|f| f.entry).unwrap();
    assert_eq!(entry.directives, [("maxntid", vec![128, 1, 1]), ("minnctapersm", vec![2])]);
    let body = statements(&module, "calls");
    let inlined = body.iter().find_map(|statement| match statement {
        Statement::Loc(loc) => loc.inlined_at.map(|at| (loc.file, loc.line, at)),
        _ => None,
    });
    assert_eq!(inlined, Some((2, 408, (1, 24, 9))));
    let calls: Vec<_> = body
        .iter()
        .filter_map(|statement| match statement {
            Statement::Instruction(call) if call.opcode.starts_with("call") => Some(&call.operands[1]),
            _ => None,
        })
        .collect();
    let name = Operand::Name;
    let expected = ["_Z9fibonaccii", "_Z5twicei", "%rd44", "_Z4both4Pairi"].map(name);
    assert_eq!(calls, expected.iter().collect::<Vec<_>>());
}

#[test]
fn nvcc_writes_state_spaces() {
    let module = read(MEMORY);
    let packed = variable(&module, "packed");
    assert_eq!(
        (packed.space, packed.align, packed.ty, &packed.dims[..]),
        (Space::Global, Some(1), "u8", &[Some(9)][..])
    );
    assert_eq!(variable(&module, "message").init, Some(Init::Address { name: "$str", offset: 0, generic: true }));
    assert_eq!(variable(&module, "everywhere").init, Some(Init::Number(Number::Integer(3))));
    assert_eq!(variable(&module, "weights").space, Space::Const);
    let body = statements(&module, "_Z4tileIfLi64EEvPKT_PS0_");
    let shared = body.iter().find_map(|statement| match statement {
        Statement::Variable(variable) => Some((variable.space, variable.dims[0])),
        _ => None,
    });
    assert_eq!(shared, Some((Space::Shared, Some(256))));
}

#[test]
fn nvcc_writes_copies_pairs_and_inline_assembly() {
    let module = read(ASYNC);
    let body = statements(&module, "async");
    let opcodes = opcodes(&body);
    for opcode in ["cp.async.cg.shared.global", "cp.async.commit_group", "redux.sync.add.s32", "bra.uni"] {
        assert!(opcodes.iter().any(|found| found.starts_with(opcode)), "{opcode}: {opcodes:?}");
    }
    let pairs = body.iter().filter(|statement| match statement {
        Statement::Instruction(instruction) => {
            matches!(instruction.operands.first(), Some(Operand::Pair(..)))
        }
        _ => false,
    });
    assert_eq!(pairs.count(), 3);
    let bulk = read(BULK);
    let tensor = statements(&bulk, "tma").into_iter().find_map(|statement| match statement {
        Statement::Instruction(copy) if copy.opcode.starts_with("cp.async.bulk") => Some(&copy.operands[1]),
        _ => None,
    });
    let coordinates = vec![Operand::Name("%r2"), Operand::Name("%r3")];
    assert_eq!(tensor, Some(&Operand::Tuple(vec![Operand::Name("%rd1"), Operand::Vector(coordinates)])));
}

#[test]
fn nvcc_writes_debug_sections() {
    let module = read(DEBUG);
    assert_eq!(module.target, ["sm_75", "debug"]);
    let names: Vec<_> = module.sections.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [".debug_loc", ".debug_abbrev", ".debug_info", ".debug_macinfo"]);
    assert!(module.sections[2].1.contains(".b32 .debug_abbrev"));
}
