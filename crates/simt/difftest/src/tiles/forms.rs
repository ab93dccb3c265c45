//! The forms of matrix instructions.

mod groups;

use super::{Elements, Form};

/// Returns the elements of a type.
fn elements(ty: &str) -> Elements {
    match ty {
        "f16" => Elements::Floats(16, 5, 10),
        "bf16" => Elements::Floats(16, 8, 7),
        "f32" | "tf32" => Elements::Floats(32, 8, 23),
        "f64" => Elements::Floats(64, 11, 52),
        "e4m3" => Elements::Floats(8, 4, 3),
        "e5m2" => Elements::Floats(8, 5, 2),
        "s32" => Elements::Sums,
        _ => Elements::Any,
    }
}

fn bits(ty: &str) -> usize {
    let digits = ty.trim_start_matches(char::is_alphabetic);
    match ty {
        "e4m3" | "e5m2" => 8,
        "tf32" => 32,
        _ => digits.parse().unwrap_or(32),
    }
}

/// Returns the number of registers per lane for `count` elements of a type.
fn held(ty: &str, count: usize) -> usize {
    count * bits(ty).min(32) / 32 / 32
}

/// Returns register names in braces.
fn list(letter: &str, first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count).map(|at| format!("%{letter}{at}")).collect();
    format!("{{{}}}", names.join(","))
}

/// Returns every compared form.
pub(super) fn all() -> Vec<Form> {
    let mut all = Vec::new();
    dense(&mut all);
    sparse(&mut all);
    moves(&mut all);
    through_memory(&mut all);
    groups::groups(&mut all);
    all
}

/// Returns the form of an instruction on registers. D has separate registers after all inputs.
fn multiply(name: String, sides: [usize; 3], types: [&str; 4], metadata: Option<(Elements, usize)>) -> Form {
    let [m, n, k] = sides;
    let [d, a, b, c] = types;
    let quads = if sides == [8, 8, 4] && a == "f16" { 4 } else { 1 };
    let stored_k = if metadata.is_some() { k / 2 } else { k };
    let counts =
        [held(a, m * stored_k * quads), held(b, n * k * quads), held(c, m * n * quads), held(d, m * n * quads)];
    let is_wide = a == "f64";
    let letter = if is_wide { "rd" } else { "r" };
    let first_c = counts[0] + counts[1];
    let sums = first_c + counts[2] + usize::from(metadata.is_some());
    let mut inputs =
        [vec![elements(a); counts[0]], vec![elements(b); counts[1]], vec![elements(c); counts[2]]].concat();
    let mut text = format!(
        "{name} {}, {}, {}, {}",
        list(letter, sums, counts[3]),
        list(letter, 0, counts[0]),
        list(letter, counts[0], counts[1]),
        list(letter, first_c, counts[2])
    );
    if let Some((elements, selector)) = metadata {
        inputs.push(elements);
        text += &format!(", %r{}, {selector}", sums - 1);
    }
    text += ";";
    Form { name: text.clone(), text, inputs, outputs: (sums..sums + counts[3]).collect(), is_wide, threads: 32 }
}

/// Returns the types of D, A, B and C in `f32.f16.f16.f32`.
fn four(types: &str) -> [&str; 4] {
    let all: Vec<&str> = types.split('.').collect();
    all.try_into().expect("four types")
}

fn dense(all: &mut Vec<Form>) {
    let mut add = |sides: [usize; 3], layout: &str, types: &str, end: &str| {
        let [m, n, k] = sides;
        let (saturates, end) = if end == ".satfinite" { (end, "") } else { ("", end) };
        let name = format!("mma.sync.aligned.m{m}n{n}k{k}.{layout}{saturates}.{types}{end}");
        all.push(multiply(name, sides, four(types), None));
    };
    for layout in ["row.row", "row.col", "col.row", "col.col"] {
        for types in ["f32.f16.f16.f32", "f16.f16.f16.f16", "f32.f16.f16.f16"] {
            add([8, 8, 4], layout, types, "");
        }
    }
    let layout = "row.col";
    for k in [8, 16] {
        for types in ["f32.f16.f16.f32", "f16.f16.f16.f16", "f32.bf16.bf16.f32"] {
            add([16, 8, k], layout, types, "");
        }
        add([16, 8, k / 2], layout, "f32.tf32.tf32.f32", "");
    }
    for sides in [[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]] {
        add(sides, layout, "f64.f64.f64.f64", "");
    }
    for (names, k, ends) in [
        (["s8", "u8"], 16, ["", ".satfinite"]),
        (["s4", "u4"], 32, ["", ".satfinite"]),
        (["b1", ""], 128, [".xor.popc", ".and.popc"]),
    ] {
        for (a, b) in pairs(names) {
            for sides in [[8, 8, k], [16, 8, k], [16, 8, 2 * k]] {
                for end in ends {
                    add(sides, layout, &format!("s32.{a}.{b}.s32"), end);
                }
            }
        }
    }
    for (a, b) in pairs(["e4m3", "e5m2"]) {
        for k in [16, 32] {
            for sum in ["f32", "f16"] {
                add([16, 8, k], layout, &format!("{sum}.{a}.{b}.{sum}"), "");
            }
        }
    }
}

/// Returns all pairs of the nonempty names.
fn pairs(names: [&'static str; 2]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = move || names.into_iter().filter(|name| !name.is_empty());
    all().flat_map(move |a| all().map(move |b| (a, b)))
}

fn sparse(all: &mut Vec<Form>) {
    // Lengths of products, `.satfinite`, types, and the length for which there is a single selector.
    let rows: [(&[usize], &str, &str, usize); 6] = [
        (&[16, 32], "", "f32.f16.f16.f32 f16.f16.f16.f16 f32.bf16.bf16.f32", 64),
        (&[8, 16], "", "f32.tf32.tf32.f32", 32),
        (&[32, 64], ".satfinite", "s32.s8.s8.s32 s32.u8.s8.s32 s32.s8.u8.s32", 64),
        (&[32, 64], "", "s32.u8.u8.s32", 64),
        (&[64, 128], "", "s32.s4.u4.s32 s32.u4.s4.s32 s32.s4.s4.s32", 128),
        (&[64], "", "f32.e4m3.e4m3.f32 f32.e5m2.e4m3.f32 f32.e4m3.e5m2.f32", 64),
    ];
    for (lengths, saturates, types, once) in rows {
        for k in lengths {
            for types in types.split(' ') {
                let metadata = if types.contains("tf32") { Elements::OneOfTwo } else { Elements::TwoOfFour };
                for selector in 0..once / k {
                    let name = format!("mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col{saturates}.{types}");
                    all.push(multiply(name, [16, 8, *k], four(types), Some((metadata, selector))));
                }
            }
        }
    }
}

/// Adds forms of `ldmatrix`, `stmatrix` and `movmatrix`.
fn moves(all: &mut Vec<Form>) {
    let mut add = |name: &str, text: String, inputs: usize, outputs: std::ops::Range<usize>| {
        all.push(Form {
            name: name.to_owned(),
            text,
            inputs: vec![Elements::Any; inputs],
            outputs: outputs.collect(),
            is_wide: false,
            threads: 32,
        });
    };
    // Each lane writes 16 bytes of shared memory, and passes the address of another lane's row.
    let at = "mad.lo.u32 %at, %id, 16, %shared;";
    let store = "st.shared.v4.u32 [%at], {%r0,%r1,%r2,%r3};\nbar.warp.sync -1;\nxor.b32 %at, %at, 0x50;";
    for (count, matrices) in [("x1", 1), ("x2", 2), ("x4", 4)] {
        for transposed in ["", ".trans"] {
            let name = format!("ldmatrix.sync.aligned.m8n8.{count}{transposed}.shared.b16");
            let to = list("r", 4, matrices);
            let text = format!("{at}\n{store}\n{name} {to}, [%at];");
            add(&name, text, 4, 4..4 + matrices);
            let name = format!("stmatrix.sync.aligned.m8n8.{count}{transposed}.shared.b16");
            let from = list("r", 0, matrices);
            let text = format!(
                "{at}\n{store}\n{name} [%at], {from};\nbar.warp.sync -1;\n\
                 ld.shared.v4.u32 {{%r4,%r5,%r6,%r7}}, [%at];"
            );
            add(&name, text, 4, 4..8);
        }
    }
    let name = "movmatrix.sync.aligned.m8n8.trans.b16";
    add(name, format!("{name} %r1, %r0;"), 1, 1..2);
}

/// Adds forms of `wmma`, which load matrices from shared memory and store the result there.
fn through_memory(all: &mut Vec<Form>) {
    let halves = [[16, 16, 16], [8, 32, 16], [32, 8, 16]];
    let mut kinds: Vec<([usize; 3], [&str; 4], &str)> = Vec::new();
    for sides in halves {
        for d in ["f32", "f16"] {
            for c in ["f32", "f16"] {
                kinds.push((sides, [d, "f16", "f16", c], ""));
            }
        }
        kinds.push((sides, ["f32", "bf16", "bf16", "f32"], ""));
        for ty in ["s8", "u8"] {
            kinds.push((sides, ["s32", ty, ty, "s32"], ""));
            kinds.push((sides, ["s32", ty, ty, "s32"], ".satfinite"));
        }
    }
    kinds.push(([16, 16, 8], ["f32", "tf32", "tf32", "f32"], ""));
    kinds.push(([8, 8, 4], ["f64"; 4], ""));
    kinds.push(([8, 8, 32], ["s32", "s4", "s4", "s32"], ""));
    kinds.push(([8, 8, 32], ["s32", "u4", "u4", "s32"], ".satfinite"));
    kinds.push(([8, 8, 128], ["s32", "b1", "b1", "s32"], ".xor.popc"));
    kinds.push(([8, 8, 128], ["s32", "b1", "b1", "s32"], ".and.popc"));
    for (sides, types, end) in kinds {
        let element = bits(types[1]);
        // Consecutive lines must be at least 16 bytes apart.
        let is_short = |side: usize| side * element < 128;
        for of_a in ["row", "col"] {
            for of_b in ["row", "col"] {
                let is_plain = (of_a, of_b) == ("row", "col");
                let too_short = of_a == "col" && is_short(sides[0]) || of_b == "row" && is_short(sides[1]);
                if is_plain || element >= 8 && !too_short {
                    all.push(tile(sides, types, end, of_a, of_b));
                }
            }
        }
    }
}

fn tile(sides: [usize; 3], types: [&str; 4], end: &str, of_a: &str, of_b: &str) -> Form {
    let [m, n, k] = sides;
    let [d, a, b, c] = types;
    let shape = format!("m{m}n{n}k{k}");
    let is_wide = a == "f64";
    let letter = if is_wide { "rd" } else { "r" };
    let word = if is_wide { 8 } else { 4 };
    // The inputs of a lane are its parts of A, B and C, in memory order.
    let counts = [held(a, m * k), held(b, n * k), held(c, m * n)];
    // Fragments of halves have eight registers and hold elements several times.
    let operand = |count| if a == "f16" { 8 } else { count };
    let results = held(d, m * n);
    let held = [operand(counts[0]), operand(counts[1]), counts[2], results];
    let mut text = String::new();
    let mut first = 0;
    for (part, count) in counts.into_iter().enumerate() {
        for at in 0..count {
            let place = part * 4096 + at * 32 * word;
            let width = if is_wide { "u64" } else { "u32" };
            let register = first + at;
            text += &format!(
                "mad.lo.u32 %at, %id, {word}, %shared;\nst.shared.{width} [%at+{place}], %{letter}{register};\n"
            );
        }
        first += count;
    }
    text += "bar.warp.sync -1;\n";
    let stride = |layout: &str, rows: usize, columns: usize| if layout == "row" { columns } else { rows };
    let base = if is_wide { 8 } else { 40 };
    let firsts = [base, base + held[0], base + held[0] + held[1]];
    let loads =
        [("a", of_a, a, stride(of_a, m, k)), ("b", of_b, b, stride(of_b, k, n)), ("c", of_b, c, stride(of_b, m, n))];
    for (part, (name, layout, ty, stride)) in loads.into_iter().enumerate() {
        let to = list(letter, firsts[part], held[part]);
        let place = part * 4096;
        text +=
            &format!("wmma.load.{name}.sync.aligned.{layout}.{shape}.shared.{ty} {to}, [%shared+{place}], {stride};\n");
    }
    let typed = if a == "f16" { format!("{d}.{c}") } else { format!("{d}.{a}.{b}.{c}") };
    let (op, end) = match end.strip_suffix(".popc") {
        Some(_) => (end, ""),
        None => ("", end),
    };
    let name = format!("wmma.mma{op}.sync.aligned.{of_a}.{of_b}.{shape}.{typed}{end}");
    let to = list(letter, firsts[2] + held[2], held[3]);
    let from: Vec<String> = (0..3).map(|part| list(letter, firsts[part], held[part])).collect();
    text += &format!("{name} {to}, {};\n", from.join(", "));
    let stride = stride(of_a, m, n);
    text += &format!(
        "wmma.store.d.sync.aligned.{of_a}.{shape}.shared.{d} [%shared+12288], {to}, {stride};\nbar.warp.sync -1;\n"
    );
    let first = firsts[2] + held[2] + held[3];
    let width = if is_wide { "u64" } else { "u32" };
    text += &format!("mad.lo.u32 %at, %id, {word}, %shared;\n");
    for at in 0..results {
        let (place, register) = (12288 + at * 32 * word, first + at);
        text += &format!("ld.shared.{width} %{letter}{register}, [%at+{place}];\n");
    }
    let inputs = counts.iter().zip([a, b, c]).flat_map(|(count, ty)| vec![elements(ty); *count]);
    // The fragments are compared too. Their layout is unspecified, but programs can observe it.
    Form { name, text, inputs: inputs.collect(), outputs: (firsts[0]..first + results).collect(), is_wide, threads: 32 }
}
