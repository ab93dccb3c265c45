use super::GpuFloat;

#[test]
fn remainders_are_euclidean() {
    for (a, b, quotient, remainder) in [
        (7.5_f32, 2.0_f32, 3.0, 1.5),
        (-7.5, 2.0, -4.0, 0.5),
        (7.5, -2.0, -3.0, 1.5),
        (-7.5, -2.0, 4.0, 0.5),
        (1e7, 3.0, 3_333_333.0, 1.0),
    ] {
        assert_eq!((GpuFloat::div_euclid(a, b), GpuFloat::rem_euclid(a, b)), (quotient, remainder));
    }
}

#[test]
fn integer_powers() {
    assert_eq!(GpuFloat::powi(3.0_f32, 0), 1.0);
    assert_eq!(GpuFloat::powi(3.0_f32, 5), 243.0);
    assert_eq!(GpuFloat::powi(-2.0_f64, 3), -8.0);
    assert_eq!(GpuFloat::powi(2.0_f64, -10), 1.0 / 1024.0);
    assert_eq!(GpuFloat::powi(2.0_f64, i32::MIN), 0.0);
    assert_eq!(GpuFloat::powi(1.0_f32, i32::MIN), 1.0);
}

#[test]
fn each_method_is_the_function_of_its_name() {
    let assert_near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    let x = 0.375_f64;
    assert_near(GpuFloat::sin(x) / GpuFloat::cos(x), GpuFloat::tan(x));
    assert_near(GpuFloat::sin(GpuFloat::asin(x)), x);
    assert_near(GpuFloat::cos(GpuFloat::acos(x)), x);
    assert_near(GpuFloat::tan(GpuFloat::atan(x)), x);
    assert_near(GpuFloat::atan2(x, 1.0), GpuFloat::atan(x));
    assert_near(GpuFloat::sinh(x) / GpuFloat::cosh(x), GpuFloat::tanh(x));
    assert_near(GpuFloat::sinh(GpuFloat::asinh(x)), x);
    assert_near(GpuFloat::cosh(GpuFloat::acosh(2.0)), 2.0);
    assert_near(GpuFloat::tanh(GpuFloat::atanh(x)), x);
    assert_near(GpuFloat::exp(GpuFloat::ln(x)), x);
    assert_near(GpuFloat::exp2(GpuFloat::log2(x)), x);
    assert_near(GpuFloat::powf(10.0, GpuFloat::log10(x)), x);
    assert_near(GpuFloat::log(8.0, 2.0_f64), 3.0);
    assert_near(GpuFloat::exp_m1(x), GpuFloat::exp(x) - 1.0);
    assert_near(GpuFloat::ln_1p(x), GpuFloat::ln(1.0 + x));
    assert_near(GpuFloat::cbrt(0.125), 0.5);
    assert_near(GpuFloat::hypot(3.0, 4.0), 5.0);
    assert_eq!(GpuFloat::sin_cos(x), (GpuFloat::sin(x), GpuFloat::cos(x)));
    assert_eq!([2.5_f64, -2.5].map(GpuFloat::floor), [2.0, -3.0]);
    assert_eq!([2.5_f64, -2.5].map(GpuFloat::ceil), [3.0, -2.0]);
    assert_eq!([2.5_f64, -2.5].map(GpuFloat::round), [3.0, -3.0]);
    assert_eq!([2.5_f64, -2.5].map(GpuFloat::trunc), [2.0, -2.0]);
    assert_eq!([2.5_f64, -2.5].map(GpuFloat::fract), [0.5, -0.5]);
    assert_eq!([2.5_f64, -2.5].map(GpuFloat::abs), [2.5, 2.5]);
    assert_eq!([2.5_f64, -2.5].map(GpuFloat::signum), [1.0, -1.0]);
    assert_eq!(GpuFloat::copysign(2.5_f64, -1.0), -2.5);
    assert_eq!(GpuFloat::mul_add(2.0_f64, 3.0, 4.0), 10.0);
    assert_eq!(GpuFloat::sqrt(2.25_f64), 1.5);
}
