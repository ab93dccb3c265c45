//! Compares all modes, widths and masks with the values that the lanes receive on the simulator.
#![allow(clippy::unwrap_used)]

use simt::run::Position;
use simt::{Config, Function, Launch, Module, Simulator};

use super::super::record::Shuffle;
use super::super::recorder::Recorder;
use super::figure;

/// Returns a kernel in which the lanes of `mask` shuffle the value 10 × lane + 7 and store the result. If `in_two` is
/// set, lanes from 16 on shuffle on a different path.
fn kernel(mode: &str, in_two: bool) -> Function {
    let shuffle = format!("shfl.sync.{mode}.b32 %r6, %r5, %r2, %r3, %r4;");
    let branch = if in_two { "setp.ge.u32 %p2, %r1, 16;\n@%p2 bra UPPER;" } else { "" };
    let upper = if in_two { format!("bra STORE;\nUPPER:\n{shuffle}\nSTORE:") } else { String::new() };
    let ptx = format!(
        ".version 8.0
         .target sm_80
         .address_size 64
         .entry k(.param .u64 out, .param .u32 lane, .param .u32 clamp, .param .u32 mask)
         {{
         .reg .b32 %r<9>;
         .reg .b64 %rd<4>;
         .reg .pred %p<3>;
         mov.u32 %r1, %tid.x;
         ld.param.u32 %r2, [lane];
         ld.param.u32 %r3, [clamp];
         ld.param.u32 %r4, [mask];
         shr.u32 %r7, %r4, %r1;
         and.b32 %r7, %r7, 1;
         setp.eq.u32 %p1, %r7, 0;
         @%p1 bra END;
         mad.lo.u32 %r5, %r1, 10, 7;
         {branch}
         {shuffle}
         {upper}
         ld.param.u64 %rd1, [out];
         mul.wide.u32 %rd2, %r1, 4;
         add.s64 %rd3, %rd1, %rd2;
         st.global.u32 [%rd3], %r6;
         END:
         ret;
         }}"
    );
    Module::from_ptx(ptx).unwrap().function("k").unwrap()
}

/// Returns the recorded shuffle, and the value that each lane receives.
fn run(function: &Function, lane: u32, clamp: u32, mask: u32) -> (Shuffle, Vec<u32>) {
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out = simulator.zeroed::<u32>(32).unwrap();
    let args = [out.into(), lane.into(), clamp.into(), mask.into()];
    let launch = Launch::new(function, [1; 3], [32, 1, 1], &args);
    let seen = simulator.launch_observed(&launch, Recorder::new(function, (0, 0))).unwrap();
    let [shuffle] = &seen.shuffles[..] else { panic!("{} shuffles", seen.shuffles.len()) };
    (shuffle.clone(), simulator.read(out).unwrap())
}

/// Checks the figure of a shuffle, and returns the number of lanes with an undefined result.
fn check(function: &Function, (lane, clamp, mask): (u32, u32, u32), name: &str) -> usize {
    let (shuffle, got) = run(function, lane, clamp, mask);
    let drawn = figure(Position::of(function, shuffle.site), &shuffle);
    let grid = &drawn.grids[0];
    let mut undefined = 0;
    for (lane, got) in got.iter().enumerate() {
        let (gives, gets) = (&grid.rows[0].cells[lane].text, &grid.rows[1].cells[lane].text);
        let arrows: Vec<_> = grid.arrows.iter().filter(|arrow| arrow.to == lane).collect();
        if mask >> lane & 1 == 0 {
            assert_eq!((gives.as_str(), gets.as_str(), arrows.len()), ("·", "·", 0), "{name}, lane {lane}");
            continue;
        }
        assert_eq!(*gives, (lane * 10 + 7).to_string(), "{name}, lane {lane}");
        if gets == "?" {
            undefined += 1;
            assert!(arrows.is_empty() && mask >> shuffle.sources[lane] & 1 == 0, "{name}, lane {lane}");
            continue;
        }
        assert_eq!(*gets, got.to_string(), "{name}, lane {lane}");
        match &arrows[..] {
            [] => assert_eq!(gets, gives, "{name}, lane {lane}"),
            [arrow] => assert_eq!(*gets, grid.rows[0].cells[arrow.from].text, "{name}, lane {lane}"),
            _ => panic!("{name}: several arrows to lane {lane}"),
        }
    }
    undefined
}

#[test]
fn figures_of_every_mode_width_and_mask_match_the_simulator() {
    let mut undefined = 0;
    for mode in ["up", "down", "bfly", "idx"] {
        let function = kernel(mode, false);
        for width in [1, 2, 4, 8, 16, 32] {
            for lane in [0, 1, 2, 5, 16, 31] {
                for mask in [u32::MAX, 0xffff, 0x5555_5555, 0xff00_00ff, 0x8000_0001, 1] {
                    let clamp = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
                    let name = format!("{mode}, width {width}, lane {lane}, mask {mask:#x}");
                    undefined += check(&function, (lane, clamp, mask), &name);
                }
            }
        }
    }
    assert!(undefined > 0);
}

/// Lanes that reach the exchange on two paths are drawn together.
#[test]
fn lanes_of_two_paths_exchange_values() {
    let function = kernel("bfly", true);
    assert_eq!(check(&function, (16, 31, u32::MAX), "two paths"), 0);
    let (shuffle, _) = run(&function, 16, 31, u32::MAX);
    assert_eq!((shuffle.lanes, shuffle.providers), (u32::MAX, u32::MAX));
}
