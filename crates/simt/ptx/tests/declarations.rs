//! Tests of the module's scope: headers, variables, functions.

use super::{HEAD, module};
use ptx::ast::{Init, Linkage, Module, Number, Space, Statement, Variable};
use ptx::parse;

/// Returns a plain variable for tests to modify.
fn variable<'a>(space: Space, ty: &'a str, name: &'a str) -> Variable<'a> {
    let linkage = Linkage::Internal;
    let (dims, init) = (vec![], None);
    let (is_managed, is_pointer) = (false, false);
    Variable {
        linkage,
        space,
        align: None,
        ty,
        vector: 1,
        name,
        at: 0,
        dims,
        init,
        is_managed,
        is_pointer,
        comment: "",
    }
}

/// Compares the module's variables with the expected ones, ignoring their places.
fn variables(text: &str, expected: &[Variable<'_>]) {
    module(text, |module| {
        let found: Vec<_> = module.variables.into_iter().map(|variable| Variable { at: 0, ..variable }).collect();
        assert_eq!(found, expected, "{text}");
    });
}

fn number<'a>(value: u64) -> Init<'a> {
    Init::Number(Number::Integer(value))
}

#[test]
fn an_empty_module() {
    let tree = parse(".version 6.0 // old\n.target sm_75, debug /* two */ .target texmode_independent").unwrap();
    let target = vec!["sm_75", "debug", "texmode_independent"];
    assert_eq!(tree, Module { version: (6, 0), target, address_size: 32, ..Module::default() });
    assert_eq!(parse(".version 8.10 .target sm_90a").unwrap().version, (8, 10));
}

#[test]
fn directives_of_a_module() {
    let text = r#"
        .file 1 "a b;}.cu"
        .file 2 "C:\\k\", 1700000000, 345
        .file 3 "C:\101\gr\303\266\303\237e.rs"
        .pragma "nounroll", "other";
        .section .debug_str { L: .b8 1,2 // }
            /* } */ {} .b64 L-4 .b32 .debug_abbrev }
        .section .debug_macinfo {}
        .func f;
        .alias g, f;
        .loc 1 2 3"#;
    module(text, |module| {
        assert_eq!((module.version, module.address_size), ((8, 5), 64));
        assert_eq!(module.files, [(1, "a b;}.cu".into()), (2, r"C:\\k\".into()), (3, r"C:\101\größe.rs".into())]);
        assert_eq!(module.aliases, [("g", "f")]);
        let [(".debug_str", text), (".debug_macinfo", "")] = module.sections[..] else {
            panic!("{:?}", module.sections)
        };
        assert!(text.starts_with(" L: .b8 1,2 // }\n") && text.ends_with(".debug_abbrev "), "{text}");
    });
}

#[test]
fn variables_of_all_spaces() {
    let b32 = |space, name| variable(space, "b32", name);
    variables(
        ".global .b32 a; .const .b32 b; .shared .b32 c; .local .b32 d; .tex .u64 e; .param .b32 f;",
        &[
            b32(Space::Global, "a"),
            b32(Space::Const, "b"),
            b32(Space::Shared, "c"),
            b32(Space::Local, "d"),
            variable(Space::Tex, "u64", "e"),
            b32(Space::Param, "f"),
        ],
    );
    for (word, linkage) in [
        (".extern", Linkage::Extern),
        (".visible", Linkage::Visible),
        (".weak", Linkage::Weak),
        (".common", Linkage::Common),
    ] {
        variables(&format!("{word} .global .b32 a;"), &[Variable { linkage, ..b32(Space::Global, "a") }]);
    }
    let more = variable(Space::Shared, "b8", "more");
    variables(
        ".extern .shared .align 16 .b8 more[];",
        &[Variable { linkage: Linkage::Extern, align: Some(16), dims: vec![None], ..more }],
    );
    variables(
        ".global .attribute(.managed) .align 8 .v2 .f32 $x_1[4][3];",
        &[Variable {
            is_managed: true,
            align: Some(8),
            vector: 2,
            dims: vec![Some(4), Some(3)],
            ..variable(Space::Global, "f32", "$x_1")
        }],
    );
    variables(
        ".global .attribute(.unified(19, 95), .managed) .b128 x[2*WARP_SZ];",
        &[Variable { is_managed: true, dims: vec![Some(64)], ..variable(Space::Global, "b128", "x") }],
    );
    variables(".global .v8 .b32 x;", &[Variable { vector: 8, ..b32(Space::Global, "x") }]);
}

#[test]
fn initializers() {
    let init = |text: &str, expected: Init<'_>| {
        let init = Some(expected);
        let expected = Variable { init, ..variable(Space::Global, "u64", "x") };
        variables(&format!(".global .u64 x = {text};"), &[expected]);
    };
    let address = |name, offset, generic| Init::Address { name, offset, generic };
    init("3*(4+1)", number(15));
    init("-1", number(u64::MAX));
    init("WARP_SZ", number(32));
    init("0f3f800000", Init::Number(Number::F32(0x3f80_0000)));
    init("1.5", Init::Number(Number::F64(1.5_f64.to_bits())));
    init("{}", Init::List(vec![]));
    init("{1, 2}", Init::List(vec![number(1), number(2)]));
    let inner = |values: [u64; 2]| Init::List(values.map(number).to_vec());
    init("{{1,2},{3,4}}", Init::List(vec![inner([1, 2]), inner([3, 4])]));
    init("y", address("y", 0, false));
    init("y+4*2", address("y", 8, false));
    init("generic(y)", address("y", 0, true));
    init("generic(y)-4", address("y", -4, true));
    init("generic(y)+8", address("y", 8, true));
    init("generic+8", address("generic", 8, false));
    init(
        "{0XFF(y), 0xFF00(generic(y)+4), 0xFF(258)}",
        Init::List(vec![
            Init::Mask { mask: 0xff, of: Box::new(address("y", 0, false)) },
            Init::Mask { mask: 0xff00, of: Box::new(address("y", 4, true)) },
            Init::Mask { mask: 0xff, of: Box::new(number(258)) },
        ]),
    );
    let x = |name, init| Variable { init, ..variable(Space::Const, "s32", name) };
    variables(
        ".const .s32 a = 1, b, c = {2};",
        &[x("a", Some(number(1))), x("b", None), x("c", Some(Init::List(vec![number(2)])))],
    );
}

#[test]
fn functions() {
    let text = r#"
        .extern .func (.param .b32 r) printf (.param .b64 a, .param .align 8 .b8 b[]) ;
        .visible .func .attribute(.unified(1, 2)) quiet .noreturn .abi_preserve 16 { }
        .weak .func (.reg .b32 r) pure(.reg .b32 a, .reg .pred b) { ret; }
        .entry bare;
        .visible .entry k(
            .param .u64 .ptr .global .align 1 x, .param .align 8 .b64 .ptr y, .param .u64 .ptr.shared z,
            .param .align 64 .b8 w[128]
        )
        .maxntid 128, 1, 0x1 .pragma "nounroll"; .minnctapersm 2 .maxnreg 32 .reqntid 16,8 .explicitcluster
        .reqnctapercluster 2, 1, 1 .maxclusterrank 8 .blocksareclusters
        { }"#;
    module(text, |module| {
        let [printf, quiet, pure, bare, k] = &module.functions[..] else { panic!() };
        assert_eq!((printf.linkage, printf.entry, printf.name), (Linkage::Extern, false, "printf"));
        assert_eq!((printf.returns.len(), printf.params.len()), (1, 2));
        assert_eq!((printf.params[1].align, &printf.params[1].dims), (Some(8), &vec![None]));
        assert_eq!(printf.body, None);
        assert_eq!(quiet.linkage, Linkage::Visible);
        let directives = [("attribute", vec![]), ("noreturn", vec![]), ("abi_preserve", vec![16])];
        assert_eq!(quiet.directives, directives);
        assert_eq!(quiet.body, Some(vec![]));
        assert_eq!((pure.linkage, pure.returns[0].space), (Linkage::Weak, Space::Reg));
        assert_eq!(pure.params.iter().map(|p| p.ty).collect::<Vec<_>>(), ["b32", "pred"]);
        assert!(bare.entry && bare.body.is_none() && bare.params.is_empty());
        let params: Vec<_> = k.params.iter().map(|p| (p.name, p.ty, p.align)).collect();
        assert_eq!(k.params.iter().map(|p| p.is_pointer).collect::<Vec<_>>(), [true, true, true, false]);
        // The alignment of a pointer's target is not the alignment of the parameter.
        assert_eq!(params, [("x", "u64", None), ("y", "b64", Some(8)), ("z", "u64", None), ("w", "b8", Some(64))]);
        assert_eq!(
            k.directives,
            [
                ("maxntid", vec![128, 1, 1]),
                ("minnctapersm", vec![2]),
                ("maxnreg", vec![32]),
                ("reqntid", vec![16, 8]),
                ("explicitcluster", vec![]),
                ("reqnctapercluster", vec![2, 1, 1]),
                ("maxclusterrank", vec![8]),
                ("blocksareclusters", vec![]),
            ]
        );
        let at = |name: &str| (HEAD.len() + text.find(name).unwrap()) as u32;
        assert_eq!((k.at, printf.at, k.params[3].at), (at("k("), at("printf"), at("w[128]")));
    });
}

#[test]
fn declarations_of_a_body() {
    let text = r#".reg .b32 %r<9>, x; .reg.pred p; .reg .v4 .f32 v, w<2>;
        .shared .align 4 .b8 tile[512]; .local .b32 a, b[2]; .param .b64 q; .extern .shared .b8 m[];
        .pragma "nounroll"; .file 3 "c.cu""#;
    super::body(text, |body| {
        let registers: Vec<_> = body
            .iter()
            .filter_map(|statement| match statement {
                Statement::Registers { ty, vector, names, at: _ } => Some((*ty, *vector, names.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(
            registers,
            [
                ("b32", 1, vec![("%r", Some(9)), ("x", None)]),
                ("pred", 1, vec![("p", None)]),
                ("f32", 4, vec![("v", None), ("w", Some(2))]),
            ]
        );
        let variables: Vec<_> = body
            .iter()
            .filter_map(|statement| match statement {
                Statement::Variable(variable) => Some((variable.space, variable.name)),
                _ => None,
            })
            .collect();
        let (shared, local) = (Space::Shared, Space::Local);
        assert_eq!(variables, [(shared, "tile"), (local, "a"), (local, "b"), (Space::Param, "q"), (shared, "m")]);
        assert_eq!(body[8..], [Statement::Ignored, Statement::Ignored]);
    });
}
