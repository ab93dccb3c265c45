//! `ladder dram`: its figures as they are printed, and the trace of a rung. What it refuses is in refused.rs.

use crate::common::program::{Arguments, Ended, alone, assert_has, on_none};
use analysis::dram::{Dram, trace};
use host::device::Sim;
use host::problem::Verdict;
use host::{KERNELS, Options, ladder};
use serde_json::{Value, json};

/// Figures need no device.
fn dram(args: impl Arguments) -> Ended {
    on_none(("dram", args))
}

fn printed(args: &str) -> String {
    dram(args).printed()
}

fn json(args: &str) -> Value {
    let ended = dram((args, "--json"));
    assert!(ended.out.ends_with('\n'));
    ended.json()
}

#[test]
fn without_arguments_all_three_figures() {
    let all = printed("");
    insta::assert_snapshot!("the_figures", all);
    for figure in ["map", "tiles", "bus"] {
        assert!(all.contains(&printed(figure)), "{figure}: {all}");
    }
    let figures = json("");
    for figure in ["map", "tiles", "bus"] {
        assert_eq!(figures[figure], json(figure));
    }
}

#[test]
fn the_map_of_figure_6_9_as_json() {
    // Four more than the figure has: they begin the next round of the banks.
    let map = json("map --elements 20");
    assert_eq!(map["channels"], 4);
    let elements = map["elements"].as_array().unwrap();
    let places: Vec<[u64; 4]> = elements
        .iter()
        .map(|at| ["element", "channel", "bank", "row"].map(|name| at[name].as_u64().unwrap()))
        .collect();
    let figure: Vec<[u64; 4]> =
        (0..20).map(|element| [element, element / 2 % 4, element / 8 % 2, element / 16]).collect();
    assert_eq!(places, figure);
    let many = json("map --elements 1k");
    assert_eq!(many["elements"].as_array().unwrap().len(), 1024);
}

#[test]
fn figures_of_other_numbers() {
    let map = printed("map --channels 3 --banks 4 --burst 32 --elements 100");
    insta::assert_snapshot!("a_larger_map", map);
    let tiles = printed("tiles --n 12 --tile 4 --burst 16");
    insta::assert_snapshot!("larger_tiles", tiles);
    assert_has(&tiles, &["the first 4 of 9 blocks\n"]);
    let tiles = json("tiles --n 16 --tile 1");
    assert_eq!(tiles["phases"].as_array().unwrap().len(), 2 * 16);
}

#[test]
fn the_product_of_the_exercise_keeps_all_channels_busy() {
    let tiles = printed("tiles --n 8");
    let first = "M: 1 of 4 channels busy in a phase, 4 over all phases\n";
    let second = "N: 4 of 4 channels busy in a phase, 4 over all phases\n";
    assert_has(&tiles, &[first, second]);
    // The rows of M are as long as a round of the channels, so that its phases meet one each.
    let of_m = json("tiles --n 8")["phases"].as_array().unwrap().clone();
    let channels: Vec<_> = of_m.iter().step_by(2).map(|own| &own["channels"]).collect();
    assert_eq!(json!(channels), json!([[0], [1], [2], [3]]));
    // A longer burst needs a larger matrix: 4 × 4 is two channels' then.
    let wide = printed("tiles --burst 32");
    assert_has(&wide, &["M: 2 of 4 channels busy in a phase, 2 over all phases\n"]);
}

#[test]
fn a_bus_by_its_clock_and_width() {
    let bus = printed("bus --banks 25");
    insta::assert_snapshot!("a_saturated_bus", bus);
    let bus = printed("bus --width 32 --clock 1.25 --demand 25");
    assert!(bus.starts_with("a DDR bus of 32 bits at 1.25 GHz: 4 B × 2 × 1.25 GHz = 10 GB/s\n"), "{bus}");
    assert_has(&bus, &["25 GB/s take 3 such channels"]);
    let bus = printed("bus --ratio 3");
    assert_has(&bus, &["to be busy all the time it takes 4 banks: R + 1"]);
    let bus = json("bus");
    assert_eq!(bus["peak_gb_per_s"], 16.0);
    assert_eq!(bus["banks_to_saturate"], 21);
    for (banks, utilisation) in [(1, 1.0 / 21.0), (2, 2.0 / 21.0), (21, 1.0), (48, 1.0)] {
        let with = json(&format!("bus --banks {banks}"));
        for (name, expected) in [("utilisation", utilisation), ("gb_per_s", utilisation * 16.0)] {
            // Reading JSON may round the last bit.
            let found = with[name].as_f64().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-15, "{name}: {with}");
        }
    }
    let channels_for = |args: &str| -> Vec<f64> {
        let bus = json(args);
        let demands = bus["channels_for"].as_array().unwrap().iter();
        demands.map(|own| own["channels"].as_f64().unwrap()).collect()
    };
    assert_eq!(channels_for("bus --demand 32 256 256.1"), [2.0, 16.0, 17.0]);
    assert_eq!(channels_for("bus --width 1 --clock 1.2 --demand 0.9"), [3.0]);
    assert_eq!(bus["timeline"][0][19], "access");
    assert_eq!(bus["timeline"][0][20], "transfer");
}

/// The accesses of a kind in a trace of a small transpose on 64 channels.
fn traced(rung: &str, kind: &str) -> Value {
    let sizes = "--rows 512 --cols 512 --channels 64 --windows 8";
    let trace = json(&format!("--trace {rung} {sizes}"));
    assert_eq!(trace["rung"], rung);
    assert_eq!(trace["correct"], true);
    let kinds = trace["accesses"].as_array().unwrap();
    kinds.iter().find(|of| of["kind"] == kind).unwrap().clone()
}

#[test]
fn a_strided_rung_camps_on_few_channels_and_a_coalesced_one_does_not() {
    let words = 512 * 512;
    let (coalesced, strided) = (traced("transpose_naive", "load"), traced("transpose_naive", "store"));
    for accesses in [&coalesced, &strided] {
        assert_eq!(accesses["requests"], words / 32);
        assert_eq!(accesses["windows"].as_array().unwrap().len(), 8);
        let bursts = accesses["bursts_by_channel"].as_array().unwrap();
        let sum: u64 = bursts.iter().map(|bursts| bursts.as_u64().unwrap()).sum();
        assert_eq!(accesses["bursts"], sum);
        // Over the whole launch either is as even as can be.
        assert_eq!(accesses["busiest_channel_over_mean"], 1.0);
    }
    // A warp's 128 bytes are two bursts of neighbouring channels.
    assert_eq!(coalesced["bursts"], words / 16);
    assert_eq!(coalesced["channels_per_request"], 2.0);
    assert_eq!(coalesced["queue"], 1.0);
    // A warp's 32 stores lie 2 KiB apart: 32 bursts, and 32 channels from one to the next.
    assert_eq!(strided["bursts"], words);
    assert_eq!(strided["channels_per_request"], 2.0);
    assert_eq!([&strided["queue"], &strided["best_queue"]], [16.0, 1.0]);
    for window in 0..8 {
        let busy = |accesses: &Value| accesses["windows"][window]["channels_busy"].clone();
        assert_eq!(busy(&coalesced), 64);
        // 4 rows of blocks, 64 columns of the output: 256 bytes of each of its rows.
        assert_eq!(busy(&strided), 8);
    }
    let tiled = traced("transpose_smem", "store");
    assert_eq!(tiled["queue"], 1.0);
    assert_eq!(tiled["windows"][0]["channels_busy"], 8);
}

#[test]
fn a_trace_counts_what_the_machine_counts() {
    // With bursts as long as a sector, a request's bursts are its sectors.
    for (rung, options) in [
        ("reduce_neighbored", "--n 10000"),
        ("reduce_vector", "--n 10000 --op max --type f64"),
        ("matmul_pipelined", "--m 70 --n 50 --k 33"),
        ("histogram_lanes", "--n 5000"),
    ] {
        let trace = alone((&*format!("dram --json --burst 32 --trace {rung}"), options)).json();
        let run = alone((&*format!("run {rung} --device sim --json"), options)).json();
        let counters = &run[0]["counters"];
        for (kind, op) in [("load", "ld"), ("store", "st")] {
            let accesses = trace["accesses"].as_array().unwrap();
            let own = accesses.iter().find(|of| of["kind"] == kind);
            let counter = |what: &str| counters[format!("l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum")].clone();
            let counted = |what: &str| own.map_or(Value::from(0), |own| own[what].clone());
            assert_eq!(counted("requests"), counter("requests"), "{rung}, {kind}");
            assert_eq!(counted("bursts"), counter("sectors"), "{rung}, {kind}");
        }
    }
}

#[test]
fn a_trace_as_text() {
    let text = printed("--trace transpose_naive --rows 512 --cols 512 --channels 64 --windows 8");
    insta::assert_snapshot!("a_trace", text);
    // Blocks of another size, and windows that differ by a block.
    let text = printed("--trace histogram_global --n 5000 --block 128 --windows 30");
    assert_has(&text, &["atomics, 30 windows of 1 or 2 blocks each; 80 channels"]);
}

#[test]
fn a_wrong_result_is_in_the_trace() {
    let reduce = ladder("reduce").unwrap();
    let problem = reduce.problem(&Options::default().with("n", 1000)).unwrap();
    let rung = reduce.rung("reduce_smem").unwrap();
    let mut launch = reduce.launch(rung, &*problem, None).unwrap();
    let mut of_blocks = |blocks: u32| {
        launch.grid = [blocks, 1, 1];
        let mut sim = Sim::open(&KERNELS, 1).unwrap();
        trace::trace(&mut sim, reduce, rung, &*problem, &launch, Dram::FIGURE, 3).unwrap()
    };
    // 1000 elements are 8 blocks of 128.
    let right = of_blocks(8);
    assert!(right.correct, "{:?}", right.verdict);
    let windows = right.accesses[0].windows.iter();
    let blocks: Vec<(u64, u64)> = windows.map(|own| (own.first_block, own.blocks)).collect();
    assert_eq!(blocks, [(0, 3), (3, 3), (6, 2)]);
    let wrong = of_blocks(1);
    assert!(matches!(&wrong.verdict, Verdict::Wrong(why) if !why.is_empty()));
    assert_eq!(serde_json::to_value(&wrong).unwrap()["correct"], false);
}
