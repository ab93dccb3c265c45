//! `cargo xtask playground`: builds simt for the browser, as a folder of static files.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::console::{Failure, Result, status};
use crate::install;
use crate::process::{cargo, from_root, root, run_showing_output, target_folder};

const TARGET: &str = "wasm32-unknown-unknown";

/// Flags for small code, as in a release. A separate profile would recompile all build scripts and macros, which other
/// builds have already compiled.
const FLAGS: &str = "-C codegen-units=1 -C debuginfo=0 -C debug-assertions=off -C overflow-checks=off -C strip=symbols";

/// Builds the page into a folder, by default `playground` in the target folder. The page for tests is not optimized, so
/// building it takes a third of the time.
///
/// # Errors
/// Returns a failure when the folder contains anything but an earlier playground, because no other files are
/// overwritten.
pub(crate) fn build(folder: Option<&Path>, is_for_tests: bool) -> Result<()> {
    let target = target_folder();
    let folder = folder.map_or_else(|| target.join("playground"), Path::to_owned);
    check_empty(&folder)?;
    install::device()?;
    install::target_library(TARGET)?;
    let level = if is_for_tests { "0" } else { "s" };
    run_showing_output(
        cargo()
            .args(["build", "--package", "playground", "--lib", "--target", TARGET, "--manifest-path"])
            .arg(root().join("Cargo.toml"))
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", format!("-C opt-level={level} {FLAGS}")),
    )?;
    let module = target.join(TARGET).join("debug").join("playground.wasm");
    let bytes = std::fs::read(&module).map_err(|error| Failure::file("read", &module, &error))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| Failure::file("write", &path, &error))
    };
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, &error))?;
    for path in files()? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        write(&name, &std::fs::read(&path).map_err(|error| Failure::file("read", &path, &error))?)?;
    }
    write("playground.wasm", &bytes)?;
    // A page that is opened as a file cannot fetch the module, but it can load a script.
    write(SCRIPT, format!("globalThis.PLAYGROUND_WASM = \"{}\";\n", BASE64_STANDARD.encode(&bytes)).as_bytes())?;
    status(
        "Ready",
        format_args!("{}: open it in a browser, as a file or from any server", from_root(&folder.join("index.html"))),
    );
    Ok(())
}

/// The file that identifies a folder as a playground.
const SCRIPT: &str = "playground.wasm.js";

fn check_empty(folder: &Path) -> Result<()> {
    let is_playground = folder.join(SCRIPT).is_file();
    let is_empty = std::fs::read_dir(folder).map_or(!folder.exists(), |mut entries| entries.next().is_none());
    if is_playground || is_empty {
        return Ok(());
    }
    Err(Failure::request(format!("{} exists and is not a playground", folder.display()))
        .help("choose a folder that is empty or does not exist: `cargo xtask playground FOLDER`"))
}

/// Returns the files of the page.
fn files() -> Result<Vec<PathBuf>> {
    let folder = root().join("crates/ladder/playground/www");
    let entries = std::fs::read_dir(&folder).map_err(|error| Failure::file("read", &folder, &error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::{SCRIPT, check_empty};

    #[test]
    fn other_files_are_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(check_empty(folder.path()).is_ok());
        assert!(check_empty(&folder.path().join("new")).is_ok());
        std::fs::write(folder.path().join("index.html"), "mine").expect("a file");
        assert_eq!(check_empty(folder.path()).expect_err("the folder has a file").code, 2);
        assert_eq!(check_empty(&folder.path().join("index.html")).expect_err("the path is a file").code, 2);
        std::fs::write(folder.path().join(SCRIPT), "").expect("a file");
        assert!(check_empty(folder.path()).is_ok());
    }
}
