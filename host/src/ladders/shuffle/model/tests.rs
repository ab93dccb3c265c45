use super::*;

fn all(mode: Mode, argument: u32, width: u32) -> Vec<u32> {
    (0..16).map(|lane| source(mode, lane, argument, width)).collect()
}

/// Compares the model with the rows in the ladder's source text.
#[test]
fn sixteen_lanes_as_published() {
    assert_eq!(all(Mode::Idx, 2, 16), [2; 16]);
    let shifted_up = [0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    assert_eq!(all(Mode::Up, 2, 16), shifted_up);
    let shifted_down = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 14, 15];
    assert_eq!(all(Mode::Down, 2, 16), shifted_down);
    let exchanged = [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14];
    assert_eq!(all(Mode::Xor, 1, 16), exchanged);
}

#[test]
fn only_xor_leaves_a_segment_and_only_downwards() {
    for width in [2, 4, 8, 16, 32] {
        for argument in 0..32 {
            for lane in 0..32 {
                for mode in [Mode::Idx, Mode::Up, Mode::Down] {
                    let source = source(mode, lane, argument, width);
                    assert_eq!(source / width, lane / width, "{mode:?} {argument}");
                }
                let xor = source(Mode::Xor, lane, argument, width);
                assert!(xor / width <= lane / width);
                if argument < width {
                    assert_eq!(xor, lane ^ argument);
                }
            }
        }
    }
    assert_eq!(source(Mode::Idx, 20, 3, 16), 19);
    assert_eq!(source(Mode::Idx, 20, 19, 16), 19);
    assert_eq!(source(Mode::Up, 17, 2, 16), 17);
    assert_eq!(source(Mode::Xor, 3, 4, 4), 3);
    assert_eq!(source(Mode::Xor, 7, 4, 4), 3);
}
