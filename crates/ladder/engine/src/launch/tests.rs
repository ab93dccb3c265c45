use super::*;

#[test]
fn a_launch_is_displayed_in_cuda_syntax() {
    let launch = Launch {
        code: Code::Kernels,
        entry: "reduce_smem_dyn_128".into(),
        grid: [131072, 1, 1],
        block: [128, 1, 1],
        shared_bytes: 512,
        args: vec![],
    };
    assert_eq!(launch.to_string(), "reduce_smem_dyn_128<<<131072, 128, 512>>>");
    assert_eq!((launch.blocks(), launch.threads()), (131072, 128));
}
