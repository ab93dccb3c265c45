use super::*;

#[test]
fn without_nsight_compute_it_is_said_how_to_get_it() {
    let (tool, refused) = (toolkit::Tool::Ncu, Vec::new());
    let error = Error::NoNcu(toolkit::Unavailable { tool, refused }.into());
    assert_eq!(
        error.to_string(),
        "no ncu was found; it comes with NVIDIA's CUDA toolkit, and separately as the package nsight-compute; --ncu \
         names one, --device sim needs none"
    );
}

#[test]
fn what_another_program_said_becomes_part_of_one_line() {
    let error = Error::Form { version: "ncu 2025.3".into(), why: "no table".into(), text: "\na\n  b \n".into() };
    assert_eq!(error.to_string(), "cannot read what ncu 2025.3 wrote: no table; note: it begins: a | b");
    let error = Error::Failed { version: "ncu".into(), status: Some(1), said: String::new() };
    assert_eq!(error.to_string(), "ncu failed with exit code 1: (nothing)");
}
