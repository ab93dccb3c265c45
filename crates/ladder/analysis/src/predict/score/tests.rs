use super::{leveled, spearman};

#[test]
fn times_within_the_clock_resolution_are_equal() {
    let pairs = vec![(1.0, 52.6), (2.0, 45.6), (3.0, 52.2), (4.0, 53.0), (5.0, 3.4)];
    let expected = [(5.0, 3.4), (2.0, 45.6), (3.0, 52.2), (1.0, 52.2), (4.0, 53.0)];
    assert_eq!(leveled(pairs), expected);
    // Measured times of an empty kernel.
    let alike = leveled(vec![(1.0, 3.456), (2.0, 3.648), (3.0, 3.424)]);
    assert_eq!(spearman(&alike), None);
}

#[test]
fn ranks_correlate() {
    assert_eq!(spearman(&[(1.0, 10.0), (2.0, 20.0), (9.0, 21.0)]), Some(1.0));
    assert_eq!(spearman(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), Some(-1.0));
    assert_eq!(spearman(&[(1.0, 1.0), (1.0, 2.0)]), None);
    // One pair of six swapped: 1 - 6 * 2 / (6 * 35).
    let swapped = [(1., 1.), (2., 3.), (3., 2.), (4., 4.), (5., 5.), (6., 6.)];
    assert!((spearman(&swapped).unwrap_or(0.0) - (1.0 - 12.0 / 210.0)).abs() < 1e-12);
    // Equal values: ranks 1.5 and 1.5.
    let equal = spearman(&[(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)]).unwrap_or(0.0);
    assert!((equal - 0.75f64.sqrt()).abs() < 1e-12);
}
