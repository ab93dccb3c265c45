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
