use super::*;

#[test]
fn the_line_is_found_and_anything_else_is_not() {
    let text = "MemTotal:       16303012 kB\nMemFree:         1\nMemAvailable:   8000000 kB\n";
    assert_eq!(from_meminfo(text), Some(8_192_000_000));
    assert_eq!(from_meminfo("MemAvailable: much kB"), None);
    assert_eq!(from_meminfo(""), None);
}
