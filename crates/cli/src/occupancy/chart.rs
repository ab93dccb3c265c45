//! Bars.

use crate::report::OutputStyle;

/// Cells of a full bar.
const WIDTH: u32 = 12;

/// A bar for a share from 0 to 1: blocks in eighths of a cell on a terminal, signs of ASCII elsewhere.
pub(super) fn bar(share: f64, style: OutputStyle) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    if !style.terminal {
        let full = (share * f64::from(WIDTH)).round() as usize;
        return "#".repeat(full) + &".".repeat(WIDTH as usize - full);
    }
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * f64::from(WIDTH) * 8.0).round() as usize;
    let cells = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    format!("{cells:WIDTH$}", WIDTH = WIDTH as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_shares() {
        let plain = |share| bar(share, OutputStyle::default());
        assert_eq!(plain(0.0), "............");
        assert_eq!(plain(0.5), "######......");
        assert_eq!(plain(1.0), "############");
        assert_eq!(plain(f64::NAN), plain(0.0));
        assert_eq!(plain(7.0), plain(1.0));
        let drawn = |share| bar(share, OutputStyle { terminal: true });
        assert_eq!(drawn(0.75), format!("{}   ", "█".repeat(9)));
        // 48 warps of 64 and a bit: an eighth of a cell is 1 %.
        assert_eq!(drawn(0.76), format!("{}▏  ", "█".repeat(9)));
        for share in [0.0, 0.01, 0.3333, 0.99, 1.0] {
            assert_eq!(drawn(share).chars().count(), WIDTH as usize);
        }
    }
}
