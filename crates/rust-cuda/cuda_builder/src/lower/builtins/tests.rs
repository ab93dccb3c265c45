use super::*;

/// Returns the text after the pass, whether or not it has changed.
#[track_caller]
fn lowered(ir: &str) -> String {
    lower(ir).expect("the IR can be lowered").unwrap_or_else(|| format!("{ir}\n"))
}

#[track_caller]
fn becomes(line: &str, expected: &str) {
    assert_eq!(lowered(&format!("  {line}, !dbg !7\n")), format!("  {expected}\n"));
}

#[test]
fn remainders_and_wide_conversions_become_calls() {
    becomes("%0 = frem float %a, 7.0e-01", "%0 = call float @fmodf(float %a, float 7.0e-01), !dbg !7");
    becomes("%r = frem nnan ninf double %a, %b", "%r = call double @fmod(double %a, double %b), !dbg !7");
    becomes("%0 = sitofp i128 %s to double", "%0 = call double @__floattidf(i128 %s), !dbg !7");
    becomes("%0 = uitofp nneg i128 %s to float", "%0 = call float @__floatuntisf(i128 %s), !dbg !7");
    becomes("%1 = fptoui float %s to i128", "%1 = call i128 @__fixunssfti(float %s), !dbg !7");
    becomes(
        "%0 = call noundef i128 @llvm.fptosi.sat.i128.f64(double noundef %s) #4",
        "%0 = call i128 @__fixdfti(double %s) #4, !dbg !7",
    );
}

#[test]
fn half_floats_are_converted_through_floats() {
    becomes(
        "%1 = frem half %0, %s",
        "%wide.0.1 = fpext half %0 to float\n  %wide.1.1 = fpext half %s to float\n  \
         %wide.1 = call float @fmodf(float %wide.0.1, float %wide.1.1), !dbg !7\n  %1 = fptrunc float %wide.1 to half",
    );
    becomes(
        "%0 = call i128 @llvm.fptoui.sat.i128.f16(half %s)",
        "%wide.0.0 = fpext half %s to float\n  %0 = call i128 @__fixunssfti(float %wide.0.0), !dbg !7",
    );
}

#[test]
fn everything_else_stays() {
    for line in [
        "  %0 = sitofp i64 %s to double",
        "  %0 = call i64 @llvm.fptosi.sat.i64.f64(double %s)",
        "  %0 = call float @x(float %s)",
        "@s = constant [40 x i8] c\"%0 = frem float %a, %b = frem            \"",
        "define internal void @f() {",
        "define weak ptx_kernel void @k() {",
    ] {
        assert_eq!(lowered(line), format!("{line}\n"));
    }
    assert_eq!(lowered("define weak void @f() {"), "define hidden void @f() {\n");
    assert_eq!(lowered("define weak hidden void @f() {"), "define hidden void @f() {\n");
    let always = lowered("define weak i32 @bcmp(ptr %a) #2 !dbg !1 {");
    assert_eq!(always, "define hidden i32 @bcmp(ptr %a) #2 alwaysinline !dbg !1 {\n");
}

#[test]
fn a_remainder_of_vectors_is_rejected() {
    let error = lower("define void @f() {\n  %0 = frem <4 x float> %a, %b\n}\n").expect_err("no function takes it");
    assert!(error.to_string().contains("`f` takes a remainder"), "{error}");
}
