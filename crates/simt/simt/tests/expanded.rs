//! Tests instructions that the simulator expands to several operations: calls with registers for parameters, `mov` of
//! vectors, a register plus a number as an operand, and the `shfl` and `vote` of architectures before Volta. No CUDA
//! compiler emits these instructions, but people write them and `ptxas` accepts them.

use simt::{Config, Launch, Module, Simulator};

/// Returns `%r0` of each of 32 threads at the end of `body`. `%lane` is the thread's number; `functions` precede the
/// kernel.
fn run(header: &str, functions: &str, body: &str) -> Vec<u32> {
    let text = format!(
        "{header}\n.address_size 64\n{functions}\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %r<10>, %lane;\n.reg .b64 %out, %at, %d<4>;\n.reg .b16 %h<4>;\n.reg .f32 %f<4>;\n.reg .pred %p<4>;\n\
         ld.param.u64 %out, [out];\nmov.u32 %lane, %tid.x;\nmad.wide.u32 %at, %lane, 4, %out;\nmov.u32 %r0, 0;\n\
         {body}\nst.global.u32 [%at], %r0;\nret;\n}}\n"
    );
    let module = Module::from_ptx(text).unwrap();
    let function = module.function("k").unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out = simulator.zeroed::<u32>(32).unwrap();
    simulator.launch(&Launch::new(&function, [1; 3], [32, 1, 1], &[out.into()])).unwrap();
    simulator.read(out).unwrap()
}

const HEADER: &str = ".version 8.0\n.target sm_90";

fn gives(functions: &str, body: &str, expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..32).map(expected).collect();
    assert_eq!(run(HEADER, functions, body), expected, "{body}");
}

#[test]
fn functions_have_parameters_and_results_in_registers() {
    let one = ".func (.reg .u32 r) f(.reg .u32 a) { add.u32 r, a, 100; ret; }";
    gives(one, "call (%r0), f, (%lane);", |lane| lane + 100);
    gives(one, "call (%r0), f, (7);", |_| 107);
    gives(one, "call (_), f, (%lane); mov.u32 %r0, %lane;", |lane| lane);
    // The callee may return in several places, and its caller may be a function with registers of the same names.
    let two = format!(
        "{one}\n.func (.reg .u32 r) g(.reg .u32 a) {{ .reg .pred p; setp.lt.u32 p, a, 16; mov.u32 r, 5; @p ret; call (r), f, (a); ret; }}"
    );
    gives(&two, "call (%r0), g, (%lane);", |lane| if lane < 16 { 5 } else { lane + 100 });
    let several = ".func (.reg .u32 r, .reg .pred q) f(.reg .u64 a, .reg .pred b, .reg .f32 c)\n\
                   { .reg .f32 x; cvt.u32.u64 r, a; add.f32 x, c, 0f3f800000; @b cvt.rzi.u32.f32 r, x; not.pred q, b; ret; }";
    let body = "cvt.u64.u32 %d1, %lane; setp.lt.u32 %p1, %lane, 8; mov.f32 %f1, 0f40a00000; \
                call (%r0, %p2), f, (%d1, %p1, %f1); @%p2 add.u32 %r0, %r0, 1000;";
    gives(several, body, |lane| if lane < 8 { 6 } else { lane + 1000 });
    let vector = ".func (.reg .u32 r) f(.reg .v4 .u16 a) { mov.b32 r, {a.w, a.x}; ret; }";
    let body = ".reg .v4 .u16 %v; cvt.u16.u32 %h1, %lane; mov.v4.u16 %v, {%h1, 1, 2, 3}; call (%r0), f, (%v);";
    gives(vector, body, |lane| lane << 16 | 3);
}

#[test]
fn registers_and_variables_are_interchangeable_in_calls() {
    let in_memory = ".func (.param .b32 r) f(.param .b32 a)\n\
                     { .reg .b32 x; ld.param.b32 x, [a]; add.u32 x, x, 1; st.param.b32 [r], x; ret; }";
    gives(in_memory, "call (%r0), f, (%lane);", |lane| lane + 1);
    let in_registers = ".func (.reg .b32 r) f(.reg .b32 a) { add.u32 r, a, 1; ret; }";
    let body =
        ".param .b32 to; .param .b32 from; st.param.b32 [from], %lane; call (to), f, (from); ld.param.b32 %r0, [to];";
    gives(in_registers, body, |lane| lane + 1);
    let by_address =
        "mov.u64 %d1, f; prototype: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r0), %d1, (%lane), prototype;";
    gives(in_registers, by_address, |lane| lane + 1);
}

#[test]
fn lanes_that_do_not_call_keep_their_registers() {
    let function = ".func (.reg .u32 r, .reg .pred q) f(.reg .u32 a) { add.u32 r, a, 100; setp.eq.u32 q, a, a; ret; }";
    // The guard is itself a result, and the first result to be written.
    let body = "setp.lt.u32 %p1, %lane, 4; mov.u32 %r0, 9; @!%p1 call (%r0, %p1), f, (%lane); @!%p1 mov.u32 %r0, 1;";
    gives(function, body, |lane| if lane < 4 { 9 } else { lane + 100 });
}

#[test]
fn vector_moves_read_before_they_write() {
    let body = ".reg .v4 .u32 %v, %w; add.u32 %r1, %lane, 1; mov.v4.u32 %v, {%lane, %r1, 40, 50}; mov.v4.u32 %w, %v; \
                mov.u32 %r3, %w.z; mov.u32 %r2, %w.y; mov.v2.u32 {%r1, %r2}, {%r2, %r3}; mad.lo.u32 %r0, %r2, 100, %r1;";
    gives("", body, |lane| 4000 + lane + 1);
    gives("", "mov.v2.u32 {%r0, _}, {%lane, 1};", |lane| lane);
    let body = ".reg .v4 .u32 %v; mov.v4.u32 %v, %ntid; mad.lo.u32 %r0, %v.x, 100, %v.z; add.u32 %r0, %r0, %v.w;";
    gives("", body, |_| 3201);
    gives("", "mov.u32 %r1, 7; mov.v2.u32 {%r0, %r1}, {%r1, %lane}; mad.lo.u32 %r0, %r1, 10, %r0;", |lane| {
        lane * 10 + 7
    });
}

#[test]
fn an_operand_is_a_register_plus_a_number() {
    gives("", "mul.lo.u32 %r0, %lane+3, %lane+5;", |lane| (lane + 3) * (lane + 5));
    gives("", "cvt.u16.u32 %h1, %lane; cvt.u32.u16 %r0, %h1+65535;", |lane| lane.wrapping_sub(1) & 0xffff);
    gives("", "cvt.u64.u32 %d1, %lane; cvt.u32.u64 %r0, %d1+4294967297;", |lane| lane + 1);
}

#[test]
fn pre_volta_shuffles_and_votes_use_the_active_lanes() {
    const OLD: &str = ".version 6.0\n.target sm_35";
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 16 { lane ^ 1 } else { 0 }).collect();
    assert_eq!(run(OLD, "", "setp.lt.u32 %p1, %lane, 16; @%p1 shfl.bfly.b32 %r0, %lane, 1, 31;"), expected);
    let body = "setp.lt.u32 %p1, %lane, 16; setp.lt.u32 %p2, %lane, 4; @!%p1 bra end; vote.ballot.b32 %r0, %p2; end:";
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 16 { 0xf } else { 0 }).collect();
    assert_eq!(run(OLD, "", body), expected);
}
