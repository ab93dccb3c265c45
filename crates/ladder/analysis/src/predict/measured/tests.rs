#![allow(clippy::unwrap_used)]

use super::*;

const RECORDS: &str = r#"{"device":"NVIDIA H200, 132 SMs","toolchain":"","date":"","command":"run","ladder":"reduce","problem":"n = 1024 (2^10)","rung":"reduce_gmem","values":{"time":{"value":92500.0,"unit":"ns"}}}
{"device":"NVIDIA H200, 132 SMs","toolchain":"","date":"","command":"run","ladder":"reduce","problem":"n = 1024 (2^10)","rung":"reduce_smem","values":{"time":null}}
"#;

const JSON: &str = r#"
[{"rung": "reduce_gmem", "problem": "n = 1024 (2^10)", "device_name": "NVIDIA H200", "time_ns": 90000.0, "n": 1024}]
[{"rung": "reduce_gmem", "problem": "n = 1024 (2^10)", "device_name": "NVIDIA H200", "time_ns": 95000.0},
 {"rung": "reduce_smem", "problem": "n = 1024 (2^10)", "device_name": "NVIDIA H200", "time_ns": null}]
"#;

#[test]
fn records_and_json_have_the_same_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        MeasuredTimes::read(&path)
    };
    let reduce = host::ladder("reduce").unwrap();
    for text in [RECORDS, JSON] {
        let times = read(text).unwrap();
        assert_eq!(times.device(), Some("NVIDIA H200"));
        assert_eq!(times.of(reduce, "n = 1024 (2^10)").unwrap(), Times::from([("reduce_gmem".to_owned(), 92.5)]));
        let error = |ladder, problem| times.of(host::ladder(ladder).unwrap(), problem).unwrap_err().to_string();
        assert!(error("reduce", "n = 4").ends_with("give the options of the run that measured them"));
        assert!(error("gemm", "n = 4").ends_with("has no times of gemm"));
    }
    let without = read(r#"[{"rung": "reduce_gmem", "time_ns": 92500.0}]"#).unwrap();
    assert_eq!((without.device(), without.of(reduce, "n = 4").unwrap()["reduce_gmem"]), (None, 92.5));
    assert!(read("nothing").unwrap_err().to_string().contains("line 1: "));
    assert!(read("[3]").is_err());
}
