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

#[test]
fn a_file_says_where_its_times_are_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times");
    let origin = |text: &str| {
        std::fs::write(&path, text).unwrap();
        origin(host::ladders(), &path).unwrap()
    };
    let reduce = host::ladder("reduce").unwrap();
    let problem = reduce.problem(&host::Options::default().with("n", 1 << 10)).unwrap();
    let check = |origin: &Origin| origin.check(reduce, &*problem, &path).map_err(|error| error.to_string());
    let table = |n: &str| {
        format!(
            "<!-- ladder:reduce:begin -->\nreduce on NVIDIA H200, 132 SMs; n = {n}, median\n<!-- ladder:reduce:end -->\n"
        )
    };
    let json = |bytes: u64| format!(r#"[{{"rung": "reduce_gmem", "device_name": "NVIDIA H200", "bytes": {bytes}}}]"#);
    for (right, wrong) in [(table("1024 (2^10)"), table("2048 (2^11)")), (json(problem.facts().bytes), json(1))] {
        assert_eq!(origin(&right).device.as_deref(), Some("NVIDIA H200"));
        assert_eq!(check(&origin(&right)), Ok(()));
        assert!(check(&origin(&wrong)).unwrap_err().contains("give the options"));
    }
    assert_eq!(origin("nothing").device, None);
}
