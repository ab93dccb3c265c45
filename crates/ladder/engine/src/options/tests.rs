#![allow(clippy::unwrap_used)]

use super::*;

const DECLARED: &[Opt] = &[
    Opt { name: "n", metavar: "N", kind: Kind::Size, default: "2^10", help: "" },
    Opt { name: "op", metavar: "OP", kind: Kind::Word(&["sum", "min"]), default: "sum", help: "" },
];

#[test]
fn missing_options_get_defaults_and_unknown_options_are_rejected() {
    let none = Options::default().complete("test", DECLARED).unwrap();
    assert_eq!((none.size("n"), none.text("op")), (1024, "sum"));
    let some = Options::default().with("op", "min").with("n", 7);
    let complete = some.complete("test", DECLARED).unwrap();
    assert_eq!((complete.size("n"), complete.text("op")), (7, "min"));
    assert_eq!(serde_json::to_string(&complete).unwrap(), r#"{"n":7,"op":"min"}"#);
    for (options, message) in [
        (Options::default().with("m", 7), "the ladder test has no option --m; it has --n, --op"),
        (Options::default().with("op", "mni"), "`mni` is not a valid value for --op; the values are sum, min"),
        (Options::default().with("n", "x"), "`x` is not a size"),
    ] {
        let error = options.complete("test", DECLARED).unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
        assert!(!error.is_failure());
    }
}

#[test]
fn combinations_are_complete_and_ordered() {
    let sizes = vec![Value::Size(1), Value::Size(2)];
    let words = ["a", "b", "c"].map(|word| Value::Text(word.to_owned()));
    let all = combinations(&[("n", sizes), ("op", words.to_vec())]);
    assert_eq!(all.len(), 6);
    let second: Vec<String> = all[1].values.iter().map(|(_, v)| v.to_string()).collect();
    assert_eq!(second, ["1", "b"]);
    assert_eq!(combinations(&[]), [Options::default()]);
}
