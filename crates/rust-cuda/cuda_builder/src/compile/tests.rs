use super::*;

#[test]
fn dep_info_is_read_with_its_escapes() {
    let text = "/t/release/k.ptx: /a/src/lib.rs /a\\ b/src/x.rs\n\n/other: /c\n";
    assert_eq!(dep_info(text), ["/a/src/lib.rs", "/a b/src/x.rs"].map(PathBuf::from));
    assert_eq!(dep_info("C:\\t\\k.ptx: C:\\a\\x\\ y.rs\n"), [PathBuf::from("C:\\a\\x y.rs")]);
    assert_eq!(dep_info(""), Vec::<PathBuf>::new());
}

#[test]
fn errors_are_shown_without_warnings() {
    let messages = "warning: unused\n --> a.rs:1\n\nerror[E0308]: mismatched types\n --> a.rs:2\n  |\n\nwarning: `a` generated 1 \
                    warning\nerror: could not compile `a`\n";
    assert_eq!(errors(messages), "error[E0308]: mismatched types\n --> a.rs:2\n  |\n\nerror: could not compile `a`");
}

#[test]
fn targets_of_the_host_program_share_a_folder() {
    let of = |out_dir: &str| target_dir_of(Path::new(out_dir), Path::new("wasm32-unknown-unknown"));
    assert_eq!(of("/a/target/debug/build/host-1/out"), Some(PathBuf::from("/a/target")));
    assert_eq!(of("/a/target/wasm32-unknown-unknown/debug/build/host-1/out"), Some(PathBuf::from("/a/target")));
    assert_eq!(of("/out"), None);
}
