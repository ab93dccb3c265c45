//! Finding LLVM's `opt` and `llc`.

use std::path::{Path, PathBuf};

use super::rustc::parse_version;
use super::{LLVM_OVERRIDE, LlvmTools, NotFound, Place, on_path, output_of, rustup_toolchains};

/// The number of newer major versions than rustc's LLVM that are tried: LLVM reads the IR of older versions.
const NEWER: u32 = 4;

/// Finds `opt` and `llc` of LLVM `oldest` or newer that generate PTX.
///
/// # Errors
/// [`NotFound`], with every place that was searched and the missing part there, when none can be used.
pub fn find_llvm(oldest: u32) -> Result<LlvmTools, NotFound> {
    let places = match std::env::var_os(LLVM_OVERRIDE) {
        Some(folder) => {
            let folder = PathBuf::from(folder);
            vec![(
                LLVM_OVERRIDE.to_owned(),
                folder.join("opt"),
                folder.join("llc"),
            )]
        }
        None => places(oldest),
    };
    let mut looked = Vec::new();
    for (origin, opt, llc) in places {
        match judge(&opt, &llc, oldest) {
            Ok(version) => {
                return Ok(LlvmTools {
                    opt,
                    llc,
                    version,
                    origin,
                });
            }
            Err(missing) => looked.push(Place {
                name: origin,
                missing,
            }),
        }
    }
    Err(NotFound {
        wanted: format!("LLVM {oldest} or newer (opt and llc, with the NVPTX target)"),
        looked,
    })
}

fn places(oldest: u32) -> Vec<(String, PathBuf, PathBuf)> {
    let mut places = Vec::new();
    for (name, folder) in rustup_toolchains() {
        // The component llvm-tools puts them beside the libraries of the host.
        for host in std::fs::read_dir(folder.join("lib/rustlib"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let bin = host.path().join("bin");
            if bin.join("llc").is_file() {
                places.push((
                    format!("llvm-tools of rustup toolchain {name}"),
                    bin.join("opt"),
                    bin.join("llc"),
                ));
            }
        }
    }
    if places.is_empty() {
        let nowhere = PathBuf::new();
        places.push((
            "llvm-tools of a rustup toolchain".to_owned(),
            nowhere.clone(),
            nowhere,
        ));
    }
    for major in oldest..=oldest + NEWER {
        let folder = PathBuf::from(format!("/usr/lib/llvm-{major}/bin"));
        let named = (
            on_path(format!("opt-{major}")),
            on_path(format!("llc-{major}")),
        );
        let (opt, llc) = match named {
            (opts, llcs) if !opts.is_empty() && !llcs.is_empty() => {
                (opts[0].clone(), llcs[0].clone())
            }
            _ => (folder.join("opt"), folder.join("llc")),
        };
        places.push((format!("opt-{major} and llc-{major}"), opt, llc));
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
        .ok_or_else(|| "`llc --version` names no LLVM version".to_owned())?;
    if parse_version(&version).is_none_or(|(major, _)| major < oldest) {
        return Err(format!("it is LLVM {version}; needs {oldest} or newer"));
    }
    if version_of(&output_of(opt, &["--version"])?).as_ref() != Some(&version) {
        return Err(format!("llc is LLVM {version}, opt is another version"));
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
    fn versions_are_read_from_either_wording() {
        assert_eq!(
            version_of("Debian LLVM version 22.1.8\n  Optimized"),
            Some("22.1.8".into())
        );
        assert_eq!(
            version_of("LLVM (http://llvm.org/):\n  LLVM version 21.0.0"),
            Some("21.0.0".into())
        );
        assert_eq!(version_of("clang"), None);
    }

    #[test]
    fn a_version_that_does_not_exist_lists_where_it_was_looked_for() {
        let error = find_llvm(9000).expect_err("there is no LLVM 9000");
        let text = error.to_string();
        assert!(
            text.contains("opt-9000 and llc-9000: not installed"),
            "{text}"
        );
        assert!(text.contains("llvm-tools"), "{text}");
    }
}
