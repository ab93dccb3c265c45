//! Tests of entries extracted from a module.

use ptx::extract::{SourceLines, extract};
use ptx::{Outline, parse};

const MODULE: &str = include_str!("fixtures/extracts.ptx");

fn cut(entry: &str, lines: SourceLines) -> Option<String> {
    extract(&Outline::new(MODULE), entry, lines)
}

/// Returns the names from the module's scope that a text contains.
fn names(text: &str) -> Vec<&'static str> {
    const ALL: &str = "vprintf square dynamic table other_table format pointer counter unused plain \
                       calls prints counts resets";
    let module = parse(text).unwrap();
    let declared = |name: &&str| {
        module.functions.iter().any(|function| function.name == *name)
            || module.variables.iter().any(|variable| variable.name == *name)
    };
    ALL.split_whitespace().filter(declared).collect()
}

#[test]
fn an_extract_contains_only_mentioned_items() {
    for (entry, expected) in [
        ("plain", &["other_table", "plain"][..]),
        ("calls", &["square", "dynamic", "table", "calls"]),
        ("prints", &["vprintf", "format", "pointer", "prints"]),
    ] {
        let text = cut(entry, SourceLines::Drop).unwrap();
        // The names are in the order of the module.
        assert_eq!(names(&text), expected, "{text}");
        for part in [".version 7.8", ".target sm_90, texmode_independent", ".address_size 64", ".pragma"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in [".section", ".file", ".loc", "cuda_builder", "hidden"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
    // The extract contains the declaration, the definition and the call of `square`.
    let calls = cut("calls", SourceLines::Drop).unwrap();
    assert_eq!(calls.matches("square").count(), 3);
}

#[test]
fn line_numbers_stay_the_same() {
    let at = |text: &str, what: &str| text.lines().position(|line| line.contains(what)).unwrap();
    for lines in [SourceLines::Keep, SourceLines::Drop] {
        let text = cut("calls", lines).unwrap();
        for what in [".address_size", ".entry calls", "mov.u64 %rd1, dynamic", "[table]"] {
            assert_eq!(at(&text, what), at(MODULE, what), "{what}");
        }
    }
    let kept = cut("plain", SourceLines::Keep).unwrap();
    assert!(kept.contains("/a } // b/k;.rs") && kept.matches(".loc").count() == 2, "{kept}");
}

#[test]
fn entries_that_share_a_variable_are_not_extracted() {
    assert_eq!(cut("counts", SourceLines::Drop), None);
    assert_eq!(cut("resets", SourceLines::Drop), None);
    let alone = MODULE.replace("st.global.u32 [counter], 0;", "");
    let text = extract(&Outline::new(alone), "counts", SourceLines::Drop).unwrap();
    assert_eq!(names(&text), ["counter", "counts"]);
}

#[test]
fn only_entries_are_extracted() {
    let outline = Outline::new(MODULE);
    for name in ["hidden", "square", "counter", "", "nothing"] {
        assert!(!outline.has_entry(name), "{name}");
        assert_eq!(cut(name, SourceLines::Drop), None, "{name}");
    }
}

#[test]
fn modules_with_unknown_parts_are_not_divided() {
    for module in [
        ".version 7.8 .visible .alias a, b;",
        ".target sm_90, debug",
        ".global .u32 a, b;",
        ".global .u32 a = 1, b = 2;",
        ".entry k() { ret;",
        ".file 1 \"no end",
        "/* no end",
        ".global .u32 ü;",
        "@@DWARF .byte 1",
        ".global .u32;",
        ".func",
        "}",
    ] {
        assert!(!Outline::new(module).is_divisible(), "{module}");
    }
    assert!(Outline::new("").is_divisible());
    let unknown = ".alias a, b; .entry k(.param .u64 p) { ret; } '";
    let outline = Outline::new(unknown);
    assert!(outline.has_entry("k"), "the other items are found");
    assert_eq!(extract(&outline, "k", SourceLines::Drop), None);
}
