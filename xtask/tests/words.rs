//! Checks the text of the repository for constructions that docs/CONTRIBUTING.md replaces by plainer ones.
//!
//! It reads each tracked text file line by line: comments, messages and identifiers alike. In an identifier, `_` counts
//! as a space. A line that is right English is listed in `words/allowed.txt`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use fancy_regex::Regex;

/// Regular expressions of constructions, and what to write instead. `~` stands for a space, `_` or `-`.
const WORDS: &[(&str, &str)] = &[
    ("behind", "after, following, beyond"),
    ("besides?", "next to, with, in addition to"),
    ("(so|as)~(many|much)(?!~as~(possible|necessary))", "`n`, the number of …, up to …"),
    (r"(\w{3,})~after~\1", "row-major, one … at a time, for each …"),
    (r"(?<!there )(is|are|was|were)~no(?!~(longer|more|less|fewer))", "is not a …; there is no …"),
    ("cure[sd]?", "fix, fixed version"),
    ("tells?~of|(is|are|was|were|be)~told|(say|says|said)~nothing|nothing~of", "is reported, does not report"),
    ("asked~for|(is|are|was|were|be)~wanted|what~is~asked", "the requested …"),
    ("nobody|somebody|anybody|whoever", "the actor: no thread, the caller, another block"),
    ("own", "separate, private, or nothing; as an identifier, what the value is"),
    ("(come|comes|came|coming)~to", "reach, finish"),
    ("(let|lets|letting)~((it|them|him)~)?go", "release"),
    ("the~begin", "the start"),
    ("(has|have|had|is|leaves?|makes?)~room|room~for", "fits, slots, capacity"),
    ("in~turn|(take|takes|taking|by)~turns", "alternate, one after another"),
    ("pass(es|ed|ing)?~by~the", "bypass"),
    ("questions?", "check, condition, guard"),
    ("(hold|holds|held|holding)~against", "compare with, check against"),
    ("of~(which|whom)|those~(that|who|which)", "two sentences, or the noun"),
    ("(SIMT|the)~machine(?!~code)|simulated~(GPU|device|driver)", "simt, the simulator"),
    (r"(?-i:(let|let mut|fn|mod|\|)~?(along|down|above|beside)\b|\b(along|down|above|beside)(: [&A-Z]|[(|]))", "a noun for the value, a verb for the function"),
];

/// Text that this test does not read: outputs, recorded data, licenses, and the list itself.
const NOT_READ: &[&str] = &["docs/book/rendered/", "results/", "LICENSE", "Cargo.lock", "xtask/tests/words", ".snap", ".jsonl", ".svg", ".png"];

#[test]
fn text_is_plain() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    let root = Path::new(&root).parent().expect("xtask has a parent folder");
    let allowed = fs::read_to_string(root.join("xtask/tests/words/allowed.txt")).expect("the list of exceptions");
    let mut unused: BTreeSet<&str> = allowed.lines().filter(|line| !line.is_empty()).collect();
    let allowed = unused.clone();
    let words: Vec<_> = WORDS.iter().map(|&(word, instead)| (pattern(word), instead)).collect();

    let list = Command::new("git").args(["ls-files"]).current_dir(root).output().expect("git runs");
    let list = String::from_utf8(list.stdout).expect("paths are UTF-8");
    let files: Vec<_> = list.lines().filter(|path| !NOT_READ.iter().any(|name| path.contains(name))).collect();
    assert!(files.len() > 1000, "`git ls-files` has {} files", files.len());

    let (mut found, mut count) = (String::new(), 0);
    for path in files {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        for (line, number) in text.lines().zip(1..) {
            let Some((word, instead)) = words.iter().find_map(|(pattern, instead)| {
                Some((pattern.find(line).expect("no pattern backtracks without end")?.as_str(), instead))
            }) else {
                continue;
            };
            let exception = format!("{path}: {}", line.trim());
            unused.remove(&*exception);
            if !allowed.contains(&*exception) {
                count += 1;
                let _ = write!(found, "\n{path}:{number}: `{word}`\n    {}\n    instead: {instead}", line.trim());
            }
        }
    }
    assert!(
        found.is_empty(),
        "{count} lines to write in plainer words:{found}\n\n\
         help: if a line is right English, add `path: line` to xtask/tests/words/allowed.txt"
    );
    assert!(unused.is_empty(), "no longer needed in xtask/tests/words/allowed.txt: {unused:#?}");
}

fn pattern(word: &str) -> Regex {
    let word = word.replace('~', "[ _-]");
    Regex::new(&format!("(?i)(?<![a-z])(?:{word})(?![a-z])")).expect("the list has regular expressions")
}
