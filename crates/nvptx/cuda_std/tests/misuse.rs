//! What the attributes say to mistakes: each file of `ui/` must fail to compile, with exactly the
//! messages beside it. (`TRYBUILD=overwrite` writes them anew.)

#[test]
fn mistakes_are_explained_at_their_place() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
