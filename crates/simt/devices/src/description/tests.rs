#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn known_devices() {
    for name in Description::known() {
        let device = Description::open(name).unwrap();
        assert!(Limits::named(&device.arch).is_ok(), "{name}");
        // Each line of the bus transfers two bits per cycle.
        let board = device.board.unwrap();
        let gb_per_s = 2.0 * board.memory_mhz * 1e6 * f64::from(board.memory_bits) / 8.0 / 1e9;
        assert!((gb_per_s / device.memory.gb_per_s - 1.0).abs() < 0.001, "{name}: {gb_per_s} GB/s");
    }
}

#[test]
fn unknown_names() {
    let error = |name: &str| Description::open(name).unwrap_err().to_string();
    assert!(error("h10").contains("did you mean `h100`, or"), "{}", error("h10"));
    assert!(error("RTX 4090").contains("did you mean `rtx4090`, or"), "{}", error("RTX 4090"));
    assert!(error("radeon").contains("name one of h200, h100"), "{}", error("radeon"));
    assert!(error("./no.toml").starts_with("cannot read ./no.toml: "), "{}", error("./no.toml"));
}

#[test]
fn the_board_is_optional() {
    let text = include_str!("../../known/h100.toml");
    let without = &text[..text.find("[board]").unwrap()];
    assert_eq!(Description::parse("mine.toml", without).unwrap().board, None);
    let wrong = text.replace("copy_engines = 3", "copy_engines = 0");
    let error = Description::parse("mine.toml", &wrong).unwrap_err().to_string();
    assert!(error.ends_with("board.copy_engines = 0 is out of range; use a value from 1 to 64"), "{error}");
    let missing = text.replace("ecc = true\n", "");
    assert!(Description::parse("mine.toml", &missing).unwrap_err().to_string().contains("missing field `ecc`"));
}
