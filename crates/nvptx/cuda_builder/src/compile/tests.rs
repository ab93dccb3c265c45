use super::*;

#[test]
fn dep_info_is_read_with_its_escapes() {
    let text = "/t/release/k.ptx: /a/src/lib.rs /a\\ b/src/x.rs\n\n/other: /c\n";
    assert_eq!(dep_info(text), ["/a/src/lib.rs", "/a b/src/x.rs"].map(PathBuf::from));
    assert_eq!(dep_info(""), Vec::<PathBuf>::new());
}
