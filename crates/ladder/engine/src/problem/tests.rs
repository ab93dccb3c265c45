use super::{Buffer, GUARD_BYTES, POISON, Role, Verdict};

/// Returns the reason why these floats are wrong with this tolerance.
fn why(found: &[f32], expected: &[f64], tolerance: f64) -> Option<String> {
    let outputs = [bytemuck::cast_slice(found).to_vec()];
    match Verdict::of_floats_within::<f32>(&outputs, expected, |_| tolerance, |at| format!("element {at}")) {
        Verdict::Right => None,
        Verdict::Wrong(why) => Some(why),
    }
}

#[test]
fn floats_are_right_within_the_tolerance() {
    assert_eq!(why(&[1.0, -2.5], &[1.5, -2.0], 0.5), None);
    assert_eq!(why(&[], &[], 0.0), None);
    assert_eq!(why(&[0.0], &[-0.0], 0.0), None);
    let wrong = why(&[1.0, 2.0], &[1.0, 2.75], 0.5).expect("0.75 apart");
    assert_eq!(wrong, "element 1 is 2e0; 2.75e0, within 5e-1, is right");
    assert_eq!(why(&[1.0], &[], 0.5).expect("one too many"), "the output has 1 results instead of 0");
}

#[test]
fn each_element_has_a_separate_tolerance() {
    let outputs = [bytemuck::cast_slice(&[1.0f64, 1.0]).to_vec()];
    let verdict = |least| {
        Verdict::of_floats_within::<f64>(&outputs, &[0.0, 2.0], |at| [1.0, least][at], |at| at.to_string()).is_right()
    };
    assert!(verdict(1.0) && !verdict(0.999));
}

#[test]
fn nan_and_infinities_are_right_only_where_they_are_expected() {
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    assert_eq!(why(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY], &[nan, infinity, -infinity], 0.0), None);
    for (found, expected) in [
        (1.0, nan),
        (f32::NAN, 1.0),
        (f32::NAN, infinity),
        (f32::MAX, infinity),
        (f32::NEG_INFINITY, infinity),
        (f32::INFINITY, nan),
        (f32::INFINITY, 1.0),
    ] {
        assert!(why(&[found], &[expected], 0.5).is_some(), "{found} for {expected}");
    }
    // An infinite tolerance means that the sum may overflow. Such a tolerance does not accept a NaN.
    assert_eq!(why(&[f32::INFINITY], &[1e300], infinity), None);
    assert!(why(&[f32::NAN], &[1.0], infinity).is_some());
    assert!(why(&[1.0], &[infinity], infinity).is_some());
    assert!(why(&[1.0], &[1.0], nan).is_some());
}

#[test]
fn a_poisoned_float_is_reported_as_unwritten() {
    let poison = f32::from_bits(u32::from_ne_bytes([POISON; 4]));
    let wrong = why(&[poison], &[1.0], 0.5).expect("not 1");
    assert!(wrong.contains("the value from before the launch"), "{wrong}");
}

#[test]
fn buffers_that_a_kernel_writes_have_a_guard() {
    let allocated = |role| Buffer::new("some", role, 100).allocated_bytes();
    assert_eq!([Role::Input, Role::Scratch].map(allocated), [100; 2]);
    assert_eq!([Role::Output, Role::Sum, Role::Workspace, Role::Kept].map(allocated), [100 + GUARD_BYTES; 4]);
}
