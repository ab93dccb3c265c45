use super::*;

const PTX: &str = "\
.version 6.3
.target sm_75
.address_size 64
\t.file\t1 \"/gr\\303\\266\\303\\237e/src/lib.rs\"
.shared .align 4 .b8 TILE[40000];
.shared .align 4 .u32 COUNT;
.func f(
\t.param .b64 f_param_0
)
{
\t.shared .align 4 .b8 OTHER[9152];
\tmov.b64 %rd1, OTHER;
\tret;
}
.visible .entry k(
\t.param .u64 .ptr .align 1 k_param_0,
\t.param .u8 k_param_1,
\t.param .align 16 .b8 k_param_2[16]
)
{
\t.loc\t1 7 0
\tst.shared.b32 [TILE+4], %r1;
\tcall.uni f, (param0);
\tret;
}
";

#[test]
fn parameters_have_the_drivers_layout() {
    let entry = &PTX[PTX.find(".visible").expect("the PTX has a kernel")..];
    assert_eq!(parameters(entry), 32);
}

#[test]
fn shared_memory_includes_called_functions() {
    let builder = CudaBuilder::new("kernels");
    assert!(matches!(check(&builder, PTX), Ok(false)));
    // No kernel uses COUNT. 40,000 and 9,152 bytes together are exactly the limit.
    let more = PTX.replace("OTHER[9152]", "OTHER[9153]");
    let error = check(&builder, &more).expect_err("one byte exceeds the limit").to_string();
    assert!(error.contains("`k` has 49153 bytes"), "{error}");
    assert!(error.contains("`OTHER` 9153, `TILE` 40000"), "{error}");
    assert!(error.contains("--> /größe/src/lib.rs:7"), "{error}");
}

#[test]
fn large_parameters_need_a_newer_version_and_have_a_limit() {
    let with = |bytes: u32| PTX.replace("k_param_2[16]", &format!("k_param_2[{bytes}]"));
    let builder = CudaBuilder::new("kernels");
    for (bytes, expected) in [(4336, Some(false)), (4337, Some(true)), (32_748, Some(true)), (32_749, None)] {
        assert_eq!(check(&builder, &with(bytes)).ok(), expected, "{bytes}");
    }
    let error = check(&builder.arch(crate::NvvmArch::Compute61), &with(4337)).expect_err("sm_61 allows less");
    assert!(error.to_string().contains("`k` has 4353 bytes of parameters"), "{error}");
}

#[test]
fn constants_are_added_up_with_padding() {
    let with = |second: u32| {
        let constants = format!(
            ".const .align 4 .b8 A[36001] = {{1, 2, 3}};\n.const .align 8 .b8 B[{second}];\n.visible .const .align 4 .u32 C = 7;\n"
        );
        PTX.replace(".func f(", &(constants + ".func f(")).replace("[TILE+4]", "[B]")
    };
    assert!(check_constants(&with(29_524)).is_ok());
    let error = check_constants(&with(29_528)).expect_err("the statics exceed the limit").to_string();
    assert!(error.contains("65540 bytes together, but the limit is 65536 (`A` 36001, `B` 29528, `C` 4)"), "{error}");
    assert!(error.contains("--> /größe/src/lib.rs:7"), "{error}");
}
