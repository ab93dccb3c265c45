//! What ptxas refuses is refused by name, with its line and column; and what it takes in other spellings is run.

use simt::{Config, Launch, LoadError, Machine, Module};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Why a module or its kernel is refused, and at which line and column.
fn refusal(text: &str) -> (u32, u32, String) {
    let loaded = Module::from_ptx(text).and_then(|module| {
        let names: Vec<String> = module.kernels().map(str::to_owned).collect();
        names
            .iter()
            .try_for_each(|name| module.function(name).map(drop))
    });
    match loaded {
        Err(LoadError::Parse(error) | LoadError::Refused { error, .. }) => {
            (error.line, error.column, error.message)
        }
        other => panic!("{other:?}: {text}"),
    }
}

#[test]
fn declarations() {
    for (text, place, message) in [
        (
            ".global .u32 a[2] = {1.5, 2.5};",
            (4, 14),
            "`a` does not hold its initial value, a floating-point number",
        ),
        (
            ".global .f32 a = 1;",
            (4, 14),
            "`a` is no integer, and its initial value is one",
        ),
        (
            ".shared .u32 a = 1;",
            (4, 14),
            "`a` cannot have an initial value: only .global and .const variables can",
        ),
        (
            ".global .u32 a;\n.global .u32 a;",
            (5, 14),
            "`a` is declared twice",
        ),
        (
            ".entry a() { ret; }\n.entry a() { ret; }",
            (5, 8),
            "function `a` is declared twice",
        ),
        (
            ".global .u32 a;\n.entry a() { ret; }",
            (5, 8),
            "`a` is a function and a variable",
        ),
        (
            ".entry k(.param .u32 a, .param .u64 a) { ret; }",
            (4, 37),
            "`a` is declared twice",
        ),
        (
            ".entry k() {\n.reg .u32 %r<4>;\n.reg .u32 %r2;\nret; }",
            (6, 1),
            "`%r2` is declared twice",
        ),
        (
            ".entry k() {\n.local .u32 a = 1;\nret; }",
            (5, 13),
            "`a` cannot have an initial value: only .global and .const variables can",
        ),
        (
            ".entry k() {\n.shared .b8 a[49153];\nret; }",
            (5, 13),
            "with `a`, there are 49153 bytes of static shared memory: 49152 is the most",
        ),
        (
            ".entry k(.param .b8 a[4353]) { ret; }",
            (4, 21),
            "the parameters of `k` take more than 4352 bytes",
        ),
        (
            ".entry k() .maxntid 0 { ret; }",
            (4, 8),
            "the numbers of .maxntid begin with 1",
        ),
        (
            ".entry k() .noreturn { ret; }",
            (4, 8),
            "`k` cannot have this directive .noreturn",
        ),
    ] {
        let (line, column, found) = refusal(&format!("{HEAD}{text}\n"));
        assert_eq!(((line, column), found.as_str()), (place, message), "{text}");
    }
    for (head, place, message) in [
        (
            ".version 8.0 .target sm_91",
            (1, 22),
            "there is no target `sm_91`",
        ),
        (
            ".version 8.0 .target sm_75a",
            (1, 22),
            "there is no target `sm_75a`",
        ),
        (
            ".version 8.0 .target sm_80, fast",
            (1, 29),
            "there is no target `fast`",
        ),
        (".version 5.9 .target sm_80", (1, 1), "there is no PTX 5.9"),
    ] {
        let text = format!("{head}\n.address_size 64\n.entry k() {{ ret; }}\n");
        let (line, column, found) = refusal(&text);
        assert_eq!(((line, column), found.as_str()), (place, message), "{head}");
    }
    // A parameter may be larger from 8.1 on.
    let text =
        ".version 8.1\n.target sm_80\n.address_size 64\n.entry k(.param .b8 a[4353]) { ret; }\n";
    assert!(Module::from_ptx(text).unwrap().function("k").is_ok());
}

#[test]
fn operands() {
    for (instruction, message) in [
        (
            "mov.u32 %r1, 1.5;",
            "`mov.u32` does not take a floating-point number here",
        ),
        (
            "add.f32 %f1, %f2, 1;",
            "`add.f32` does not take an integer here",
        ),
        (
            "add.s32 %r1, %r2, %f1;",
            "register `%f1` is declared .f32, and .s32 belongs here",
        ),
        (
            "add.u32 %r1, %r2, %tid.x;",
            "`%tid.x` is a special register, which only `mov` and `cvt` of integers read",
        ),
        ("add.u32 _, %r2, 1;", "`add.u32` does not take `_` here"),
        (
            "add.u32 %r1, %r2.x, 1;",
            "`%r2.x` is no element of a vector register",
        ),
        (
            "ld.relaxed.u32 %r1, [%rd1];",
            "instruction `ld.relaxed.u32` is not supported",
        ),
        ("ld.global.u32 %r1, [%f1];", "register `%f1` is no address"),
        ("bar.sync 16;", "16 is no barrier: there are 0 to 15"),
        ("bar.sync 0, 33;", "33 threads are no whole warps"),
    ] {
        let text = format!(
            "{HEAD}.entry k()\n{{\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<2>;\n  {instruction}\nret;\n}}\n"
        );
        let (line, column, found) = refusal(&text);
        assert_eq!(
            (line, column, found.as_str()),
            (9, 3, message),
            "{instruction}"
        );
    }
}

#[test]
fn spellings() {
    let text = format!(
        "{HEAD}.global .align 4 .u32 table[4] = {{10, 20, 30, 40}};\n\
         .entry k(.param .u64 out)\n{{\n\
         .reg .v4 .u32 %v<2>;\n.reg .v2 .b32 %w;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p<3>;\n\
         mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 3;\n\
         vote.ballot.sync.b32 %r2, %p1, -1;\n\
         vote.sync.ballot.b32 %r3, %p1, -1;\n\
         mov.u64 %rd1, table[1];\nld.u32.global %r4, [%rd1];\nld.global.u32 %r5, table[3];\n\
         ld.v4.global.u32 %v1, [table];\nadd.u32 %w.x, %v1.x, %v1.w;\nadd.u32 %w.y, %v1.g, %v1.b;\n\
         ld.param.u64 %rd2, [out];\n\
         st.global.v4.b32 [%rd2], {{%r2, %r3, %r4, %r5}};\nst.global.v2.b32 [%rd2+16], %w;\nret;\n}}\n"
    );
    let module = Module::from_ptx(text).unwrap();
    let function = module.function("k").unwrap();
    let mut machine = Machine::new(Config::default()).unwrap();
    let out = machine.zeroed::<u32>(6).unwrap();
    let launch = [out.into()];
    machine
        .launch(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &launch))
        .unwrap();
    assert_eq!(machine.read(out).unwrap(), [7, 7, 20, 40, 50, 50]);
}
