//! Litmus tests of the memory model (PTX ISA, "Memory Consistency Model"). A test is a small program of threads that
//! share two variables; it runs hundreds of times under random schedules.
//!
//! No forbidden outcome is ever seen. Of the allowed outcomes, the tests see each one that an interleaving of the
//! threads gives, and no other, because simt is sequentially consistent. Each thread makes its accesses in program
//! order, and each access takes effect for all threads at once, whatever its scope; a fence has no observable effect.
//! So a missing fence never changes a result under any schedule; the sanitizer `race` finds it. The exception is
//! asynchronous copies: they read and write some time after they are issued, and a random schedule chooses when.
//!
//! The table of docs/litmus.md lists the tests. Set `LITMUS=write` in the environment to rewrite it.

mod program;
mod tests;

use std::collections::BTreeMap;

use program::{Place, run};
use tests::{Litmus, MODEL};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../docs/litmus.md");

/// The results of a test, and how often each was seen.
type Outcomes = BTreeMap<Vec<u32>, u32>;

/// Returns a row of the table: the outcomes that were seen at each place.
fn row(test: &Litmus, seen: &[(Place, Outcomes)]) -> String {
    let is_blocks = |place: &Place| *place == Place::Blocks;
    let allows = |places: &[bool]| match (places.iter().all(|allowed| *allowed), places.iter().any(|allowed| *allowed))
    {
        (true, _) => "allowed",
        (_, false) => "forbidden",
        _ => "allowed at some scopes",
    };
    let (between, within): (Vec<Place>, Vec<Place>) = seen.iter().map(|(place, _)| *place).partition(is_blocks);
    let [between, within] = [between, within].map(|places| places.into_iter().map(test.allows).collect::<Vec<_>>());
    let model = match (allows(&within), allows(&between)) {
        (within, _) if between.is_empty() => within.to_owned(),
        (within, between) if within == between => within.to_owned(),
        (within, between) => format!("{within} within a block, {between} between blocks"),
    };
    let is_weak = |(_, outcomes): &(Place, Outcomes)| outcomes.keys().any(|outcome| (test.weak)(outcome));
    let shown = if seen.iter().any(is_weak) { "seen" } else { "never" };
    format!("| {} | {} | {} | {model} | {shown} |\n", test.name, test.order, test.outcome)
}

const HEAD: &str = "\
# Litmus tests of the memory model

The tests are small programs of threads that share variables `x` and `y`, which are zero at the start.
[simt's tests](../crates/simt/simt/tests/litmus.rs) run each program hundreds of times under random schedules and write this table. The
threads are lanes of a warp, warps of a block or blocks of a grid. No interleaving of the threads produces the *outcome*. The column
\"the model\" says whether the PTX memory model allows the outcome, and the last column says whether simt shows it.

simt is **sequentially consistent**: it interleaves the threads' instructions, and every access takes effect for all threads at once. So
it shows none of the weak outcomes that a GPU can produce, and a missing fence or scope does not change a result. The sanitizer `race`
(`--sanitize race`) finds missing fences and scopes. The exception is **asynchronous copies**, which read their source and write their
destination some time after they are issued. For these copies, simt can show every outcome that the model allows.

| test | accesses | outcome | the model | simt |
|---|---|---|---|---|
";

#[test]
fn forbidden_outcomes_are_never_seen() {
    let mut table = HEAD.to_owned();
    for test in MODEL {
        let mut all = Vec::new();
        for place in test.places {
            let seen = run(test, *place);
            let allowed = (test.allows)(*place);
            let name = format!("{}, {}, {}", test.name, test.order, place.name());
            let weak = seen.keys().find(|outcome| (test.weak)(outcome));
            assert!(allowed || weak.is_none(), "{name}: forbidden, and seen: {seen:?}");
            // The schedules differ enough to give every outcome of an interleaving.
            for outcome in test.interleaved {
                assert!(seen.contains_key(*outcome), "{name}: {outcome:?} was not seen, but {seen:?}");
            }
            all.push((*place, seen));
        }
        table += &row(test, &all);
    }
    // The sections after the table are written by hand.
    let written = std::fs::read_to_string(TABLE).unwrap_or_default();
    table += written.find("\n## ").map_or("", |at| &written[at..]);
    if std::env::var("LITMUS").is_ok_and(|what| what == "write") {
        return std::fs::write(TABLE, &table).unwrap();
    }
    assert!(
        written == table,
        "docs/litmus.md differs from the results of this test; LITMUS=write rewrites it:\n{table}"
    );
}
