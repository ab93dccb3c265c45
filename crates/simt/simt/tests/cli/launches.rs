//! Tests several launches that share memory, and variables of the module.

use super::{Outcome, VARIABLES, run_file};

/// Runs `simt run variables.ptx` with the words of a line.
fn run(line: &str) -> Outcome {
    run_file(VARIABLES, line)
}

const DOUBLE_AND_FILL: &str = "--symbol math::factor=f32[2]=iota factor=bytes:0000004000000000 \
    --arg f32[4]=iota bytes:0a00000002000000 u32[4] --print 0 2 \
    --launch 'scale(float*) grid=1 block=4 args=0' 'fill(Range, unsigned int*) grid=1,1 block=4 args=1,2'";

#[test]
fn kernels_run_one_after_the_other_over_the_same_memory() {
    let outcome = run(DOUBLE_AND_FILL);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let buffers = "argument 0, f32[4]: 0.0 2.0 4.0 6.0\nargument 2, u32[4]: 4 12 14 16\n";
    assert_eq!(outcome.out, buffers);
    let names = outcome.err.lines().map(|line| line.split(" ran in ").next());
    assert!(names.eq([Some("scale(float*)"), Some("fill(Range, unsigned int*)")]));
}

#[test]
fn each_of_several_launches_has_counters() {
    let outcome = run(&format!("{DOUBLE_AND_FILL} --json"));
    let value: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let entries = value["launches"].as_array().unwrap().iter();
    assert!(entries.map(|launch| &launch["entry"]).eq(["_Z5scalePf", "_Z4fill5RangePj"]));
    let instructions = &value["launches"][1]["counters"]["ptx_inst_executed.sum"];
    assert_eq!(instructions, 11);
    assert_eq!(value["buffers"]["2"], serde_json::json!([4, 12, 14, 16]));

    let outcome = run(&format!("{DOUBLE_AND_FILL} --count"));
    let heads: Vec<&str> = outcome.out.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(heads, ["scale(float*):", "fill(Range, unsigned int*):"]);
}

#[test]
fn a_fault_ends_the_launches_and_names_the_variable() {
    let outcome = run("--arg f32[4]=iota --print 0 --launch 'scale grid=1 block=4' \
         'beyond<float> grid=1 block=1 args=' 'scale grid=1 block=4'");
    assert_eq!(outcome.code, 1);
    assert_eq!(outcome.err.matches(" ran in ").count(), 1, "{}", outcome.err);
    for part in ["0 bytes past the end of variable `calls` of 4 bytes", "in kernel `beyond<float>()`"] {
        assert!(outcome.err.contains(part), "{}", outcome.err);
    }
    assert_eq!(outcome.out, "argument 0, f32[4]: 0.0 1.0 2.0 3.0\n");
}
