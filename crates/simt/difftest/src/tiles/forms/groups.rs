//! Matrix products of four warps.

use super::{bits, elements, list};
use crate::tiles::Form;

/// Adds forms of `wgmma` with operands in shared memory, in all layouts.
pub(super) fn groups(all: &mut Vec<Form>) {
    let kinds: [([&str; 3], usize, &str); 12] = [
        (["f32", "f16", "f16"], 16, ""),
        (["f16", "f16", "f16"], 16, ""),
        (["f32", "bf16", "bf16"], 16, ""),
        (["f32", "tf32", "tf32"], 8, ""),
        (["f32", "e4m3", "e4m3"], 32, ""),
        (["f32", "e5m2", "e4m3"], 32, ""),
        (["f16", "e4m3", "e5m2"], 32, ""),
        (["s32", "s8", "s8"], 32, ""),
        (["s32", "u8", "s8"], 32, ".satfinite"),
        (["s32", "s8", "u8"], 32, ""),
        (["s32", "u8", "u8"], 32, ".satfinite"),
        (["s32", "b1", "b1"], 256, ".and.popc"),
    ];
    for (types, k, end) in kinds {
        for n in [8, 24, 64] {
            for swizzle in 0..4 {
                for in_registers in [true, false] {
                    let transposes = if types[1].ends_with("f16") { 4 } else { 1 };
                    for transposed in 0..transposes {
                        if !in_registers || transposed < 2 {
                            all.push(group(types, [n, k], end, swizzle, in_registers, transposed));
                        }
                    }
                }
            }
        }
    }
}

fn group(types: [&str; 3], [n, k]: [usize; 2], end: &str, swizzle: u64, in_registers: bool, transposed: usize) -> Form {
    let [d, a, b] = types;
    let sums = n / 2 * bits(d) / 32;
    let a_registers = if in_registers { 4 } else { 0 };
    // Each lane fills a part of 16 KiB.
    let mut text = "mad.lo.u32 %at, %id, 16, %shared;\n".to_owned();
    for at in 0..8 {
        let registers = list("r", at % 4 * 4, 4);
        text += &format!("st.shared.v4.u32 [%at+{}], {registers};\n", at * 2048);
    }
    // The leading-dimension and stride-dimension offsets between blocks of eight lines.
    let (leading, stride) = ([256, 2048, 1024, 512][swizzle as usize], [512, 1024, 512, 256][swizzle as usize]);
    let fields = swizzle << 62 | (stride / 16) << 32 | (leading / 16) << 16;
    text += &format!(
        "fence.proxy.async;\nbar.sync 0;\nshr.u32 %at, %shared, 4;\nand.b32 %at, %at, 0x3fff;\ncvt.u64.u32 %d0, %at;\n\
         or.b64 %d0, %d0, {fields};\nadd.u64 %d1, %d0, 128;\nsetp.eq.u32 %p0, 0, 0;\nwgmma.fence.sync.aligned;\n"
    );
    let operand = match in_registers {
        true => list("r", 16, 4),
        false => "%d1".to_owned(),
    };
    let scales = match (d, a) {
        ("s32", _) => String::new(),
        (_, "f16" | "bf16") if in_registers => format!(", 1, -1, {transposed}"),
        (_, "f16" | "bf16") => format!(", -1, 1, {}, {}", transposed / 2, transposed % 2),
        _ => ", 1, 1".to_owned(),
    };
    let (op, last) = if end == ".satfinite" { ("", end) } else { (end, "") };
    let name = format!("wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{op}{last}");
    let first = 16 + a_registers;
    text += &format!(
        "{name} {}, {operand}, %d0, %p0{scales};\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
        list("r", first, sums)
    );
    let inputs = [vec![elements(b); 16], vec![elements(a); a_registers], vec![elements(d); sums]].concat();
    Form {
        name: format!("{name} swizzle {swizzle} transposed {transposed} {operand}"),
        text,
        inputs,
        outputs: (first..first + sums).collect(),
        is_wide: false,
        threads: 128,
    }
}
