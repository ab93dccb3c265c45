//! Generates valid and invalid instructions.

use std::collections::BTreeMap;

use simt::{LoadError, Module};

const TYPES: &str =
    "u8|s8|b8|u16|s16|b16|u32|s32|b32|u64|s64|b64|f16|f16x2|bf16|bf16x2|f32|f64|u16x2|s16x2|tf32|pred|b128|f32x2";

/// Groups of modifiers; a variant replaces a modifier by another one of its group.
const GROUPS: [&str; 10] = [
    TYPES,
    "rn|rz|rm|rp|rna|rni|rzi|rmi|rpi|approx|full",
    "global|shared|local|const|param|shared::cta|shared::cluster|param::entry|reg",
    "v2|v4|v8|v3",
    "cta|gpu|sys|cluster",
    "relaxed|acquire|release|acq_rel|volatile|weak|sc",
    "ca|cg|cs|lu|cv|wb|wt",
    "lo|hi|wide",
    "ftz|sat|relu|NaN|cc",
    "sync|arrive|red|all|any|uni|ballot|up|down|bfly|idx",
];

const EXTRA: &str = "ftz|sat|rn|cc|lo|v2|global|shared|volatile|relaxed|gpu|sync|aligned|approx|u32|bogus|uni|noftz|nc";

const OPERANDS: &str = "%h5|%r5|%f5|%rd5|%fd5|%p5|1|-1|300|0x123456789a|1.5|0f3f800000|0d3ff0000000000000|%tid.x|%clock|gl|gl+4|[%rd5]|[gl]|{%r5, %r6}|_|!%p5|%r5\\|%p5|%p5\\|%p6|%u5|%s5|%x5|DONE|f|%nothing|%r5.x|-%r5|WARP_SZ";

/// The prefixes of registers, and their types.
const REGISTERS: [(&str, &str); 11] = [
    ("%p", "pred"),
    ("%h", "b16"),
    ("%r", "b32"),
    ("%rd", "b64"),
    ("%f", "f32"),
    ("%fd", "f64"),
    ("%u", "u32"),
    ("%s", "s32"),
    ("%x", "f16"),
    ("%xx", "f16x2"),
    // simt does not have this type.
    ("%rq", "b128"),
];

/// Returns the text before and after an instruction; the text declares the chosen registers.
fn frame_with(target: &str, registers: impl Fn(&str) -> bool) -> (String, String) {
    let chosen = REGISTERS.iter().filter(|(name, _)| registers(name));
    let registers: String = chosen.map(|(name, ty)| format!(".reg .{ty} {name}<8>;\n")).collect();
    let before = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.global .align 16 .b32 gl[64];\n\
         .const .align 16 .b32 co[64];\n.shared .align 16 .b32 sh[64];\n.func f() {{ ret; }}\n\
         .visible .entry k(.param .align 16 .b8 p[64], .param .b32 q)\n{{\n{registers}\
         .local .align 16 .b32 lo[64];\n"
    );
    (before, "DONE: ret;\n}\n".to_owned())
}

/// Returns the text before and after instructions, for ptxas.
pub(crate) fn frame(target: &str) -> (String, String) {
    frame_with(target, |_| true)
}

/// Returns a kernel with one instruction, which declares only that instruction's registers and has no parameters.
pub(crate) fn minimal_kernel(case: &str) -> String {
    let uses = |name: &str| {
        let mut found = case.match_indices(name);
        found.any(|(at, _)| case[at + name.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    let (before, after) = frame_with("sm_90", uses);
    let before = before.replace(".param .align 16 .b8 p[64], .param .b32 q", "");
    format!("{before}{case}\n{after}")
}

/// Returns why simt refuses an instruction, or `None` if simt accepts it.
pub(crate) fn simt_refusal(case: &str) -> Option<String> {
    let (before, after) = frame_with("sm_90", |name| name != "%rq");
    refusal(&format!("{before}{case}\n{after}"))
}

/// Returns why simt refuses a module or one of its kernels, or `None` if simt accepts them.
pub(crate) fn refusal(text: &str) -> Option<String> {
    match Module::from_ptx(text) {
        Err(LoadError::Parse(error)) => Some(error.message),
        Err(error) => Some(error.to_string()),
        Ok(module) => module.kernels().find_map(|name| match module.function(name) {
            Err(LoadError::Refused { error, .. }) => Some(error.message),
            other => other.err().map(|error| error.to_string()),
        }),
    }
}

/// Returns the module for a row of `modules.txt`.
pub(crate) fn module(row: &str) -> String {
    let words = row.split(' ').map(|word| match word {
        "K" => ".visible .entry k() { ret; }",
        "B" => ".visible .entry k()",
        word => word,
    });
    let text = words.collect::<Vec<_>>().join(" ") + "\n";
    match text.starts_with(".version") || text.starts_with(".target") {
        true => text,
        false => format!(".version 9.0 .target sm_90 .address_size 64 {text}"),
    }
}

/// Returns the prefix of registers for this type.
fn register(ty: &str) -> &'static str {
    match ty {
        "pred" => "%p",
        "f32" => "%f",
        "f64" => "%fd",
        "b128" => "%rq",
        "u64" | "s64" | "b64" | "f32x2" => "%rd",
        ty if ty.ends_with('8') || ty.ends_with("16") || ty.ends_with("m3x2") || ty.ends_with("m2x2") => "%h",
        _ => "%r",
    }
}

fn is_type(word: &str) -> bool {
    TYPES.split('|').any(|ty| ty == word) || word.contains('m') && word.ends_with("x2")
}

/// Splits a choice into its alternatives; `\|` is not a separator.
fn choices(text: &str) -> Vec<String> {
    let text = text.replace("\\|", "\u{1}");
    text.split('|').map(|item| item.replace('\u{1}', "|")).collect()
}

fn expand(row: &str) -> Vec<String> {
    let Some((before, rest)) = row.split_once('(') else {
        return vec![row.to_owned()];
    };
    let (inner, tail) = rest.split_once(')').unwrap();
    let tails = expand(tail);
    choices(inner).iter().flat_map(|choice| tails.iter().map(move |rest| format!("{before}{choice}{rest}"))).collect()
}

/// Returns all instructions that the rows stand for.
pub(crate) fn forms(rows: &str) -> Vec<String> {
    let rows = rows.lines().filter(|row| !row.starts_with('#') && !row.is_empty());
    rows.flat_map(|row| expand(&row.replace("{T}", &format!("({TYPES})"))))
        .map(|case| {
            let (opcode, operands) = case.split_once(' ').unwrap_or((&case, ""));
            let types = || opcode.split('.').skip(1).filter(|word| is_type(word));
            let last = register(types().last().unwrap_or("b32"));
            let first = register(types().next().unwrap_or("b32"));
            let operands = operands.replace('$', last).replace('#', first);
            format!("{opcode} {operands};").replace(" ;", ";")
        })
        .collect()
}

/// Returns whether a modifier occurs twice.
pub(crate) fn is_doubled(case: &str) -> bool {
    let opcode = case.split([' ', ';']).next().unwrap();
    let words: Vec<&str> = opcode.split('.').collect();
    (1..words.len()).any(|at| words[..at].contains(&words[at]))
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) >> 7
}

/// Returns about one in `stride` cases, always the same ones.
pub(crate) fn sample(cases: Vec<String>, stride: u64) -> Vec<String> {
    cases.into_iter().filter(|case| hash(case).is_multiple_of(stride)).collect()
}

/// Returns a few cases for each opcode and number of operands.
pub(crate) fn few_of_each(cases: Vec<String>) -> Vec<String> {
    let mut groups: BTreeMap<(String, usize), Vec<String>> = BTreeMap::new();
    for case in cases {
        let name = case.split([' ', '.', ';']).next().unwrap().to_owned();
        groups.entry((name, case.matches(',').count())).or_default().push(case);
    }
    let few = |mut cases: Vec<String>| {
        cases.sort_by_key(|case| hash(case));
        cases.truncate(8);
        cases
    };
    groups.into_values().flat_map(few).collect()
}

/// Splits a text into the operands of an instruction.
fn split_operands(text: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        let last = all.last_mut().unwrap();
        if c != ' ' || !last.is_empty() {
            last.push(c);
        }
    }
    all
}

/// Returns variants of an instruction, most of them invalid.
pub(crate) fn variants(case: &str) -> Vec<String> {
    let (opcode, rest) = case.trim_end_matches(';').split_once(' ').unwrap_or((case.trim_end_matches(';'), ""));
    let words: Vec<&str> = opcode.split('.').collect();
    let operands = if rest.is_empty() { vec![] } else { split_operands(rest) };
    let mut all = Vec::new();
    let mut push = |words: &[&str], operands: &[String]| {
        let case = format!("{} {};", words.join("."), operands.join(", "));
        all.push(case.replace(" ;", ";"));
    };
    for at in 1..words.len() {
        for to in 1..words.len() {
            let mut moved = words.clone();
            let word = moved.remove(at);
            moved.insert(to, word);
            push(&moved, &operands);
        }
        let mut shorter = words.clone();
        shorter.remove(at);
        push(&shorter, &operands);
        let mut longer = words.clone();
        longer.insert(at, words[at]);
        push(&longer, &operands);
        for group in GROUPS {
            if group.split('|').any(|word| word == words[at]) {
                for word in group.split('|') {
                    let mut other = words.clone();
                    other[at] = word;
                    push(&other, &operands);
                }
            }
        }
    }
    for extra in EXTRA.split('|') {
        for at in [1, words.len() - 1, words.len()] {
            let mut longer = words.clone();
            longer.insert(at.max(1), extra);
            push(&longer, &operands);
        }
    }
    for at in 0..operands.len() {
        for operand in choices(OPERANDS) {
            let mut other = operands.clone();
            other[at] = operand;
            push(&words, &other);
        }
        let mut shorter = operands.clone();
        let one = shorter.remove(at);
        push(&words, &shorter);
        shorter.insert(0, one);
        push(&words, &shorter);
        let mut longer = operands.clone();
        longer.insert(at, operands[at].clone());
        push(&words, &longer);
    }
    all
}
