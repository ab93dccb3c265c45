//! The messages of the attributes about mistakes. Each file of `ui/` must fail to compile with exactly the messages in
//! the `.stderr` file next to it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{check, krate};

/// Returns the compiler's messages for each example. The examples must be compiled one after another.
fn messages(stderr: &str) -> BTreeMap<String, String> {
    let mut examples = BTreeMap::new();
    let mut found = String::new();
    for line in stderr.lines() {
        if let Some(rest) = line.strip_prefix("error: could not compile `misuse` (example \"") {
            examples.insert(rest.split('"').next().unwrap().to_owned(), std::mem::take(&mut found));
        } else if !["Some errors have detailed", "For more information about"]
            .iter()
            .any(|prefix| line.starts_with(prefix))
        {
            found += line;
            found += "\n";
        }
    }
    examples
}

#[test]
fn mistakes_are_explained_at_their_location() {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui");
    let krate = krate("misuse", false, "");
    let examples = krate.join("examples");
    std::fs::create_dir_all(&examples).unwrap();
    let files = std::fs::read_dir(&ui).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")).collect();
    for file in &files {
        std::fs::copy(file, examples.join(file.file_name().unwrap())).unwrap();
    }
    let stderr = String::from_utf8(check(&krate, &["--examples", "--keep-going", "--jobs=1"]).stderr).unwrap();
    let found = messages(&stderr.replace(" examples/", " tests/ui/"));
    assert_eq!(found.len(), files.len(), "{stderr}");
    for (name, found) in found {
        let expected = std::fs::read_to_string(ui.join(format!("{name}.stderr"))).unwrap();
        assert_eq!(found.trim(), expected.trim(), "{found}");
    }
}

#[test]
fn printing_without_alloc_names_the_feature() {
    let krate = krate(
        "misuse_of_printing",
        false,
        "use cuda_std::prelude::*;\npub fn of_the_host() { println!(\"host\"); }\n#[kernel]\npub unsafe fn k() {\n    if true {\n        println!(\"{}\", 2);\n    }\n}\n",
    );
    let manifest = krate.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("features = [\"vek\"]", "default-features = false")).unwrap();
    let stderr = String::from_utf8(check(&krate, &["--message-format=short"]).stderr).unwrap();
    let error = "lib.rs:6:9: error: printing in a kernel needs cuda_std's feature `alloc`";
    assert!(stderr.contains(error) && stderr.matches("error: ").count() == 2, "{stderr}");
}
