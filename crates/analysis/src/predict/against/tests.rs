#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn tables_and_json_say_the_same() {
    let from_tables = |text: &str| from_tables(host::ladders(), text);
    let table = "x\n<!-- ladder:reduce:begin -->\n| rung | grid | time |\n|---|---|---|\n\
                 | `reduce_gmem` | 1 | 92.50 µs |\n| `reduce_smem` | 1 | 4.5 ms |\n| `odd` | 1 | – |\n\
                 <!-- ladder:reduce:end -->\n";
    let json = r#"[{"rung": "reduce_gmem", "time_ns": 92500.0, "n": 3}]
                  [{"rung": "reduce_smem", "time_ns": 4500000.0}, {"rung": "odd", "time_ns": null}]"#;
    let times = from_tables(table);
    assert_eq!(times.len(), 2);
    assert_eq!(times["reduce_smem"], 4500.0);
    assert_eq!(from_json(json).unwrap(), times);
    let again = r#"[{"rung": "reduce_gmem", "time_ns": 90000.0}] [{"rung": "reduce_gmem", "time_ns": 99000.0}]"#;
    assert_eq!(from_json(&format!("{json}{again}")).unwrap(), times);
    assert_eq!(from_json(table), None);
    assert!(from_tables(json).is_empty());
}
