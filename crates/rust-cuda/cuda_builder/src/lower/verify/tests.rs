use super::*;

const CAST: &str = "addrspacecast (ptr addrspace(3) @TILE to ptr)";

/// Returns a kernel with these lines.
fn kernel(lines: &[&str]) -> String {
    let body: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(
        "@TILE = internal addrspace(3) global [4 x i32] undef\ndefine ptx_kernel void @k(ptr %out, i64 %i) {{\n{body}}}\n"
    )
}

#[test]
fn shared_accesses_and_address_arithmetic_pass() {
    let gep = "%p = getelementptr inbounds float, ptr addrspace(3) @TILE, i64 %i";
    let cast = "%g = addrspacecast ptr addrspace(3) %p to ptr";
    let end = format!("getelementptr inbounds nuw (i8, ptr {CAST}, i64 16)");
    let difference =
        format!("store i64 sub (i64 ptrtoint (ptr {end} to i64), i64 ptrtoint (ptr {CAST} to i64)), ptr %out");
    for lines in [
        &["store i32 1, ptr addrspace(3) @TILE, align 4"][..],
        &[gep, cast, &format!("%c = icmp eq ptr %g, {end}"), "store i1 %c, ptr %out"],
        &[gep, cast, "%n = ptrtoint ptr %g to i64", "%d = sub nuw i64 %n, %i", "store i64 %d, ptr %out"],
        &[&difference],
        &[
            gep,
            cast,
            "#dbg_value(ptr %g, !1, !DIExpression(), !2)",
            "call void @llvm.assume(i1 true) [ \"nonnull\"(ptr %g) ]",
        ],
        &[&format!("store i32 1, ptr addrspace(3) addrspacecast (ptr {end} to ptr addrspace(3)), align 4")],
        &[gep, cast, "%s = addrspacecast ptr %g to ptr addrspace(3)", "store i32 1, ptr addrspace(3) %s"],
    ] {
        assert_eq!(generic_accesses(&kernel(lines)), []);
    }
}

#[test]
fn a_generic_access_is_reported_with_its_static() {
    let gep = "%p = getelementptr inbounds float, ptr addrspace(3) @TILE, i64 %i";
    let cast = "%g = addrspacecast ptr addrspace(3) %p to ptr";
    let next = "%q = getelementptr inbounds i8, ptr %g, i64 4";
    let stored = format!("store ptr {CAST}, ptr %out, align 8");
    for lines in [
        &[&*stored][..],
        &[&format!("store ptr getelementptr inbounds (i8, ptr {CAST}, i64 4), ptr %out")],
        &[gep, cast, next, "call void @opaque(ptr %q)"],
        &[gep, cast, next, "call void asm sideeffect \"st.f32 [$0], 1.0;\", \"l\"(ptr %q)"],
        &[gep, cast, "%s = select i1 %c, ptr %g, ptr %out", "%v = load i32, ptr %s, align 4"],
        &[
            gep,
            cast,
            "%l = phi ptr [ %n, %bb ], [ %g, %start ]",
            "%n = getelementptr i8, ptr %l, i64 4",
            "store i32 1, ptr %n",
        ],
        &[
            gep,
            cast,
            "%a = ptrtoint ptr %g to i64",
            "%b = add i64 %a, 4",
            "%n = inttoptr i64 %b to ptr",
            "store i32 1, ptr %n",
        ],
        &[gep, cast, "ret ptr %g"],
    ] {
        let found = generic_accesses(&kernel(lines));
        let [LowerError::StaysGeneric { space: "shared", name, function, line, .. }] = &found[..] else {
            panic!("{lines:?}: {found:?}");
        };
        assert_eq!((&**name, &**function, &**line), ("TILE", "k", lines[lines.len() - 1]));
    }
    let twice = kernel(&[&stored, &stored]);
    assert_eq!(generic_accesses(&(twice.clone() + &twice.replace("@k", "@l"))).len(), 2, "one for each function");
}

#[test]
fn tables_of_shared_addresses_are_rejected() {
    let table = format!("@table = private constant [1 x ptr] [ptr {CAST}], align 8\n");
    let error = refuse_tables(&(kernel(&[]) + &table)).expect_err("no driver loads such a table").to_string();
    assert!(error.contains("static `table` holds the address of shared static `TILE`"), "{error}");
    assert_eq!(refuse_tables(&kernel(&[&format!("store ptr {CAST}, ptr %out")])), Ok(()));
}

#[test]
fn writes_to_constants_are_found() {
    let lowered = "@K = internal addrspace(4) global [4 x i32] zeroinitializer, align 4\n\
        define void @k(i64 %i) {\n  %p = getelementptr i32, ptr addrspace(4) @K, i64 %i\n";
    let writable = with_writable_constants(lowered).expect("the IR has a variable");
    assert!(writable.starts_with("@K = addrspace(1) global [4 x i32]"), "{writable}");
    for write in [
        "store i32 1, ptr addrspace(1) %p, align 4",
        "%r = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic, align 4",
        "tail call void @llvm.memset.p1.i64(ptr addrspace(1) noundef nonnull align 4 @K, i8 1, i64 16, i1 false)",
    ] {
        let optimized = format!("{writable}  {write}\n  ret void\n}}\n");
        let error = refuse_writes(&optimized, lowered).expect_err(write);
        assert!(matches!(&error, LowerError::WritesConstant { name, .. } if name == "K"), "{error}");
    }
    let read = format!("{writable}  %v = load i32, ptr addrspace(1) %p\n  store i32 %v, ptr addrspace(1) %out\n}}\n");
    assert_eq!(refuse_writes(&read, lowered), Ok(()));
    assert_eq!(with_writable_constants("@K = internal addrspace(4) constant i32 1\n"), None);
}
