use super::*;

/// Returns the calls that replace these instructions in a function, and the helpers.
fn lowered(instructions: &str) -> (Vec<String>, String) {
    let ir = format!(
        "define void @f(ptr %unknown, ptr addrspace(1) %global) {{\n  %variable = alloca i32\n{instructions}  ret void\n}}\n"
    );
    let text = lower(&ir).unwrap_or(ir);
    let (function, helpers) = text.split_once("}\n").expect("a body");
    (function.lines().skip(2).map(|line| line.trim().to_owned()).collect(), helpers.to_owned())
}

#[test]
fn operations_on_local_variables_become_plain() {
    let (lines, helpers) = lowered(
        "  %p = getelementptr i8, ptr %variable, i64 4\n  %s = select i1 %c, ptr %p, ptr %variable\n  \
         %a = atomicrmw umax ptr %s, i32 %x acq_rel, align 4, !dbg !5, !noundef !2\n  \
         %q = addrspacecast ptr %variable to ptr addrspace(5)\n  \
         %b = cmpxchg weak ptr addrspace(5) %q, i32 0, i32 7 seq_cst monotonic, align 4\n  \
         store atomic i32 %x, ptr %variable syncscope(\"device\") release, align 4\n  \
         %o = tail call i32 asm sideeffect \"atom.relaxed.sys.add.f32 ${0}, [${1}], ${2};\", \"=&r,l,r\"(ptr nonnull %p, i32 1) #4, !dbg !5\n",
    );
    assert_eq!(lines[2], "%a = call i32 @plain_atomicrmw_umax_ptr_p_i32_a_acqrel_align_4(ptr %s, i32 %x), !dbg !5");
    assert!(lines[4].contains("(ptr addrspace(5) %q, i32 0, i32 7)"), "{lines:?}");
    assert!(lines[5].ends_with("(ptr %variable, i32 %x)"), "{lines:?}");
    assert!(
        lines[6].starts_with("%o = call i32 @plain_call_i32_asm") && lines[6].ends_with("(ptr %p, i32 1), !dbg !5"),
        "{lines:?}"
    );
    for part in [
        "call i32 @llvm.umax.i32(",
        "%same = icmp eq i32 %old, %a",
        "fadd float",
        "store i32 %a, ptr %p, align 4\n  ret void",
    ] {
        assert!(helpers.contains(part), "{part}: {helpers}");
    }
    assert!(!helpers.contains("atomic") || !helpers.contains(" = atomicrmw"), "{helpers}");
}

#[test]
fn an_unknown_address_is_tested_if_a_local_variable_can_have_it() {
    let add = "  %a = atomicrmw add ptr %unknown, i32 1 monotonic, align 4\n";
    let passed = "  call void @g(ptr %variable)\n";
    assert_eq!(lowered(add).0[0], add.trim());
    let (lines, helpers) = lowered(&format!("{add}{passed}"));
    assert_eq!(lines[0], "%a = call i32 @by_address_atomicrmw_add_ptr_p_i32_a_monotonic_align_4(ptr %unknown, i32 1)");
    for part in ["@llvm.nvvm.isspacep.local(ptr %p)", "%old.other = atomicrmw add ptr %p, i32 %a monotonic, align 4\n"]
    {
        assert!(helpers.contains(part), "{part}: {helpers}");
    }
    let either = "  %e = phi ptr [ %variable, %x ], [ %n, %y ]\n  %n = getelementptr i8, ptr %unknown, i64 4\n";
    let (lines, _) = lowered(&format!("{either}{}", add.replace("ptr %unknown", "ptr %e")));
    assert!(lines[2].starts_with("%a = call i32 @by_address_"), "{lines:?}");
}

#[test]
fn operations_on_other_memory_stay() {
    let global =
        "  %a = atomicrmw add ptr addrspace(1) %global, i32 1 monotonic, align 4\n  call void @g(ptr %variable)\n";
    let constant = "  %a = atomicrmw add ptr addrspacecast (ptr addrspace(3) @T to ptr), i32 1 monotonic, align 4\n  call void @g(ptr %variable)\n";
    for lines in [global, constant] {
        assert_eq!(lowered(lines).1, "", "{lines}");
    }
    let kernel = "define ptx_kernel void @k(ptr align 4 %out) {\n  %a = atomicrmw add ptr %out, i32 1 monotonic\n}\n\
                  define void @h() {\n  %variable = alloca i32\n  call void @g(ptr %variable)\n}\n";
    assert_eq!(lower(kernel), None);
}
