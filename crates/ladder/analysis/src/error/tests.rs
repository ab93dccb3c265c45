use super::*;

#[test]
fn a_missing_nsight_compute_is_reported_with_instructions() {
    let (tool, refused) = (toolkit::Tool::Ncu, Vec::new());
    let error = Error::NoNcu(toolkit::Unavailable { tool, refused }.into());
    assert_eq!(
        error.to_string(),
        "no ncu was found; it comes with NVIDIA's CUDA toolkit, and separately as the package nsight-compute; --ncu \
         names one, --device sim does not need it"
    );
}

#[test]
fn output_of_another_program_is_joined_into_one_line() {
    let error = Error::Form { version: "ncu 2025.3".into(), why: "no table".into(), text: "\na\n  b \n".into() };
    assert_eq!(error.to_string(), "cannot read the output of ncu 2025.3: no table; note: it starts with: a | b");
    let error = Error::Failed { version: "ncu".into(), status: Some(1), said: String::new() };
    assert_eq!(error.to_string(), "ncu failed with exit code 1: (nothing)");
}
