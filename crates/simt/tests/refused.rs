//! What ptxas refuses is refused by name, with its line and column; and what it takes in other spellings is run.

use simt::{Config, Launch, LoadError, Machine, Module};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Why a module or its kernel is refused, and at which line and column.
fn refusal(text: &str) -> (u32, u32, String) {
    let loaded = Module::from_ptx(text).and_then(|module| {
        let names: Vec<String> = module.kernels().map(str::to_owned).collect();
        names.iter().try_for_each(|name| module.function(name).map(drop))
    });
    match loaded {
        Err(LoadError::Parse(error) | LoadError::Refused { error, .. }) => (error.line, error.column, error.message),
        other => panic!("{other:?}: {text}"),
    }
}

/// Rows: where the refusal points to, the text behind the head, and the words.
const DECLARATIONS: &str = r"
4:14 .global .u32 a[2] = {1.5, 2.5}; => `a` does not hold its initial value, a floating-point number
4:14 .global .f32 a = 1; => `a` is no integer, and its initial value is one
4:14 .shared .u32 a = 1; => `a` cannot have an initial value: only .global and .const variables can
5:14 .global .u32 a;\n.global .u32 a; => `a` is declared twice
5:8 .entry a() { ret; }\n.entry a() { ret; } => function `a` is declared twice
5:8 .global .u32 a;\n.entry a() { ret; } => `a` is a function and a variable
4:37 .entry k(.param .u32 a, .param .u64 a) { ret; } => `a` is declared twice
6:1 .entry k() {\n.reg .u32 %r<4>;\n.reg .u32 %r2;\nret; } => `%r2` is declared twice
5:13 .entry k() {\n.local .u32 a = 1;\nret; } => `a` cannot have an initial value: only .global and .const variables can
5:13 .entry k() {\n.shared .b8 a[49153];\nret; } => with `a`, there are 49153 bytes of static shared memory: 49152 is the most
4:21 .entry k(.param .b8 a[4353]) { ret; } => the parameters of `k` take more than 4352 bytes
4:8 .entry k() .maxntid 0 { ret; } => the numbers of .maxntid begin with 1
4:8 .entry k() .noreturn { ret; } => `k` cannot have this directive .noreturn
";

/// The same for whole texts, before which nothing stands.
const HEADS: &str = r"
1:22 .version 8.0 .target sm_91 => there is no target `sm_91`
1:22 .version 8.0 .target sm_75a => there is no target `sm_75a`
1:29 .version 8.0 .target sm_80, fast => there is no target `fast`
1:1 .version 5.9 .target sm_80 => there is no PTX 5.9
";

/// The same for the ninth line, an instruction.
const OPERANDS: &str = r"
9:3 mov.u32 %r1, 1.5; => `mov.u32` does not take a floating-point number here
9:3 add.f32 %f1, %f2, 1; => `add.f32` does not take an integer here
9:3 add.s32 %r1, %r2, %f1; => register `%f1` is declared .f32, and .s32 belongs here
9:3 add.u32 %r1, %r2, %tid.x; => `%tid.x` is a special register, which only `mov` and `cvt` of integers read
9:3 add.u32 _, %r2, 1; => `add.u32` does not take `_` here
9:3 mov.u32 %r1, %nothing.x; => there is no register `%nothing.x`, and no special register of that name
9:3 shfl.idx.b32 %r1, %r2, 0, 31; => instruction `shfl.idx.b32`, without .sync, for targets before sm_70, is not supported
9:3 st.bulk.weak.shared::cta [%rd1], 64, 0; => instruction `st.bulk.weak.shared::cta`, of sm_100 and later, is not supported
9:3 multimem.st.global.u32 [%rd1], %r1; => instruction `multimem.st.global.u32`, on memory of several GPUs, is not supported
9:3 add.u32 %r1, %r2.x, 1; => `%r2.x` is no element of a vector register
9:3 ld.relaxed.u32 %r1, [%rd1]; => instruction `ld.relaxed.u32` is not supported
9:3 ld.global.u32 %r1, [%f1]; => register `%f1` is no address
9:3 bar.sync 16; => 16 is no barrier: there are 0 to 15
9:3 bar.sync 0, 33; => 33 threads are no whole warps
";

/// Checks the rows of a table, each in the text that has it between these two; `\n` is a line's end.
fn check(table: &str, before: &str, behind: &str) {
    for row in table.lines().skip(1) {
        let (row, message) = row.split_once(" => ").unwrap();
        let (place, text) = row.split_once(' ').unwrap();
        let text = text.replace("\\n", "\n");
        let (line, column, found) = refusal(&format!("{before}{text}{behind}"));
        assert_eq!(found, message, "{text}");
        assert_eq!(format!("{line}:{column}"), place, "{text}");
    }
}

#[test]
fn declarations_and_operands() {
    check(DECLARATIONS, HEAD, "\n");
    check(HEADS, "", "\n.address_size 64\n.entry k() { ret; }\n");
    let kernel = ".entry k()\n{\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<2>;\n  ";
    check(OPERANDS, &format!("{HEAD}{kernel}"), "\nret;\n}\n");
    // A parameter may be larger from 8.1 on.
    let text = ".version 8.1\n.target sm_80\n.address_size 64\n.entry k(.param .b8 a[4353]) { ret; }\n";
    assert!(Module::from_ptx(text).unwrap().function("k").is_ok());
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
    machine.launch(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &launch)).unwrap();
    assert_eq!(machine.read(out).unwrap(), [7, 7, 20, 40, 50, 50]);
}
