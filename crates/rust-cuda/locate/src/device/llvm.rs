//! Finds LLVM's `opt` and `llc`.

use std::path::{Path, PathBuf};

use super::rustc::parse_version;
use super::{LLVM_OVERRIDE, LlvmTools, NotFound, Place, entries, on_path, output_of, rustup_toolchains};
use crate::program;

/// The number of LLVM major versions, newer than rustc's, that the search tries. LLVM reads the IR of older versions.
const NEWER: u32 = 4;

/// Finds an `opt` and an `llc` of LLVM version `oldest` or newer that can generate PTX.
///
/// # Errors
/// Returns [`NotFound`] with every searched place and its missing part when no tools are usable.
pub fn find_llvm(oldest: u32) -> Result<LlvmTools, NotFound> {
    let places = match std::env::var_os(LLVM_OVERRIDE) {
        Some(folder) => vec![in_folder(LLVM_OVERRIDE.to_owned(), folder.as_ref())],
        None => places(oldest),
    };
    let mut searched = Vec::new();
    for (origin, opt, llc) in places {
        match judge(&opt, &llc, oldest) {
            Ok(version) => {
                return Ok(LlvmTools { opt, llc, version, origin });
            }
            Err(missing) => {
                let name = origin;
                searched.push(Place { name, missing });
            }
        }
    }
    Err(NotFound { requested: format!("LLVM {oldest} or newer (opt and llc, with the NVPTX target)"), searched })
}

/// A description of a place, with the paths of `opt` and `llc` in it.
type Tools = (String, PathBuf, PathBuf);

fn in_folder(origin: String, folder: &Path) -> Tools {
    (origin, program(folder, "opt"), program(folder, "llc"))
}

fn places(oldest: u32) -> Vec<Tools> {
    let mut places = Vec::new();
    for (name, folder) in rustup_toolchains() {
        // The component llvm-tools places them next to the host's libraries.
        for (_, host) in entries(&folder.join("lib/rustlib")) {
            let bin = host.join("bin");
            if program(&bin, "llc").is_file() {
                let origin = format!("llvm-tools of rustup toolchain {name}");
                places.push(in_folder(origin, &bin));
            }
        }
    }
    if places.is_empty() {
        let origin = "llvm-tools of a rustup toolchain".to_owned();
        places.push((origin, PathBuf::new(), PathBuf::new()));
    }
    for major in oldest..=oldest + NEWER {
        let folder = PathBuf::from(format!("/usr/lib/llvm-{major}/bin"));
        let origin = format!("opt-{major} and llc-{major}");
        let [opts, llcs] = ["opt", "llc"].map(|tool| on_path(format!("{tool}-{major}")));
        places.push(match (&opts[..], &llcs[..]) {
            ([opt, ..], [llc, ..]) => (origin, opt.clone(), llc.clone()),
            _ => in_folder(origin, &folder),
        });
    }
    for (opt, llc) in on_path("opt").into_iter().zip(on_path("llc")) {
        places.push((format!("{} and {}", opt.display(), llc.display()), opt, llc));
    }
    places
}

fn judge(opt: &Path, llc: &Path, oldest: u32) -> Result<String, String> {
    for program in [opt, llc] {
        if !program.is_file() {
            return Err("not installed".to_owned());
        }
    }
    let version = version_of(&output_of(llc, &["--version"])?)
        .ok_or_else(|| "`llc --version` prints no LLVM version".to_owned())?;
    if parse_version(&version).is_none_or(|(major, _)| major < oldest) {
        return Err(format!("LLVM {version} is too old; {oldest} or newer is required"));
    }
    if version_of(&output_of(opt, &["--version"])?).as_ref() != Some(&version) {
        return Err(format!("llc has version {version} of LLVM, but opt has another version"));
    }
    if !output_of(llc, &["--version"])?.contains("nvptx64") {
        return Err(format!("LLVM {version} was built without the NVPTX target"));
    }
    Ok(version)
}

fn version_of(text: &str) -> Option<String> {
    let after = &text[text.find("LLVM version ")? + "LLVM version ".len()..];
    after.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_from_either_wording() {
        for (said, version) in [
            ("Debian LLVM version 22.1.8\n  Optimized", Some("22.1.8")),
            ("LLVM (http://llvm.org/):\n  LLVM version 21.0.0", Some("21.0.0")),
            ("clang", None),
        ] {
            assert_eq!(version_of(said).as_deref(), version);
        }
    }

    #[test]
    fn a_missing_version_lists_the_searched_places() {
        let error = find_llvm(9000).expect_err("there is no LLVM 9000");
        let text = error.to_string();
        for part in ["opt-9000 and llc-9000: not installed", "llvm-tools"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
