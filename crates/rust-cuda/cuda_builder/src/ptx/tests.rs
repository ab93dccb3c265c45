use super::*;

#[test]
fn architectures_bring_their_first_version() {
    for (capability, version) in
        [(50, 60), (70, 60), (75, 63), (80, 70), (86, 71), (89, 78), (90, 78), (100, 86), (120, 87)]
    {
        assert_eq!(lowest_for_arch(capability), version, "compute_{capability}");
    }
}

#[test]
fn asm_blocks_bring_theirs() {
    assert_eq!(lowest_for_asm("  %a = add i32 1, 2\n"), 60);
    let line = "  call void asm sideeffect \"cp.async.cg.shared.global [$0], [$1], 16;\", \"r,l\"(i32 %a, ptr %p)\n";
    assert_eq!(lowest_for_asm(line), 70);
    assert_eq!(lowest_for_asm(&line.replace("cp.async.cg", "cp.async.bulk")), 80);
}

#[test]
fn a_shared_address_made_generic_is_refused() {
    let builder = CudaBuilder::new("kernels");
    let ptx = ".visible .entry k(\n)\n{\n\tcvta.shared.u64 \t%rd2, %rd1;\n}\n";
    let error = refuse_generic_shared(&builder, ptx).expect_err("generic");
    assert!(error.to_string().contains("`k`"), "{error}");
    refuse_generic_shared(&builder, "ld.shared.b32 %r1, [%rd1];").expect("not generic");
    let asked_for = ptx.replace("\tcvta", "// begin inline asm\n\tcvta");
    refuse_generic_shared(&builder, &asked_for).expect("the author's own");
}
