#![allow(clippy::unwrap_used)]
use super::*;

fn of(text: &str) -> Option<f64> {
    let expression: Expression = text.parse().unwrap();
    expression.of(&|name| match name {
        "zero" => Some(0.0),
        "two" => Some(2.0),
        "a.three" => Some(3.0),
        _ => None,
    })
}

#[test]
fn operators_associate_to_the_left_and_products_bind_more_tightly() {
    for (text, number) in [
        ("a.three", 3.0),
        ("two + a.three * 2", 8.0),
        ("two - 1 - 1", 0.0),
        ("(two + a.three) / two * 100", 250.0),
        ("two / (a.three - 1)", 1.0),
        ("zero / two", 0.0),
        ("zero where two", 0.0),
        ("two + 1 where a.three - 2.5", 3.0),
        ("two and a.three * 2", 8.0),
        ("none and a.three", 3.0),
        ("two * 2 and two / none", 4.0),
    ] {
        assert_eq!(of(text), Some(number), "{text}");
    }
}

#[test]
fn missing_counters_and_zero_divisors_give_no_number() {
    for text in
        ["none", "two + none", "two / none", "two / zero", "two where zero", "two where none", "none and two / zero"]
    {
        assert_eq!(of(text), None, "{text}");
    }
}

#[test]
fn an_expression_names_its_counters() {
    let expression: Expression = "(a + b) / c * 100 where d".parse().unwrap();
    assert_eq!(expression.counters(), ["a", "b", "c", "d"]);
}

#[test]
fn invalid_expressions_are_errors() {
    for (text, why) in [
        ("", "missing at the end"),
        ("a +", "missing at the end"),
        ("a b", "unexpected `b`"),
        ("(a", "not closed"),
        ("a)", "unexpected `)`"),
        ("where a", "`where` is not a counter"),
        ("a+b", "`a+b` is not a counter"),
        ("1x", "`1x`"),
    ] {
        let error = text.parse::<Expression>().unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}
