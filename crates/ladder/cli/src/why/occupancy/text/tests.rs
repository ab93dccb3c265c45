use super::*;

#[test]
fn bars_are_as_long_as_their_shares() {
    let plain = |share| bar(share, OutputStyle::default());
    assert_eq!(plain(0.0), "............");
    assert_eq!(plain(0.5), "######......");
    assert_eq!(plain(1.0), "############");
    assert_eq!(plain(f64::NAN), plain(0.0));
    assert_eq!(plain(7.0), plain(1.0));
    let drawn = |share| bar(share, OutputStyle { terminal: true, ..OutputStyle::default() });
    assert_eq!(drawn(0.75), format!("{}   ", "█".repeat(9)));
    // Slightly more than 48 of 64 warps: an eighth of a cell is 1 %.
    assert_eq!(drawn(0.76), format!("{}▏  ", "█".repeat(9)));
    for share in [0.0, 0.01, 0.3333, 0.99, 1.0] {
        assert_eq!(drawn(share).chars().count(), BAR);
    }
}

#[test]
fn percentages_have_a_decimal_only_if_needed() {
    assert_eq!(percent(1.0), "100 %");
    assert_eq!(percent(0.375), "37.5 %");
    assert_eq!(percent(2.0 / 3.0), "66.7 %");
    assert_eq!(percent(0.0), "0 %");
}
