//! Programs generated from arbitrary bytes.

use std::fmt::Write as _;

/// Opcodes with the register files of their operands, results first: r(32) d(64) h(16) f(32) g(64 float)
/// p(redicate) i(mmediate) a(ddress of a buffer) s(hared address) l(abel).
const SHAPES: &[(&str, &str)] = &[
    ("add.s32", "rrr"),
    ("sub.u32", "rrr"),
    ("mul.lo.s32", "rrr"),
    ("mul.wide.u32", "drr"),
    ("mad.lo.s32", "rrrr"),
    ("div.u32", "rrr"),
    ("rem.s32", "rrr"),
    ("div.s64", "ddd"),
    ("add.u64", "ddd"),
    ("shl.b32", "rrr"),
    ("shr.s64", "ddr"),
    ("bfe.u32", "rrrr"),
    ("bfi.b64", "dddrr"),
    ("prmt.b32", "rrrr"),
    ("popc.b64", "rd"),
    ("clz.b32", "rr"),
    ("brev.b32", "rr"),
    ("lop3.b32", "rrrri"),
    ("min.s32", "rrr"),
    ("add.rn.f32", "fff"),
    ("fma.rn.f32", "ffff"),
    ("div.rz.f64", "ggg"),
    ("sqrt.rm.f32", "ff"),
    ("ex2.approx.f32", "ff"),
    ("cvt.rzi.s32.f32", "rf"),
    ("cvt.rn.f32.u64", "fd"),
    ("cvt.s8.s32", "rr"),
    ("cvt.u64.u32", "dr"),
    ("cvt.rn.f16.f32", "hf"),
    ("add.f16", "hhh"),
    ("selp.b32", "rrrp"),
    ("setp.lt.s32", "prr"),
    ("setp.gtu.f32", "pff"),
    ("setp.eq.u64", "pdd"),
    ("and.pred", "ppp"),
    ("mov.u32", "ri"),
    ("mov.b32", "fr"),
    ("mov.b64", "gd"),
    ("not.b32", "rr"),
    ("ld.global.u32", "ra"),
    ("ld.global.v2.u32", "vva"),
    ("st.global.u32", "ar"),
    ("ld.global.u8", "ra"),
    ("ld.shared.u32", "rs"),
    ("st.shared.u32", "sr"),
    ("st.shared.u64", "sd"),
    ("ld.u32", "ra"),
    ("atom.global.add.u32", "rar"),
    ("atom.shared.cas.b32", "rsrr"),
    ("red.global.max.s32", "ar"),
    ("shfl.sync.bfly.b32", "rrrri"),
    ("vote.sync.ballot.b32", "rpi"),
    ("match.any.sync.b32", "rri"),
    ("redux.sync.add.s32", "rri"),
    ("bar.sync", "i"),
    ("bar.warp.sync", "i"),
    ("activemask.b32", "r"),
    ("bra", "l"),
    ("bra", "l"),
    ("bra", "l"),
    ("ret", ""),
    ("exit", ""),
    ("trap", ""),
    ("call.uni", "c"),
    ("membar.gl", ""),
    ("isspacep.shared", "pd"),
    ("cvta.to.global.u64", "dd"),
    ("mov.b64", "d%"),
];

/// Returns a kernel `k(a, b, n)` with the instructions that these bytes choose.
pub(crate) fn program(data: &[u8]) -> String {
    let mut bytes = data.iter().copied();
    let mut next = move || bytes.next().unwrap_or(0);
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b8 tile[256];\n\
         .global .align 4 .u32 counter = 3;\n\
         .func (.param .u32 out) twice(.param .u32 in)\n{\n.reg .b32 %r<3>;\n.local .u32 spill[4];\n\
         ld.param.u32 %r0, [in];\nst.local.u32 [spill+4], %r0;\nld.local.u32 %r1, [spill+4];\n\
         add.s32 %r2, %r0, %r1;\nst.param.u32 [out], %r2;\nret;\n}\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n.reg .b32 %r<8>;\n\
         .reg .b64 %d<8>;\n.reg .b16 %h<8>;\n.reg .f32 %f<8>;\n.reg .f64 %g<8>;\n.reg .pred %p<8>;\n\
         .param .u32 arg;\n.param .u32 result;\n\
         ld.param.u64 %d0, [a];\nld.param.u64 %d1, [b];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %laneid;\n\
         mul.wide.u32 %d2, %r0, 4;\nadd.u64 %d3, %d1, %d2;\nsetp.lt.u32 %p0, %r0, 7;\n",
    );
    let count = data.len() / 4;
    for line in 0..count.min(200) {
        let _ = writeln!(text, "L{line}:");
        let choice = next();
        if choice & 1 == 1 {
            let negated = if choice & 2 == 2 { "!" } else { "" };
            let _ = write!(text, "@{negated}%p{} ", choice >> 5);
        }
        let (opcode, shape) = SHAPES[next() as usize % SHAPES.len()];
        if opcode == "call.uni" {
            let _ = writeln!(text, "call.uni (result), twice, (arg);");
            continue;
        }
        let _ = write!(text, "{opcode} ");
        let mut operands = Vec::new();
        let vectors = shape.matches('v').count();
        let mut vector = Vec::new();
        for kind in shape.chars() {
            let byte = next();
            let register = byte % 8;
            let operand = match kind {
                'd' if byte > 250 => "counter".to_owned(),
                'r' if byte > 240 => format!("{}", i32::from(byte) - 250),
                'v' => {
                    vector.push(format!("%r{register}"));
                    if vector.len() < vectors {
                        continue;
                    }
                    format!("{{{}}}", vector.join(", "))
                }
                'i' => match byte % 5 {
                    0 => "0".to_owned(),
                    1 => "-1".to_owned(),
                    _ => byte.to_string(),
                },
                'a' => match byte % 4 {
                    0 => "[counter]".to_owned(),
                    1 => format!("[%d{register}]"),
                    _ => format!("[%d3+{}]", i32::from(byte) - 40),
                },
                's' => format!("[tile+{}]", u32::from(byte) * 2),
                'l' => format!("L{}", usize::from(byte) % count.clamp(1, 200)),
                '%' => ["%clock64", "tile", "%d1", "counter"][usize::from(byte) % 4].to_owned(),
                file => format!("%{file}{register}"),
            };
            operands.push(operand);
        }
        let _ = writeln!(text, "{};", operands.join(", "));
    }
    text.push_str("ret;\n}\n");
    text
}
