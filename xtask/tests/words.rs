//! Checks the text of the repository for constructions that have a plainer form.
//!
//! The test reads each line of each tracked text file: comments, messages and identifiers. It reads an underscore as a
//! space. A line in correct English is listed in `words/allowed.txt`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use regex::Regex;

/// Regular expressions of constructions, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("behind", "after, following, beyond"),
    ("besides?", "next to, with, in addition to"),
    ("(so|as) (many|much)", "`n`, the number of …, up to …"),
    (
        "(row|column|word|byte|block|lane|line|tile|round|step) after (row|column|word|byte|block|lane|line|tile|round|step)",
        "row-major; one … at a time",
    ),
    ("(is|are|was|were) no", "is not a …; there is no …"),
    ("cure[sd]?", "fix, fixed version"),
    ("tells? of|(is|are|was|were|be) told|(say|says|said) nothing|nothing of", "is reported, does not report"),
    ("asked for|(is|are|was|were|be) wanted|what is asked", "the requested …"),
    ("nobody|somebody|anybody|whoever", "the actor: no thread, the caller, another block"),
    ("own", "separate, private, or nothing; for a value, what it is"),
    ("(come|comes|came|coming) to", "reach, finish"),
    ("(let|lets|letting) ((it|them) )?go", "release"),
    ("the begin", "the start"),
    ("(has|have|had|is|leaves?|makes?) room|room for", "fits, slots, capacity"),
    ("in turn|(take|takes|taking|by) turns", "alternate, one after another"),
    ("pass(es|ed|ing)? by the", "bypass"),
    ("questions?", "check, condition, guard"),
    ("(hold|holds|held|holding) against", "compare with, check against"),
    ("of (which|whom)|those (that|who|which)", "two sentences, or the noun"),
    ("(SIMT|the) machine|simulated (GPU|device|driver)", "simt, the simulator"),
    ("(let|let mut|fn|mod) (along|down|above|beside)", "a noun for a value, a verb for a function"),
];

/// Right uses of these words.
const RIGHT: &str = "there (is|are|was|were) no|(is|are|was|were) no (longer|more|less|fewer)|as (many|much) as possible|\
                     the machine code";

/// Files that are outputs, recorded data, or this list.
const NOT_READ: &[&str] = &["docs/book/rendered/", "results/", "LICENSE", "Cargo.lock", "xtask/tests/words"];

#[test]
fn text_is_plain() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    let root = Path::new(&root).parent().expect("xtask has a parent folder");
    let exceptions = fs::read_to_string(root.join("xtask/tests/words/allowed.txt")).expect("the list of exceptions");
    let exceptions: BTreeSet<&str> = exceptions.lines().filter(|line| !line.is_empty()).collect();
    let mut unused = exceptions.clone();
    let all: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
    let (right, any) = (pattern(RIGHT), pattern(&all.join("|")));
    let rules: Vec<_> = WORDS.iter().map(|&(word, instead)| (pattern(word), instead)).collect();

    let list = Command::new("git").args(["ls-files"]).current_dir(root).output().expect("git runs");
    let list = String::from_utf8(list.stdout).expect("paths are UTF-8");
    let paths: Vec<_> = list.lines().filter(|path| !NOT_READ.iter().any(|name| path.contains(name))).collect();
    assert!(paths.len() > 1000, "`git ls-files` has {} files", paths.len());

    let mut found = Vec::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        let searched = text.replace(['_', '-'], " ");
        let searched = right.replace_all(&searched, "…");
        if !any.is_match(&searched) {
            continue;
        }
        for ((line, searched), number) in text.lines().zip(searched.lines()).zip(1..) {
            let Some(word) = any.find(searched) else { continue };
            let exception = format!("{path}: {}", line.trim());
            unused.remove(&*exception);
            if !exceptions.contains(&*exception) {
                let rule = rules.iter().find(|(rule, _)| rule.is_match(word.as_str()));
                let instead = rule.expect("one of the rules matched").1;
                found.push(format!(
                    "{path}:{number}: `{}`\n    {}\n    instead: {instead}",
                    word.as_str(),
                    line.trim()
                ));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{}\n{} lines have constructions with a plainer form\n\
         help: if a line is right English, add `path: line` to xtask/tests/words/allowed.txt",
        found.join("\n"),
        found.len()
    );
    assert!(unused.is_empty(), "no longer needed in xtask/tests/words/allowed.txt: {unused:#?}");
}

fn pattern(words: &str) -> Regex {
    Regex::new(&format!(r"(?i-u)\b(?:{words})\b")).expect("the list has regular expressions")
}
