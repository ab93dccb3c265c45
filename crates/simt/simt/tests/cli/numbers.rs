//! Tests the numbers that fill buffers.

use super::values::{BufferInit, Type, output};

#[test]
fn the_generator_is_splitmix64() {
    // The first outputs for seed 1234567, from the program of the algorithm's authors.
    let outputs: Vec<u64> = (0..5).map(|index| output(1_234_567, index)).collect();
    assert_eq!(
        outputs,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821
        ]
    );
}

#[test]
fn random_values_are_in_range_and_vary() {
    let text = Type::I32.text(&Type::I32.fill(8, &BufferInit::Random(1234567)).unwrap(), false);
    assert_eq!(text, "89 44 136 63 227 108 151 70");
    for ty in [Type::F16, Type::F32, Type::F64] {
        let text = ty.text(&ty.fill(1000, &BufferInit::Random(1)).unwrap(), false);
        let values: Vec<f64> = text.split(' ').map(|word| word.parse().unwrap()).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = values.iter().sum::<f64>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
    }
}

#[test]
fn rows_count_and_wrap() {
    let iota = |ty: Type, count| ty.text(&ty.fill(count, &BufferInit::Iota).unwrap(), false);
    assert_eq!(iota(Type::I8, 130).split(' ').nth(128), Some("-128"));
    assert_eq!(iota(Type::F32, 3), "0.0 1.0 2.0");
    assert_eq!(iota(Type::U64, 3), "0 1 2");
    assert_eq!(Type::U16.text(&Type::U16.fill(1, &BufferInit::Uninit).unwrap(), false), "42405");
}

#[test]
fn nan_and_infinity_are_strings_in_json() {
    let bytes: Vec<u8> =
        ["nan", "inf", "-inf", "1.5", "-0"].iter().flat_map(|text| Type::F32.parse(text).unwrap()).collect();
    let json = Type::F32.text(&bytes, true);
    assert_eq!(json, r#"["nan","inf","-inf",1.5,-0.0]"#);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    assert_eq!(Type::F32.text(&bytes, false), "nan inf -inf 1.5 -0.0");
}
