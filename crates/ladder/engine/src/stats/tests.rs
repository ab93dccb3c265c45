#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn medians_and_quartiles() {
    let samples = Samples::new(vec![5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
    assert_eq!(samples.sorted(), [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((samples.min(), samples.median()), (1.0, 3.0));
    assert_eq!(samples.quartiles(), (2.0, 4.0));
    assert_eq!(Samples::new(vec![1.0, 2.0]).unwrap().median(), 1.5);
    assert_eq!(Samples::new(vec![7.0]).unwrap().quartiles(), (7.0, 7.0));
    assert_eq!(Samples::new(vec![]), None);
}
