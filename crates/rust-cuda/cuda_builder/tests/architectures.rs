//! What builds for several architectures share, and what they do not share.
use std::path::Path;

use crate::common::{assert_has, build_error, entry, krate, ptx, read_checked};
use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};

#[test]
fn the_version_depends_on_the_architecture_and_the_instructions() {
    let source = "#[kernel]\npub unsafe fn total(out: *mut u32) {\n    unsafe { *out = warp::warp_reduce(u32::MAX, *out, warp::WarpReductionOp::Add) }\n}\n";
    let ampere = ptx("redux_kernels", NvvmArch::Compute80, source);
    assert_has(&ampere, &["redux.sync.add", ".version 7.0\n.target sm_80\n"]);
    let hopper = ptx("redux_kernels", NvvmArch::Compute90, source);
    assert_has(&hopper, &[".version 7.8\n.target sm_90\n"]);

    let error = build_error("redux_kernels", source);
    let CudaBuilderError::NotInArchitecture { function, instruction, .. } = error else {
        panic!("sm_75 does not have redux: {error}");
    };
    assert!(function == "total" && instruction.contains("redux"), "{function}: {instruction}");
}

/// Builds for several architectures at the same time, as a build script may. No build gets what belongs to another.
#[test]
fn kernels_can_be_for_newer_architectures_only() {
    let folder = krate(
        "gated_kernels",
        r#"
#[kernel]
pub unsafe fn everywhere(out: *mut u32) {
    unsafe { *out = warp::activemask() }
    let _ = MaybeUninit::new(out);
}

// By rustc's and by upstream's feature name.
#[cfg(all(target_feature = "sm_80", target_feature = "compute_80"))]
mod newer;
"#,
    );
    let newer = folder.join("src/newer.rs");
    let source = "use cuda_std::{kernel, warp};\n#[kernel]\npub unsafe fn newer_only(out: *mut u32) {\n    \
                  unsafe { *out = warp::warp_reduce(u32::MAX, *out, warp::WarpReductionOp::Add) }\n}\n";
    std::fs::write(&newer, source).unwrap();
    let build = |arch| {
        let out = folder.join(format!("{arch}.ptx"));
        let built = CudaBuilder::new(&folder).arch(arch).copy_to(out).build();
        read_checked(&built.unwrap())
    };
    for _ in 0..2 {
        let [turing, ampere, hopper] = std::thread::scope(|scope| {
            [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90]
                .map(|arch| scope.spawn(move || build(arch)))
                .map(|thread| thread.join().unwrap())
        });
        assert!(turing.contains(".version 6.3\n.target sm_75\n") && !turing.contains("newer_only"));
        for (ptx, header) in [(ampere, ".version 7.0\n.target sm_80\n"), (hopper, ".version 7.8\n.target sm_90\n")] {
            assert_has(&ptx, &[header, ".entry everywhere("]);
            assert_has(entry(&ptx, "newer_only"), &["redux.sync.add"]);
        }
        // The second iteration builds again when everything is up to date.
    }
}

/// Builds every device function of `cuda_std` and checks that no address space is lost.
#[test]
fn all_of_cuda_std_builds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cuda_std/tests/device");
    for (arch, features) in [(NvvmArch::Compute75, &["--no-default-features"][..]), (NvvmArch::Compute100, &[])] {
        let ptx = CudaBuilder::new(&folder).arch(arch).build_args(features).build().unwrap();
        let ptx = read_checked(&ptx);
        assert!(ptx.matches(".entry ").count() > 200, "{arch}");
        assert_eq!(ptx.contains("redux.sync"), arch > NvvmArch::Compute75, "{arch}");
    }
}
