use super::*;
use proptest::prelude::*;

#[test]
fn zero_one_and_an_odd_number_of_elements() {
    assert_eq!(recursive_reduce(&mut []), 0);
    assert_eq!(recursive_reduce(&mut [-7]), -7);
    assert_eq!(recursive_reduce(&mut [1, 2, 4]), 7);
    assert_eq!(recursive_reduce(&mut [i32::MAX, 1]), i32::MIN);
}

proptest! {
    #[test]
    fn all_methods_give_the_same_sum(data in prop::collection::vec(any::<i32>(), 0..2000)) {
        let expected = plain_sum(&data);
        let wide: i64 = data.iter().copied().map(i64::from).sum();
        prop_assert_eq!(expected, wide as i32);
        prop_assert_eq!(unrolled_sum(&data), expected);
        prop_assert_eq!(recursive_reduce(&mut data.clone()), expected);
    }
}
