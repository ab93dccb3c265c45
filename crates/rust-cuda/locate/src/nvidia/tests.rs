#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn versions() {
    let said = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.5, V13.5.37\nBuild x";
    assert_eq!(parse_version(said), Some(("13.5.37".to_owned(), (13, 5))));
    let short = parse_version("release 12.8, ");
    assert_eq!(short, Some(("12.8".to_owned(), (12, 8))));
    let ncu = "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\n\
               Version 2025.3.1.0 (build 36398880) (public-release)\n";
    let of_ncu = ("2025.3.1.0".to_owned(), (2025, 3));
    assert_eq!(parse_version(ncu), Some(of_ncu));
    for said in ["GNU assembler 2.40", "release next, V1", ""] {
        assert_eq!(parse_version(said), None);
    }
}

#[cfg(unix)]
#[path = "../../tests/script/mod.rs"]
mod script;

#[cfg(unix)]
fn program(folder: &Path, name: &str, text: &str) -> (PathBuf, String) {
    let path = folder.join(name);
    script::write(&path, &format!("#!/bin/sh\n{text}\n"));
    (path, format!("the place of {name}"))
}

#[cfg(unix)]
#[test]
fn the_first_usable_tool_is_found_and_unusable_ones_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let missing = (folder.path().join("missing"), String::new());
    let old = program(folder.path(), "old", "echo 'release 11.8, V11.8.89'");
    let broken = program(folder.path(), "broken", "exit 3");
    let mute = program(folder.path(), "mute", "echo hello");
    let good = program(folder.path(), "good", "echo 'release 12.8, V12.8.61'");

    let bad = [old, broken, mute];
    let all = [missing.clone()].into_iter().chain(bad.clone());
    let found = first_of(Tool::Ptxas, all.chain([good])).unwrap();
    assert_eq!([found.version, found.origin], ["12.8.61", "the place of good"]);

    let error = first_of(Tool::Ptxas, bad).unwrap_err().to_string();
    for part in [
        "old is 11.8.89, but 12.8 is required",
        "broken failed (exit status: 3)",
        "mute --version prints no release",
        "`cargo xtask setup --nvidia` installs NVIDIA's tools",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(error.lines().count(), 1);

    let error = first_of(Tool::Ncu, [missing]).unwrap_err();
    assert!(error.refused.is_empty());
    assert!(error.to_string().starts_with("no ncu was found; "));
}

#[test]
fn the_newest_of_several_installations_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    for name in "cuda cuda-9.2 cuda-12.8 cuda-13.0 cuda-13 other-99".split(' ') {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("cuda-14.txt"), "").unwrap();
    let found = newest_first(folder.path(), "cuda");
    let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(names, ["cuda-13.0", "cuda-13", "cuda-12.8", "cuda-9.2", "cuda"]);
    assert!(newest_first(&folder.path().join("nowhere"), "").is_empty());
}

#[test]
fn tests_run_in_the_target_folder() {
    let folder = folder().unwrap();
    assert!(folder.ends_with(Path::new("nvidia").join(RELEASE)));
    let first = &places(Tool::Ptxas)[0];
    assert!(first.1.starts_with("PyPI, in "), "{}", first.1);
}
