#![allow(clippy::unwrap_used)]

use super::*;

fn record(ladder: &str, rung: &str, time: f64) -> Record {
    let time = Some(Value::new(time, Unit::Nanoseconds));
    let launch = Some(Value::of_text("4 × 256"));
    let values = [("grid × block".to_owned(), launch), ("time".to_owned(), time), ("published".to_owned(), None)];
    Record {
        device: "NVIDIA H100, 132 SMs".to_owned(),
        toolchain: "rustc".to_owned(),
        date: "2026-11-26".to_owned(),
        command: "run reduce".to_owned(),
        conditions: String::new(),
        ladder: ladder.to_owned(),
        problem: "n = 4".to_owned(),
        kind: "rung".to_owned(),
        rung: rung.to_owned(),
        values: IndexMap::from(values),
    }
}

#[test]
fn values_are_shown_with_their_units() {
    let quartiles = Some([0.99, 1.02]);
    for (value, text) in [
        (Value::new(126_910.0, Unit::Nanoseconds), "126.91 µs"),
        (Value::new(1_993_000.0, Unit::Nanoseconds), "1.993 ms"),
        (Value::new(1.5, Unit::Times), "1.50×"),
        (Value::new(15.78, Unit::Percent), "15.8 %"),
        (Value::new(-3.0, Unit::Difference), "-3.0 %"),
        (Value::new(1175.0, Unit::GigabytesPerSecond), "1175.0"),
        (Value::Measured { value: 1.0, unit: Unit::Ratio, quartiles }, "1.000 (0.990–1.020)"),
        (Value::of_text("3902"), "3902"),
        (Value::of_text("03"), "03"),
        (Value::of_text("right"), "right"),
    ] {
        assert_eq!(value.to_string(), text);
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value, "{json}");
    }
    assert!(Value::of_text("3902").is_number() && !Value::of_text("03").is_number());
}

#[test]
fn a_table_replaces_its_old_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h100/run.jsonl");
    let [a, b, c] = [record("reduce", "a", 1.0), record("reduce", "b", 2.0), record("gemm", "c", 3.0)];
    assert_eq!(replace(&path, &[a.clone(), b, c.clone()]).unwrap(), []);
    assert_eq!(replace(&path, &[record("reduce", "b", 4.0)]).unwrap(), [a]);
    assert_eq!(read(&path).unwrap(), [record("reduce", "b", 4.0), c]);

    fs::write(&path, "{}\n").unwrap();
    let error = replace(&path, &[]).unwrap_err().to_string();
    assert!(error.contains("line 1: missing field"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
}
