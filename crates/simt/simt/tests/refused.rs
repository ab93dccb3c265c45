//! Tests that what ptxas refuses is refused by name, with its line and column, and that alternative spellings run.

use simt::{Config, Launch, LoadError, Module, Simulator};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Returns the line and column where a module or its kernel is refused, and why.
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

/// Checks the rows `text => message` of a table. Each text is tested between `before` and `after`; `\n` stands for a
/// line break. Without `place`, a row begins with the line and column of the refusal.
fn check(table: &str, place: Option<&str>, before: &str, after: &str) {
    for row in table.lines() {
        let (row, message) = row.split_once(" => ").unwrap();
        let (place, text) = place.map_or_else(|| row.split_once(' ').unwrap(), |place| (place, row));
        let (target, text) = text.split_once("sm_80: ").map_or(("sm_90a", text), |(_, text)| ("sm_80", text));
        let text = text.replace("\\n", "\n");
        let (line, column, found) = refusal(&format!("{}{text}{after}", before.replace("sm_90a", target)));
        assert_eq!(found, message, "{text}");
        assert_eq!(format!("{line}:{column}"), place, "{text}");
    }
}

#[test]
fn instructions_of_newer_modules() {
    let refused = |version: &str, target: &str, instruction: &str| {
        let registers = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;";
        refusal(&format!(
            ".version {version} .target {target} .address_size 64 .entry k() {{ {registers} {instruction} ret; }}"
        ))
    };
    let text = "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];";
    let (_, _, message) = refused("8.0", "sm_90", text);
    let opcode = text.split(' ').next().unwrap();
    assert_eq!(message, format!("`{opcode}` needs PTX 8.1 (`.version 8.1`), but this module has 8.0"));
    let (_, _, message) = refused("8.0", "sm_90", "setmaxnreg.inc.sync.aligned.u32 64;");
    let missing = "needs sm_90a (`.target sm_90a`), but this module has sm_90";
    assert_eq!(message, format!("`setmaxnreg.inc.sync.aligned.u32` {missing}"));
    let (_, _, message) = refused("7.3", "sm_80", "ld.global.L2::cache_hint.f32 %f1, [%rd1], %rd2;");
    let missing = "needs PTX 7.4 (`.version 7.4`), but this module has 7.3";
    assert_eq!(message, format!("`ld.global.L2::cache_hint.f32` {missing}"));
}

#[test]
fn declarations_and_instructions() {
    check(include_str!("fixtures/refused/declarations.txt"), None, HEAD, "\n");
    check(include_str!("fixtures/refused/heads.txt"), None, "", "\n.address_size 64\n.entry k() { ret; }\n");
    let kernel = "
        .version 8.8 .target sm_90a .address_size 64 .global .u64 other; .entry k(.param .u64 in) {
        .shared .b32 s; .local .b32 l; .reg .b8 %c<4>; .reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .pred %p<4>;
        .reg .f32 %f<8>; .reg .f64 %fd<4>;\n  ";
    check(include_str!("fixtures/refused/instructions.txt"), Some("5:3"), kernel, "\nret;\n}\n");
    // PTX 8.1 allows larger parameters.
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
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out = simulator.zeroed::<u32>(6).unwrap();
    let launch = [out.into()];
    simulator.launch(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &launch)).unwrap();
    assert_eq!(simulator.read(out).unwrap(), [7, 7, 20, 40, 50, 50]);
}
