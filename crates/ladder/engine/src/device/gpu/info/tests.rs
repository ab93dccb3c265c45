use super::*;

#[test]
fn the_drivers_version_is_the_first_number_of_its_banner() {
    let banner = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 2025\n\
                  GCC version:  gcc version 12.3.0\n";
    assert_eq!(module_version(banner).as_deref(), Some("580.95.05"));
    let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release\n";
    assert_eq!(module_version(open).as_deref(), Some("570.124.06"));
    assert_eq!(module_version(""), None);
    assert_eq!(module_version("no number here"), None);
}
