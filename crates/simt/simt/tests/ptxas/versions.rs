//! Tests that the table of instructions has the PTX versions and targets that ptxas requires.

use std::collections::BTreeMap;

use locate::nvidia::Found;
use ptx::version::NEWEST;
use simt_isa::{Needs, Reach, find, rows};

use super::{assembler, is_full_sweep};

/// The first PTX version of each target.
const TARGETS: [(&str, (u32, u32)); 10] = [
    ("sm_70", (6, 0)),
    ("sm_72", (6, 1)),
    ("sm_75", (6, 3)),
    ("sm_80", (7, 0)),
    ("sm_86", (7, 1)),
    ("sm_87", (7, 4)),
    ("sm_89", (7, 8)),
    ("sm_90", (7, 8)),
    ("sm_90a", (8, 0)),
    ("sm_100", (8, 6)),
];

/// The version and target that the default of [`Needs`] stands for.
const OLDEST: ((u32, u32), u32) = ((6, 0), 70);

/// Returns the text before and after instructions; it declares the registers of the samples.
fn frame((major, minor): (u32, u32), target: &str, has_b128: bool) -> (String, String) {
    let before = format!(
        ".version {major}.{minor}\n.target {target}\n.address_size 64\n\
         .visible .entry k(.param .align 16 .b8 param[128])\n{{\n.reg .pred %p<2>; .reg .b8 %c<2>; .reg .b16 %h<2>;\n\
         .reg .b32 %r<2>; .reg .b64 %rd<2>;{}\n",
        if has_b128 { " .reg .b128 %q<2>;" } else { "" }
    );
    (before, "ret;\n}\n".to_owned())
}

/// Returns samples of all rows, and the requirements that the table has for them.
fn samples() -> Vec<(String, Needs)> {
    let mut samples = Vec::new();
    for row in rows() {
        let count = row.opcodes();
        let some = if is_full_sweep() { 2000 } else { 12 };
        let stride = [7919, 104_729, 1_299_709].into_iter().find(|prime| !count.is_multiple_of(*prime)).unwrap_or(1);
        for number in (0..count.min(some)).map(|at| if count <= some { at } else { at * stride % count }) {
            let modifiers = row.modifiers(number);
            for operands in [row.least(), row.operands.len()] {
                let sample = simt::forms::sample(&row, &modifiers, operands == row.operands.len());
                let opcode = sample.split([' ', ';']).next().unwrap();
                let (words, found) = find(opcode, operands).unwrap();
                samples.push((sample.clone(), found.needs(&words, operands)));
            }
        }
    }
    samples.dedup_by(|one, other| one.0 == other.0);
    samples
}

/// Returns the least version and target, according to ptxas's errors for an instruction in the oldest module.
fn required(complaints: &[String]) -> ((u32, u32), u32) {
    let (mut version, mut target) = OLDEST;
    for complaint in complaints {
        if let Some((_, number)) = complaint.split_once("requires PTX ISA .version ") {
            let (major, minor) = number.trim_end_matches(" or later").split_once('.').unwrap();
            version = version.max((major.parse().unwrap(), minor.parse().unwrap()));
        } else if let Some((_, number)) = complaint.split_once("requires .target ") {
            let number = number.trim_start_matches("sm_").trim_end_matches(" or higher");
            target = target.max(number.parse().unwrap());
        } else if complaint.contains("not supported on .target") {
            // ptxas does not name the required target; the first target with such instructions is sm_90.
            target = target.max(90);
        }
    }
    (version, target)
}

/// Returns the samples that ptxas accepts in the newest module; the modifiers of the other samples cannot be combined.
fn valid(ptxas: &Found, samples: Vec<(String, Needs)>) -> Vec<(String, Needs)> {
    let (only, others): (Vec<_>, Vec<_>) =
        samples.into_iter().partition(|(_, needs)| needs.target.reach == Reach::Only);
    let valid = |target, samples: Vec<(String, Needs)>| {
        let texts: Vec<String> = samples.iter().map(|(sample, _)| sample.clone()).collect();
        let verdicts = assembler::verdicts_in(ptxas, target, &frame(NEWEST, target, true), &texts);
        let valid = samples.into_iter().zip(verdicts).filter(|(_, verdict)| verdict.is_none());
        valid.map(|(sample, _)| sample).collect::<Vec<_>>()
    };
    [valid("sm_90a", only), valid("sm_100a", others)].concat()
}

#[test]
fn the_table_has_the_versions_that_ptxas_requires() {
    let Some(ptxas) = assembler::find() else {
        return;
    };
    let mut by_target = BTreeMap::<_, Vec<_>>::new();
    for (sample, needs) in valid(&ptxas, samples()) {
        let name = TARGETS.iter().find(|(name, _)| **name == needs.target.to_string());
        let (name, first) = name.copied().unwrap_or(TARGETS[0]);
        by_target.entry((first.max(needs.version), name)).or_default().push((sample, needs));
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for ((version, target), samples) in by_target {
        let arch = if matches!(target, "sm_70" | "sm_72") { "sm_75" } else { target };
        let texts: Vec<String> = samples.iter().map(|(sample, _)| sample.clone()).collect();
        // The version and target of the table are sufficient.
        let verdicts = assembler::verdicts_in(&ptxas, arch, &frame(version, target, version >= (8, 3)), &texts);
        // ptxas crashes on some instructions.
        let is_old = |why: &String| why.contains("requires") || why.contains("not supported on");
        let refused = texts.iter().zip(verdicts).filter_map(|(sample, why)| Some((sample, why.filter(is_old)?)));
        wrong.extend(refused.map(|(sample, why)| format!("{sample} {why}")));
        // They are also necessary.
        let complaints = assembler::complaints(&ptxas, "sm_75", &frame(OLDEST.0, "sm_70", true), &texts);
        for ((sample, needs), complaints) in samples.iter().zip(complaints) {
            let found = (needs.version.max(OLDEST.0), needs.target.number.max(OLDEST.1));
            if required(&complaints) != found {
                wrong.push(format!("{sample} needs {found:?} by the table: {complaints:?}"));
            }
        }
        let specific = samples.iter().filter(|(_, needs)| needs.target.reach != Reach::Later);
        let specific: Vec<String> = specific.map(|(sample, _)| sample.clone()).collect();
        for target in ["sm_90", "sm_100"] {
            let verdicts = assembler::verdicts_in(&ptxas, target, &frame(NEWEST, target, true), &specific);
            let accepted = specific.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_none());
            wrong.extend(accepted.map(|(sample, _)| format!("{sample} runs on {target}")));
        }
        count += samples.len();
    }
    eprintln!("{count} instructions");
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}
