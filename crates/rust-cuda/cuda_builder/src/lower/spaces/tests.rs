use super::*;

const TILE: &str = "@TILE = internal global [512 x i8] undef, section \".shared\", align 4\n";
const CAST: &str = "addrspacecast (ptr addrspace(3) @TILE to ptr)";

fn lowered(ir: &str) -> String {
    lower(ir).expect("the IR can be lowered")
}

/// Lowers a module and checks that the result contains all of these parts.
fn has(ir: &str, parts: &[&str]) -> String {
    let out = lowered(ir);
    for part in parts {
        assert!(out.contains(part), "`{part}` is not in: {out}");
    }
    out
}

#[test]
fn an_array_moves_and_its_uses_are_cast() {
    let out = lowered(&format!(
        "{TILE}define void @k(i64 %i) {{\n  %p = getelementptr inbounds float, ptr @TILE, i64 %i\n  \
         store float 1.0, ptr @TILE, align 4\n}}\n"
    ));
    assert_eq!(
        out,
        format!(
            "@TILE = internal addrspace(3) global [512 x i8] undef, align 4\n\
             define void @k(i64 %i) {{\n  %p = getelementptr inbounds float, ptr {CAST}, i64 %i\n  \
             store float 1.0, ptr {CAST}, align 4\n}}\n"
        )
    );
}

#[test]
fn several_statics_and_names_that_contain_each_other() {
    has(
        "@A = internal global i32 undef, section \".shared\", align 4\n\
         @AB = internal unnamed_addr global i64 undef, section \".shared\", align 8, !dbg !3\n\
         @ABC = internal global i32 7, align 4\n\
         define void @k() {\n  %x = load i32, ptr @A\n  %y = load i64, ptr @AB\n  %z = load i32, ptr @ABC\n}\n",
        &[
            "@A = internal addrspace(3) global i32 undef, align 4\n",
            "@AB = internal unnamed_addr addrspace(3) global i64 undef, align 8, !dbg !3\n",
            "@ABC = internal addrspace(1) global i32 7, align 4\n",
            "load i32, ptr addrspacecast (ptr addrspace(3) @A to ptr)\n",
            "load i64, ptr addrspacecast (ptr addrspace(3) @AB to ptr)\n",
            "load i32, ptr addrspacecast (ptr addrspace(1) @ABC to ptr)\n",
        ],
    );
}

#[test]
fn uses_inside_constant_expressions_and_by_two_kernels() {
    let inside = "getelementptr inbounds nuw (float, ptr @TILE, i64 3), align 4";
    let store = format!("{TILE}define void @k() {{\n  store float 1.0, ptr {inside}\n}}\n");
    has(&store, &[&format!("ptr {}", inside.replace("@TILE", CAST))]);
    let kernel = |name| format!("define ptx_kernel void @{name}() {{\n  store i8 1, ptr @TILE\n}}\n");
    let out = lowered(&format!("{TILE}{}{}", kernel("a"), kernel("b")));
    assert_eq!(out.matches(CAST).count(), 2, "{out}");
    assert_eq!(out.matches("@TILE = ").count(), 1, "{out}");
}

#[test]
fn strings_and_comments_are_not_addresses() {
    let text = "@TEXT = private constant [5 x i8] c\"@TILE\", align 1\n";
    let body = "define void @k() {\n  call void asm sideeffect \"@TILE bra x;\", \"\"(), !dbg !1 ; @TILE\n}\n\
                !1 = !{!\"@TILE\"}\n";
    has(&format!("{TILE}{text}{body}"), &["[5 x i8] c\"@TILE\", align 1\n", body]);
}

#[test]
fn quoted_names() {
    has(
        "@\"a<b>\" = internal global [4 x i8] undef, section \".shared\", align 1\n\
         define void @k() {\n  store i8 1, ptr @\"a<b>\"\n}\n",
        &["addrspacecast (ptr addrspace(3) @\"a<b>\" to ptr)"],
    );
}

#[test]
fn structs_of_undefined_fields_are_uninitialized() {
    let nothing = "@S = internal global <{ [4 x i8], [8 x i8] }> <{ [4 x i8] undef, [8 x i8] undef }>";
    assert_eq!(
        lowered(&format!("{nothing}, section \".shared\", align 8\n")),
        "@S = internal addrspace(3) global <{ [4 x i8], [8 x i8] }> undef, align 8\n"
    );
}

#[test]
fn zeros_are_not_written() {
    let zeros = "@S = internal global <{ [64 x i8] }> zeroinitializer, section \".shared\", align 4\n";
    assert!(zeroed(zeros).eq(["S".to_owned()]));
    assert_eq!(zeroed(&zeros.replace("<{ [64 x i8] }>", "<{}>")).count(), 0);
    assert_eq!(lowered(zeros), "@S = internal addrspace(3) global <{ [64 x i8] }> undef, align 4\n");
}

#[test]
fn errors_name_the_rejected_static() {
    for value in ["i32 7", "<{ [4 x i8], i32 }> <{ [4 x i8] undef, i32 1 }>", "[2 x i8] c\"ab\""] {
        let ir = format!("@COUNT = internal global {value}, section \".shared\", align 4\n");
        let error = lower(&ir).expect_err(value);
        let of_count = |name: &str| name == "COUNT";
        assert!(matches!(&error, LowerError::Initialized { name, .. } if of_count(name)), "{error}");
    }
    for (symbol, holder) in [("P", "static `P`"), ("anon.4e09.0", "a constant")] {
        let (name, holder, place) = ("TILE".into(), holder.into(), Place::default());
        assert_eq!(
            lower(&format!("{TILE}@{symbol} = internal constant ptr @TILE, align 8\n")),
            Err(LowerError::AddressInStatic { space: "shared", name, holder, place }),
            "an address before the block runs"
        );
    }
    let unknown = lower("@T = internal weird [4 x i8] undef, section \".shared\"\n");
    assert!(matches!(&unknown, Err(LowerError::UnknownForm { name, .. }) if name == "T"), "{unknown:?}");
}

#[test]
fn used_lists_lose_marked_statics() {
    let out = has(
        &format!(
            "{TILE}@llvm.compiler.used = appending global [2 x ptr] [ptr @TILE, ptr @x], section \"llvm.metadata\"\n\
             @llvm.used = appending global [1 x ptr] [ptr @TILE], section \"llvm.metadata\"\n"
        ),
        &["@llvm.compiler.used = appending global [1 x ptr] [ptr @x], section \"llvm.metadata\"\n"],
    );
    assert!(!out.contains("@llvm.used"), "{out}");
}

#[test]
fn dynamic_shared_memory_is_one_external_array() {
    let out = has(
        "@_Zcuda_std_dyn_shared = external local_unnamed_addr global i128\n\
         define void @k() {\n  %x = load float, ptr @_Zcuda_std_dyn_shared, align 4\n}\n",
        &["ptr addrspacecast (ptr addrspace(3) @_Zcuda_std_dyn_shared to ptr)"],
    );
    let array = "@_Zcuda_std_dyn_shared = external addrspace(3) global [0 x i8], align 16\n";
    assert!(out.starts_with(array), "{out}");
}

#[test]
fn constants_keep_their_value() {
    has(
        "@K = internal constant [2 x i32] [i32 1, i32 2], section \".constant\", align 4\n\
         define i32 @k() {\n  %x = load i32, ptr @K\n  ret i32 %x\n}\n",
        &[
            "@K = internal addrspace(4) constant [2 x i32] [i32 1, i32 2], align 4\n",
            "ptr addrspacecast (ptr addrspace(4) @K to ptr)",
        ],
    );
}

#[test]
fn other_statics_move_to_global_memory() {
    let cast = |name: &str| format!("addrspacecast (ptr addrspace(1) @{name} to ptr)");
    let used = "@llvm.used = appending global [1 x ptr] [ptr @x], section \"llvm.metadata\"";
    let ir = "@x = internal global i32 0\n@y = external constant <{ ptr, ptr }>\n\
              @p = constant <{ ptr, ptr, [4 x i8] }> <{ ptr @x, ptr @f, [4 x i8] zeroinitializer }>, align 8\n\
              define void @f() {\n  store i32 1, ptr @x\n}\n";
    has(
        &format!("{ir}{used}\n"),
        &[
            "@x = internal addrspace(1) global i32 0\n@y = external addrspace(1) constant <{ ptr, ptr }>\n",
            &format!("@p = addrspace(1) constant <{{ ptr, ptr, [4 x i8] }}> <{{ ptr {}, ptr @f, ", cast("x")),
            &format!("store i32 1, ptr {}\n", cast("x")),
            &used.replace("@x", &cast("x")),
        ],
    );
    let without = "define void @f() {\n  call void @g()\n}\n";
    assert_eq!(lowered(without), without);
}

#[test]
fn a_marked_static_cannot_hold_the_address_of_another() {
    let ir = format!("{TILE}@K = internal constant ptr @TILE, section \".constant\", align 8\n");
    assert!(matches!(lower(&ir), Err(LowerError::AddressInStatic { holder, .. }) if holder == "static `K`"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}", name in "[a-z.]{1,8}") {
        let _ = lower(&format!("@{name} = {text} section \".shared\"\n{text} @{name} {text}\n"));
    }
}
