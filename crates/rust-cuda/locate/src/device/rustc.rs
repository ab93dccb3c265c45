//! Finds a `rustc` that compiles for the device.

use std::path::{Path, PathBuf};

use super::{DeviceRustc, NotFound, Place, RUSTC_OVERRIDE, on_path, output_of, rustup_toolchains};
use crate::program;

/// The oldest Rust version whose NVPTX backend and `core::arch::nvptx` match `cuda_std`.
const OLDEST: (u32, u32) = (1, 95);

/// Finds the first `rustc` that can compile for the device, whether or not LLVM's tools are installed.
///
/// # Errors
/// Returns [`NotFound`] with every `rustc` that was tried and its missing part when no `rustc` is usable.
pub fn find_rustc() -> Result<DeviceRustc, NotFound> {
    let mut searched = Vec::new();
    for found in candidates() {
        match found {
            Ok(rustc) => return Ok(rustc),
            Err(place) => searched.push(place),
        }
    }
    Err(NotFound { requested: "rustc with library sources".to_owned(), searched })
}

/// Returns every `rustc` of this machine in the order of preference. Each one is checked when the iterator reaches it.
pub(super) fn candidates() -> impl Iterator<Item = Result<DeviceRustc, Place>> {
    // An override is the only candidate, because a user who names a compiler expects that compiler or an error.
    let places = match std::env::var_os(RUSTC_OVERRIDE) {
        Some(path) => vec![(RUSTC_OVERRIDE.to_owned(), PathBuf::from(path))],
        None => places(),
    };
    let mut sysroots = Vec::new();
    places.into_iter().filter_map(move |(origin, path)| {
        let judged = judge(&path, &origin);
        // Several paths can lead to the same toolchain, such as a rustup proxy and the toolchain's folder.
        let sysroot = match &judged {
            Ok((_, sysroot)) | Err((_, Some(sysroot))) => sysroot.clone(),
            Err((_, None)) => path,
        };
        if sysroots.contains(&sysroot) {
            return None;
        }
        sysroots.push(sysroot);
        Some(match judged {
            Ok((rustc, _)) => Ok(rustc),
            Err((missing, _)) => Err(Place { name: origin, missing }),
        })
    })
}

fn places() -> Vec<(String, PathBuf)> {
    let mut places = Vec::new();
    // Cargo tells a build script which rustc it uses. Elsewhere, the first rustc on PATH is the active one.
    if let Some(active) = std::env::var_os("RUSTC") {
        places.push(("the active toolchain".to_owned(), PathBuf::from(active)));
    } else if let Some(active) = on_path("rustc").into_iter().next() {
        places.push(("the active toolchain".to_owned(), active));
    }
    for (name, folder) in rustup_toolchains() {
        places.push((format!("rustup toolchain {name}"), program(&folder.join("bin"), "rustc")));
    }
    for path in on_path("rustc") {
        places.push((path.display().to_string(), path));
    }
    places
}

type Inspection = Result<(DeviceRustc, PathBuf), (String, Option<PathBuf>)>;

fn judge(path: &Path, origin: &str) -> Inspection {
    let unusable = |missing: String| (missing, None);
    let about = output_of(path, &["-vV"]).map_err(unusable)?;
    let field = |name: &str| {
        about
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim().to_owned())
            .ok_or_else(|| unusable(format!("`-vV` does not print `{name}`")))
    };
    let (version, llvm) = (field("release:")?, field("LLVM version:")?);
    let sysroot = output_of(path, &["--print", "sysroot"]).map_err(unusable)?;
    let sysroot = PathBuf::from(sysroot.trim());
    let lacking = |missing: String| (missing, Some(sysroot.clone()));

    if parse_version(&version).is_none_or(|version| version < OLDEST) {
        let (major, minor) = OLDEST;
        let missing = format!("it is {version}; needs {major}.{minor} or newer");
        return Err(lacking(missing));
    }
    let llvm_major = parse_version(&llvm)
        .map(|(major, _)| major)
        .ok_or_else(|| lacking(format!("cannot parse its LLVM version: {llvm}")))?;
    if !sysroot.join("lib/rustlib/src/rust/library/core/Cargo.toml").is_file() {
        return Err(lacking(format!("{version} has no library sources")));
    }
    Ok((DeviceRustc { path: path.to_owned(), version, llvm_major, origin: origin.to_owned() }, sysroot))
}

/// Parses a version: `1.96.0-nightly` → (1, 96).
pub(super) fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-', ' ']);
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|minor| minor.parse().ok());
    Some((major, minor.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(parse_version("1.96.0"), Some((1, 96)));
        assert_eq!(parse_version("1.97.0-nightly"), Some((1, 97)));
        assert_eq!(parse_version("22.1.8"), Some((22, 1)));
        assert_eq!(parse_version("none"), None);
    }

    #[test]
    fn a_path_without_a_compiler_is_reported() {
        let Err((missing, _)) = judge(Path::new("/nonexistent/rustc"), "nowhere") else {
            panic!("the path does not exist");
        };
        assert!(missing.starts_with("cannot be run"), "{missing}");
    }
}
