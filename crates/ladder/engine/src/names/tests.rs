use super::*;

#[test]
fn names_are_suggested_by_substring_and_edit_distance() {
    let known = ["dram__bytes_read.sum", "dram__bytes_write.sum", "reduce"];
    let near = |given| near_names(given, known);
    assert_eq!(near("bytes_read"), ["dram__bytes_read.sum"]);
    assert_eq!(near("dram__bytes"), ["dram__bytes_read.sum", "dram__bytes_write.sum"]);
    assert_eq!(near("redcue"), ["reduce"]);
    assert_eq!(near("REDUCE"), ["reduce"]);
    assert!(near("quicksort").is_empty());
    assert!(near("").is_empty());
}

#[test]
fn only_near_names_are_suggested() {
    let hint = |given| did_you_mean(given, "ladders", &["reduce", "transpose"]);
    assert_eq!(hint("redcue"), "did you mean `reduce`?");
    assert_eq!(hint("DUCE"), "did you mean `reduce`?");
    assert_eq!(hint("transpos"), "did you mean `transpose`?");
    assert_eq!(hint("quicksort"), "the ladders are reduce, transpose");
}
