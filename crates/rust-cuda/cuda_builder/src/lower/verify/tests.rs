use super::*;

#[test]
fn accesses_in_their_own_space_pass() {
    verify(
        "@T = internal addrspace(3) global [4 x i32] undef\n\
         define ptx_kernel void @k() {\n  \
         store i32 1, ptr addrspace(3) @T, align 4\n  ret void\n}\n",
    )
    .expect("nothing generic here");
}

#[test]
fn a_cast_that_stays_is_named_with_its_static() {
    let error = verify(
        "define ptx_kernel void @k(ptr %out) {\n  \
         store ptr addrspacecast (ptr addrspace(3) @TILE to ptr), ptr %out, align 8\n}\n",
    )
    .expect_err("the address is stored");
    assert_eq!(
        error,
        LowerError::StaysGeneric {
            space: "shared",
            name: "TILE".into(),
            function: "k".into(),
            line: "store ptr addrspacecast (ptr addrspace(3) @TILE to ptr), ptr %out, align 8".into(),
            place: Place::default(),
        }
    );
}

#[test]
fn a_cast_of_a_derived_pointer_is_traced_to_its_static() {
    let error = verify(
        "define ptx_kernel void @k(ptr %out, i64 %i) {\n  \
         %p = getelementptr inbounds float, ptr addrspace(3) @TILE, i64 %i\n  \
         %q = getelementptr inbounds i8, ptr addrspace(3) %p, i64 4\n  \
         %g = addrspacecast ptr addrspace(3) %q to ptr\n  \
         %g2 = add i32 1, 2\n  \
         call void @opaque(ptr %g)\n  ret void\n}\n",
    )
    .expect_err("the address is passed on");
    let LowerError::StaysGeneric { name, line, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((name.as_str(), line.as_str()), ("TILE", "call void @opaque(ptr %g)"));
}

#[test]
fn a_cast_of_a_constant_expression_names_the_static() {
    let error = verify(
        "define ptx_kernel void @k(ptr %out) {\n  store ptr addrspacecast (ptr addrspace(3) \
         getelementptr inbounds (i8, ptr addrspace(3) @TILE, i64 4) to ptr), ptr %out\n}\n",
    )
    .expect_err("the address is stored");
    assert!(error.to_string().contains("shared static `TILE`"), "{error}");
}

#[test]
fn writes_to_constants_are_found() {
    let lowered = "@K = internal addrspace(4) global [4 x i32] zeroinitializer, align 4\n\
        define void @k(i64 %i) {\n  %p = getelementptr i32, ptr addrspace(4) @K, i64 %i\n";
    let writable = with_writable_constants(lowered).expect("it has a variable");
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
