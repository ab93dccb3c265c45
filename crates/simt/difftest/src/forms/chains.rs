//! Forms of several instructions: carry chains, and packing and unpacking of registers.

use super::{Form, Ty};

fn form(text: String, to: Ty, from: &[Ty]) -> Form {
    Form { opcode: text, to, and_predicate: false, from: from.to_vec() }
}

pub(super) fn forms() -> Vec<Form> {
    [carries(), parts()].concat()
}

/// Returns all chains of three instructions with a carry: the first writes the carry, the second reads and writes it,
/// and the third reads it. The result combines the values of the last two instructions.
fn carries() -> Vec<Form> {
    const OPS: [(&str, &str, bool); 4] =
        [("add", "addc", false), ("sub", "subc", false), ("mad.lo", "madc.lo", true), ("mad.hi", "madc.hi", true)];
    let types = [("u32", Ty::B32), ("s32", Ty::B32), ("u64", Ty::B64), ("s64", Ty::B64)];
    let mut forms = Vec::new();
    for (name, ty) in types {
        let r = ty.register();
        let operands = |to: u32, from: [u32; 3], product: bool| {
            let from = &from[..if product { 3 } else { 2 }];
            let from: Vec<String> = from.iter().map(|at| format!("{r}{at}")).collect();
            format!("{r}{to}, {}", from.join(", "))
        };
        let mix = match ty {
            Ty::B32 => "mov.b64 %rd0, {%r5, %r6};",
            _ => "mad.lo.u64 %rd0, %rd5, 0x9e3779b97f4a7c15, %rd6;",
        };
        for (first, _, product) in OPS {
            let first = format!("{first}.cc.{name} {};", operands(7, [1, 2, 3], product));
            for (_, second, product) in OPS {
                let second = format!("{second}.cc.{name} {};", operands(5, [3, 4, 1], product));
                for (_, third, product) in OPS {
                    let third = format!("{third}.{name} {};", operands(6, [2, 4, 3], product));
                    let chain = format!("{first} {second} {third} {mix}");
                    forms.push(form(chain, Ty::B64, &[ty; 4]));
                }
            }
        }
    }
    forms
}

/// Returns forms of `mov` that pack registers from parts, or unpack registers and pack the parts in another order.
fn parts() -> Vec<Form> {
    let bytes = "cvt.u8.u16 %c1, %h1; cvt.u8.u16 %c2, %h2; cvt.u8.u16 %c3, %h3; cvt.u8.u16 %c4, %h4;";
    let halves = [Ty::B16; 4];
    [
        ("mov.b32 %r0, {%h1, %h2};", Ty::B32, &halves[..2]),
        ("mov.b64 %rd0, {%h1, %h2, %h3, %h4};", Ty::B64, &halves),
        ("mov.b64 %rd0, {%r1, %r2};", Ty::B64, &[Ty::B32; 2]),
        ("BYTES mov.b16 %h0, {%c1, %c2};", Ty::B16, &halves),
        ("BYTES mov.b32 %r0, {%c1, %c2, %c3, %c4};", Ty::B32, &halves),
        ("mov.b32 {%h5, %h6}, %r1; mov.b32 %r0, {%h6, %h5};", Ty::B32, &[Ty::B32]),
        ("mov.b32 {_, %h5}, %r1; mov.b32 {%h6, _}, %r1; mov.b32 %r0, {%h5, %h6};", Ty::B32, &[Ty::B32]),
        ("mov.b64 {%r5, %r6}, %rd1; mov.b64 %rd0, {%r6, %r5};", Ty::B64, &[Ty::B64]),
        ("mov.b64 {%h3, %h4, %h5, %h6}, %rd1; mov.b64 %rd0, {%h6, %h4, %h3, %h5};", Ty::B64, &[Ty::B64]),
        ("mov.b16 {%c5, %c6}, %h1; mov.b16 %h0, {%c6, %c5};", Ty::B16, &[Ty::B16]),
        ("mov.b32 {%c3, %c4, %c5, %c6}, %r1; mov.b32 %r0, {%c6, %c4, %c3, %c5};", Ty::B32, &[Ty::B32]),
    ]
    .map(|(text, to, from)| form(text.replace("BYTES", bytes), to, from))
    .to_vec()
}
