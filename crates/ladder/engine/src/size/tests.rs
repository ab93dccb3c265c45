#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

#[test]
fn the_same_size_written_four_ways() {
    for text in ["16777216", "16_777_216", "2^24", "16M", "16m", "16384k"] {
        assert_eq!(parse_size(text).unwrap(), 16_777_216, "{text}");
    }
    assert_eq!(parse_size("0").unwrap(), 0);
    assert_eq!(parse_size("1G").unwrap(), 1 << 30);
    assert_eq!(parse_size("10^6").unwrap(), 1_000_000);
}

#[test]
fn invalid_sizes_are_rejected() {
    for text in [
        "",
        "M",
        "_1",
        "1_",
        "-1",
        "1.5",
        "16MB",
        "2^",
        "^4",
        "2^-1",
        "2^64",
        "abc",
        "１",
        "0x10",
        "18446744073709551616",
        "20000000000G",
        " 1",
        "+1",
        "é",
    ] {
        let message = parse_size(text).unwrap_err().to_string();
        assert!(message.starts_with(&format!("`{text}` is not a size")), "{message}");
    }
}

#[test]
fn blocks_in_one_to_three_dimensions() {
    assert_eq!(parse_block("512").unwrap(), [512, 1, 1]);
    assert_eq!(parse_block("32x16").unwrap(), [32, 16, 1]);
    assert_eq!(parse_block("8x8x4").unwrap(), [8, 8, 4]);
    for text in ["", "x", "32x", "1x2x3x4", "5000000000", "-1", "a"] {
        assert!(parse_block(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_number_round_trips(n: u64) {
        prop_assert_eq!(parse_size(&n.to_string()).unwrap(), n);
    }

    #[test]
    fn any_block_round_trips(block in [1u32.., 1u32.., 1u32..]) {
        prop_assert_eq!(parse_block(&dims(block)).unwrap(), block);
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = parse_size(&text);
        let _ = parse_block(&text);
    }
}
