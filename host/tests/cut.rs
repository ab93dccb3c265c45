//! Entries extracted from PTX: from this program's PTX and from nvcc's. NVIDIA's assembler, if installed, and the
//! simulator accept the extracted part like the whole.

use std::path::Path;
use std::process::Command;

use host::KERNELS;
use ptx::Outline;
use ptx::extract::{SourceLines, extract};

/// PTX that the command in `several.cu` generated.
const SEVERAL: &str = include_str!("data/several.ptx");

/// Assembles a text with `ptxas` and returns its error messages. `None` if `ptxas` is not installed.
fn assembled(text: &str, folder: &Path) -> Option<Result<(), String>> {
    let file = folder.join("part.ptx");
    std::fs::write(&file, text).unwrap();
    let target = text.lines().find_map(|line| line.strip_prefix(".target "));
    let arch = target.unwrap().split(',').next().unwrap();
    let output = Command::new("ptxas").args(["-arch", arch.trim(), "-o", "/dev/null"]).arg(&file).output().ok()?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(output.status.success().then_some(()).ok_or(message))
}

#[test]
fn every_entry_can_be_extracted() {
    let folder = tempfile::tempdir().unwrap();
    for whole in KERNELS.modules {
        let outline = whole.outline();
        for (place, entry) in outline.entries().enumerate() {
            let cut = |lines| extract(outline, entry.name, lines).unwrap();
            let [kept, dropped] = [SourceLines::Keep, SourceLines::Drop].map(cut);
            for part in [&kept, &dropped] {
                let part = Outline::new(part.as_str());
                let entries: Vec<_> = part.entries().collect();
                assert_eq!(entries.as_slice(), std::slice::from_ref(&entry));
            }
            assert!(kept.contains("\t.loc\t") && !dropped.contains("\t.loc\t"));
            // Only a sample is assembled and loaded, because each entry takes a while and the others are similar.
            if place % 64 == 0 {
                let module = simt::Module::from_ptx(kept.clone()).unwrap();
                assert!(module.function(entry.name).is_ok(), "{}", entry.name);
                for part in [kept, dropped] {
                    if let Some(Err(message)) = assembled(&part, folder.path()) {
                        panic!("{}: {message}", entry.name);
                    }
                }
            }
        }
    }
}

#[test]
fn an_extracted_nvcc_entry_includes_its_functions_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    // A `ptxas` that is too old for this PTX cannot test it.
    let has_ptxas = assembled(SEVERAL, folder.path()) == Some(Ok(()));
    let outline = Outline::new(SEVERAL);
    for (entry, included, excluded) in [
        ("plain", &[][..], &["weights", "dynamic", "vprintf", "arrivals"][..]),
        ("through_functions", &["weights[16]", "_Z8weightedfi("], &["limit", "dynamic"]),
        ("staged", &[".extern .shared .align 16 .b8 dynamic[]"], &["weights", "vprintf"]),
        ("says", &["vprintf", "generic($str)", "$str$1[", ".u32 limit"], &["weights"]),
        ("takes", &["takes_param_0[16]"], &["weights", "vprintf"]),
    ] {
        for lines in [SourceLines::Keep, SourceLines::Drop] {
            let part = extract(&outline, entry, lines).unwrap();
            let part_outline = Outline::new(part.as_str());
            assert_eq!(part_outline.entries().count(), 1, "{part}");
            for text in included {
                assert!(part.contains(text), "{entry} without {text}: {part}");
            }
            for text in excluded {
                assert!(!part.contains(text), "{entry} with {text}: {part}");
            }
            if has_ptxas {
                assert_eq!(assembled(&part, folder.path()), Some(Ok(())), "{part}");
            }
        }
    }
    for entry in ["arrives", "forgets"] {
        let part = extract(&outline, entry, SourceLines::Drop);
        assert_eq!(part, None, "the two entries share a variable");
    }
}
