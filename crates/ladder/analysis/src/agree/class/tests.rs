#![allow(clippy::unwrap_used)]

use toolkit::access::{Effect, Kind};

use super::*;
use crate::agree::metrics::find;

#[test]
fn classes_of_numbers_without_changes() {
    let class = |rule, sim, gpu| Class::of(rule, Some(sim), Some(gpu));
    use Rule::{Arbitrated, Counts, Information, Requests, TwoPlaces};
    for (rule, sim, gpu, expected) in [
        (Counts, 1000.0, 1000.0, Some(Class::Exact)),
        (Counts, 0.0, 0.0, Some(Class::Exact)),
        (Counts, 1000.0, 1010.0, Some(Class::Within)),
        (Requests, 1000.0, 990.0, Some(Class::Within)),
        (Counts, 1000.0, 1011.0, None),
        (Counts, 1000.0, 989.0, None),
        (Counts, 0.0, 1.0, None),
        (Counts, 1.0, 0.0, None),
        (TwoPlaces, 25.098_425, 25.1, Some(Class::Exact)),
        (TwoPlaces, 25.094_9, 25.1, Some(Class::Within)),
        (TwoPlaces, 25.0, 26.0, None),
        (Arbitrated, 1000.0, 1060.0, Some(Class::Arbitration)),
        (Arbitrated, 1000.0, 1061.0, None),
        (Arbitrated, 1000.0, 1009.0, Some(Class::Within)),
        // Arbitration only adds passes.
        (Arbitrated, 1000.0, 960.0, None),
        (Counts, 1000.0, 1060.0, None),
        (Information, 1.0, 2.0, Some(Class::Information)),
    ] {
        assert_eq!(class(rule, sim, gpu), expected, "{rule:?} {sim} {gpu}");
    }
    assert_eq!(Class::of(Counts, None, None), Some(Class::Exact));
    assert_eq!(Class::of(TwoPlaces, None, Some(50.0)), None);
    assert_eq!(Class::of(TwoPlaces, Some(50.0), None), None);
}

#[test]
fn changes_explain_differences_in_their_direction() {
    let change = |kind, effect| Change { kind, effect, ptx: 64, sass: 40 };
    let loads = find("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum").unwrap();
    let sectors = find("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum").unwrap();
    let used = find("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct").unwrap();
    let waves = find("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum").unwrap();
    let stores = find("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum").unwrap();
    let atom = find("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum").unwrap();
    let red = find("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum").unwrap();
    let warps = find("smsp__warps_launched.sum").unwrap();
    for (metric, kind, effect, fewer, more) in [
        (loads, Kind::Ldg, Effect::Widened, true, false),
        (loads, Kind::Ldg, Effect::Removed, true, false),
        (loads, Kind::Ldg, Effect::Split, false, true),
        (loads, Kind::Ldg, Effect::Copied, false, true),
        (loads, Kind::Ldgsts, Effect::Split, false, true),
        (loads, Kind::Ldg, Effect::Predicated, false, false),
        (loads, Kind::Lds, Effect::Widened, false, false),
        (loads, Kind::Stg, Effect::Copied, false, false),
        (sectors, Kind::Ldg, Effect::Widened, true, true),
        (sectors, Kind::Ldg, Effect::Removed, true, false),
        (sectors, Kind::Ldg, Effect::Copied, false, true),
        (used, Kind::Ldg, Effect::Copied, true, true),
        (used, Kind::Ldg, Effect::Predicated, false, false),
        (waves, Kind::Lds, Effect::Widened, true, true),
        (waves, Kind::Sts, Effect::Widened, false, false),
        (stores, Kind::Lds, Effect::Widened, false, false),
        (atom, Kind::Atom, Effect::Resultless, true, false),
        (red, Kind::Atom, Effect::Resultless, false, true),
        (waves, Kind::Atom, Effect::Resultless, false, false),
        (atom, Kind::Atom, Effect::Elected, true, false),
        (red, Kind::Atom, Effect::Elected, true, true),
        (warps, Kind::Ldg, Effect::Copied, false, false),
    ] {
        let changes = [change(kind, effect)];
        let explained = |gpu| !explanations(metric, Some(100.0), Some(gpu), &changes).is_empty();
        let name = &metric.name;
        assert_eq!(explained(50.0), fewer, "{name}: fewer by {kind:?} {effect:?}");
        assert_eq!(explained(200.0), more, "{name}: more by {kind:?} {effect:?}");
    }
    let words = explanations(
        waves,
        Some(64.0),
        Some(32.0),
        &[change(Kind::Stg, Effect::Copied), change(Kind::Lds, Effect::Widened)],
    );
    assert_eq!(words, ["64 LDS of the PTX are 40 wider ones in SASS"]);
}
