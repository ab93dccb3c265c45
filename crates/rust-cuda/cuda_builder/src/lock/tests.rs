use super::unusable;

#[test]
fn one_version_from_a_folder_or_repository_is_usable() {
    let path = "version = 4\n\n[[package]]\nname = \"cuda_std\"\nversion = \"0.2.3\"\n\n[[package]]\nname = \"cuda_std_macros\"\n";
    let git = "[[package]]\nname = \"cuda_std\"\nversion = \"0.2.3\"\nsource = \"git+https://example.org/ladder#1\"\n";
    for lock in [path, git, "version = 4\n"] {
        assert_eq!(unusable(lock), None, "{lock}");
    }
}

#[test]
fn two_versions_or_a_registry_version_are_reported() {
    let registry = "[[package]]\nname = \"cuda_std\"\nversion = \"0.2.2\"\nsource = \"registry+https://example.org\"\n";
    assert_eq!(unusable(registry).as_deref(), Some("cuda_std 0.2.2 from the registry"));
    let both = format!("{registry}\n[[package]]\nname = \"cuda_std\"\nversion = \"0.2.3\"\n");
    assert_eq!(unusable(&both).as_deref(), Some("cuda_std 0.2.2 from the registry and cuda_std 0.2.3"));
}
