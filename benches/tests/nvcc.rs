//! Tests of compiling, with a shell script in place of nvcc.

use std::fs;

use crate::common::FakeNvcc;
use benches::nvcc::{Nvcc, Product, Unit};

fn unit(text: &'static str, arch: &str) -> Unit {
    Unit { file: "reduce.cu", text, headers: &[], product: Product::Ptx(arch.to_owned()) }
}

#[test]
fn results_are_reused_and_changes_recompile() {
    let fake = FakeNvcc::new(None);
    let nvcc = Nvcc::at(fake.program()).unwrap();
    assert_eq!(nvcc.version, "13.0.88");
    let units = [unit("a", "compute_75"), unit("b", "compute_75")];
    let made = |units: &[Unit]| -> Vec<_> {
        let made = nvcc.compile(units, &fake.cache());
        made.into_iter().map(Result::unwrap).collect()
    };
    let first = made(&units);
    assert_eq!(fake.calls().len(), 2);
    assert_ne!(first[0], first[1]);
    assert_eq!(made(&units), first);
    assert_eq!(fake.calls().len(), 2, "both results were reused");
    let other = made(&[unit("a", "compute_90")]);
    assert_ne!(other[0], first[0]);
    assert_eq!(fake.calls().len(), 3);
    let with_header = made(&[Unit { headers: &[("pieces.cuh", "c")], ..units[0].clone() }]);
    assert_ne!(with_header[0], first[0]);
    assert_eq!(fake.calls().len(), 4);
    assert_eq!(fake.calls()[0], "-O3 -std=c++17 -ptx -arch=compute_75 -o SCRATCH/result SCRATCH/reduce.cu");
    // Only the results are left.
    assert_eq!(fs::read_dir(fake.cache()).unwrap().count(), 4);
    let name = first[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("reduce-compute_75-") && name.ends_with(".ptx"));
}

#[test]
fn a_failure_has_nvccs_message_and_leaves_no_file() {
    let fake = FakeNvcc::new(None);
    let nvcc = Nvcc::at(fake.program()).unwrap();
    let library = Unit { file: "baselines.cu", product: Product::Library("sm_90".to_owned()), ..unit("", "") };
    let mut made = nvcc.compile(&[library.clone(), unit("a", "compute_75")], &fake.cache());
    assert!(made.pop().unwrap().is_ok(), "the other units compile");
    assert_eq!(
        made.pop().unwrap().unwrap_err().to_string(),
        "nvcc could not compile baselines.cu: baselines.cu(20): fatal error: cublas_v2.h: No such file"
    );
    assert_eq!(fs::read_dir(fake.cache()).unwrap().count(), 1);
    let call = &fake.calls()[1];
    let options = "-shared -Xcompiler -fPIC -arch=sm_90";
    assert!(call.contains(options), "{call}");
    assert!(call.ends_with("SCRATCH/baselines.cu -lcublas -lcublasLt"), "{call}");
}

#[test]
fn invalid_nvcc_programs_are_named() {
    let refused = |program: &str, begins: &str| {
        let error = Nvcc::at(program.into()).unwrap_err().to_string();
        assert!(error.starts_with(begins), "{error}");
        error
    };
    let error = refused("no/such/nvcc", "no nvcc: cannot run no/such/nvcc");
    assert!(error.contains("set NVCC to its path"), "{error}");
    refused("/bin/true", "no nvcc: /bin/true reports no version");
}

#[test]
fn a_folder_that_cannot_be_created_is_named() {
    let fake = FakeNvcc::new(None);
    let nvcc = Nvcc::at(fake.program()).unwrap();
    let file = fake.folder.path().join("kernels.ptx");
    let error = nvcc.compile(&[unit("a", "compute_75")], &file.join("under")).pop().unwrap().unwrap_err().to_string();
    for part in ["kernels.ptx/under", "LADDER_CACHE"] {
        assert!(error.contains(part), "{error}");
    }
}
