use super::*;

#[test]
fn the_version_is_the_first_for_the_architecture() {
    for (capability, version) in
        [(50, 60), (70, 60), (75, 63), (80, 70), (86, 71), (89, 78), (90, 78), (100, 86), (120, 87)]
    {
        assert_eq!(lowest_for_arch(capability), version, "compute_{capability}");
    }
}

#[test]
fn asm_blocks_raise_the_version() {
    assert_eq!(lowest_for_asm("  %a = add i32 1, 2\n"), 60);
    let line = "  call void asm sideeffect \"cp.async.cg.shared.global [$0], [$1], 16;\", \"r,l\"(i32 %a, ptr %p)\n";
    assert_eq!(lowest_for_asm(line), 70);
    assert_eq!(lowest_for_asm(&line.replace("cp.async.cg", "cp.async.bulk")), 80);
}
