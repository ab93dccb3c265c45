use super::*;

/// Creates an archive as rustc writes it: an index of symbols, and two members.
fn archive(folder: &Path, name: &str) -> PathBuf {
    let member = |name: &str, text: &str| {
        let pad = if text.len().is_multiple_of(2) { "" } else { "\n" };
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n{text}{pad}", 0, 0, 0, 644, text.len())
    };
    let members = [member("one.o/", "bitcode 1"), member("two.o/", "bitcode 2!")];
    let names = "_RNv1a\0_RNv1b\0kernel\0";
    let index_len = 4 + 3 * 4 + names.len() + names.len() % 2;
    let first = 8 + 60 + index_len;
    let offsets = [first, first + members[0].len(), first + members[0].len()];
    let mut bytes = b"!<arch>\n".to_vec();
    bytes.extend(member("/", "").as_bytes()[..48].iter());
    bytes.extend(format!("{index_len:<10}`\n").bytes());
    bytes.extend(3u32.to_be_bytes());
    bytes.extend(offsets.iter().flat_map(|offset| (*offset as u32).to_be_bytes()));
    bytes.extend(names.bytes().chain((0..names.len() % 2).map(|_| 0)));
    bytes.extend(members.concat().bytes());
    let path = folder.join(name);
    fs::write(&path, bytes).expect("written");
    path
}

#[test]
fn members_with_missing_or_exported_symbols_are_taken_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = |library: &mut Library, missing: &[&str]| -> Vec<(String, Vec<u8>)> {
        let missing = missing.iter().map(|symbol| (*symbol).to_owned()).collect();
        library.take(&missing).expect("an archive")
    };
    let one = || ("one.o".to_owned(), b"bitcode 1".to_vec());
    let two = || ("two.o".to_owned(), b"bitcode 2!".to_vec());
    let open = |name: &str| Library::open(&archive(folder.path(), name)).expect("an archive").expect("an index");
    let mut library = open("libx-1.rlib");
    assert_eq!(taken(&mut library, &["_RNv1x"]), [two()]);
    assert_eq!(taken(&mut library, &["_RNv1a", "_RNv1b"]), [one()]);
    assert_eq!(taken(&mut library, &["_RNv1a", "_RNv1b"]), []);
    // Members of compiler_builtins are taken only if the program needs them.
    let mut builtins = open("libcompiler_builtins-1.rlib");
    assert_eq!(taken(&mut builtins, &["_RNv1x"]), []);
    assert_eq!(taken(&mut builtins, &["kernel", "_RNv1a"]), [one(), two()]);
}

#[test]
fn a_library_without_an_index_is_not_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("libx.rlib");
    for (members, is_read) in [(&["lib.rmeta/"][..], true), (&["lib.rmeta/", "one.o/"], false)] {
        let members = members.iter().map(|name| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\nab", 0, 0, 0, 644, 2));
        fs::write(&path, format!("!<arch>\n{}", members.collect::<String>())).expect("written");
        assert_eq!(Library::open(&path).expect("an archive").is_some(), is_read);
    }
}

#[test]
fn a_file_that_is_not_an_archive_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("libx.rlib");
    fs::write(&path, "no archive").expect("written");
    let error = Library::open(&path).err().expect("an error");
    assert!(error.to_string().contains("libx.rlib"), "{error}");
}
