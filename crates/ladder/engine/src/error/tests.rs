use super::*;

#[test]
fn the_driver_log_is_joined_into_one_line() {
    let error = Error::Ptx { reason: "InvalidPtx".into(), log: "\nptxas error: line 3\n  fatal\n".into() };
    let text = error.to_string();
    assert!(text.contains("(ptxas error: line 3 | fatal)"), "{text}");
    assert!(!text.contains('\n'), "{text}");
    assert!(error.is_failure());
}
