//! Litmus tests of the memory model (PTX ISA, "Memory Consistency Model"): small programs of threads that share two
//! variables, each run hundreds of times under random schedules.
//!
//! What the model forbids is never seen. Of what it allows, each outcome that an interleaving of the threads gives is
//! seen; and no other, because simt is sequentially consistent: each access of a thread is done in the order of its
//! program, and at once for all threads, whatever its scope, and a fence does nothing that one could see. So a missing
//! fence does not show in a result, under no schedule: that is the business of the check `race`. The exception are
//! asynchronous copies: they read and write later than they were issued, and a random schedule chooses when.
//!
//! The table of docs/litmus.md says it test by test; `LITMUS=write` in the environment writes it anew.

mod program;
mod tests;

use std::collections::BTreeMap;

use program::{Place, run};
use tests::{Litmus, MODEL};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../docs/litmus.md");

/// Results of a test, with how often each was seen.
type Outcomes = BTreeMap<Vec<u32>, u32>;

/// A row of the table: what was seen at each place.
fn row(test: &Litmus, seen: &[(Place, Outcomes)]) -> String {
    let is_blocks = |place: &Place| *place == Place::Blocks;
    let allows = |of: &[bool]| match (of.iter().all(|own| *own), of.iter().any(|own| *own)) {
        (true, _) => "allowed",
        (_, false) => "forbidden",
        _ => "allowed at some places",
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
    format!("| {} | {} | {} | {model} | {shown} |\n", test.name, test.order, test.asks)
}

const HEAD: &str = "\
# Litmus tests of the memory model

Small programs of threads that share variables `x` and `y`, zero at first, each run hundreds of times under random schedules
by [simt's tests](../crates/simt/simt/tests/litmus.rs), which write this table. *Outcome* is the one that no interleaving of the
threads gives, be they lanes of a warp, warps of a block or blocks of a grid; the next column says whether the PTX memory model
allows it, and the last one whether simt shows it.

simt is **sequentially consistent**: it interleaves the threads' instructions, and does each access at once for all of them. So it
shows none of the weak outcomes that a GPU may give, and a fence or a scope that is missing changes no result; the check `race`
(`--sanitize race`) finds those. The exception are **asynchronous copies**, which read their source and write their destination
some time after they were issued: all that the model allows of them can be seen.

| test | accesses | outcome | the model | simt |
|---|---|---|---|---|
";

#[test]
fn what_the_model_forbids_is_never_seen() {
    let mut table = HEAD.to_owned();
    for test in MODEL {
        let mut all = Vec::new();
        for place in test.places {
            let seen = run(test, *place);
            let allowed = (test.allows)(*place);
            let name = format!("{}, {}, {}", test.name, test.order, place.name());
            let weak = seen.keys().find(|outcome| (test.weak)(outcome));
            assert!(allowed || weak.is_none(), "{name}: forbidden, and seen: {seen:?}");
            // The schedules are as different as to give each outcome of an interleaving.
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
    assert!(written == table, "docs/litmus.md is not what this test has seen; LITMUS=write writes it anew:\n{table}");
}
