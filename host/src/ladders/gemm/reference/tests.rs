use super::*;

const SIDES: [usize; 3] = [70, 65, 300];

fn inputs(data: Data) -> Inputs {
    Inputs::new(SIDES, Format::Bf16, false, data)
}

/// Returns the middle of each element's allowed range.
fn right(inputs: &Inputs, out: Format) -> Vec<f32> {
    let Results::Whole(all) = whole(inputs, out) else { panic!("all elements are computed") };
    all.iter().map(|right| right.least / 2.0 + right.most / 2.0).collect()
}

#[test]
fn a_sample_of_each_patch_and_all_rows_are_compared() {
    for (data, out) in [(Data::Uniform, Format::F32), (Data::Exact, Format::F32), (Data::Exact, Format::Bf16)] {
        let inputs = inputs(data);
        let reference = Reference { out, results: sampled(&inputs, out) };
        let Results::Sampled { elements, rows } = &reference.results else { panic!("the elements are sampled") };
        assert_eq!((elements.len(), rows.len()), (9, 70));
        let mut patches: Vec<_> = elements.iter().map(|(at, _)| (at / 65 / 32, at % 65 / 32)).collect();
        patches.sort_unstable();
        patches.dedup();
        assert_eq!(patches.len(), 9);

        let mut c = right(&inputs, out);
        assert_eq!(reference.first_wrong(&inputs, &|at| c[at]), None, "{data:?}");
        let (sample, range) = elements[4];
        let other = (0..c.len()).find(|at| elements.iter().all(|(index, _)| index != at)).unwrap_or(0);
        for (at, error) in [(sample, 0.5), (other, 4.0), (other, f32::NAN)] {
            let was = c[at];
            c[at] += error;
            let wrong = reference.first_wrong(&inputs, &|at| c[at]);
            assert!(
                wrong.as_ref().is_some_and(|element| element.at == at && element.right.is_some()),
                "{data:?} {error}: {wrong:?}"
            );
            assert!(at == other || wrong.and_then(|wrong| wrong.right) == Some(range));
            c[at] = was;
        }
        // If nothing is rounded, even the smallest error of one element changes the sum of its row.
        if (data, out) == (Data::Exact, Format::F32) {
            c[other] = c[other].next_up();
            assert!(reference.first_wrong(&inputs, &|at| c[at]).is_some_and(|wrong| wrong.at == other));
        }
    }
}

#[test]
fn sums_of_rows_hold_with_special_numbers() {
    let inputs = inputs(Data::Special);
    let reference = Reference { out: Format::Bf16, results: sampled(&inputs, Format::Bf16) };
    let c = right(&inputs, Format::Bf16);
    assert_eq!(reference.first_wrong(&inputs, &|at| c[at]), None);
}

#[test]
fn overflow_that_depends_on_the_order_is_allowed() {
    let inputs = Inputs::new([1, 1, 3], Format::Bf16, false, Data::Special);
    let range_of = |positive: f64, negative: f64| {
        let sum = Sum { value: positive - negative, size: positive + negative };
        right_of(sum, &inputs, Format::F32)
    };
    let large = 3e38;
    assert!(range_of(2.0 * large, 0.0).has(f32::INFINITY) && !range_of(2.0 * large, 0.0).has(f32::MAX));
    assert!(range_of(2.0 * large, large).has(f32::INFINITY) && range_of(2.0 * large, large).has(large as f32));
    assert!(range_of(large, 2.0 * large).has(f32::NEG_INFINITY) && !range_of(large, 2.0 * large).has(f32::INFINITY));
    assert!(!range_of(large, large).has(f32::INFINITY) && range_of(large, large).has(0.0));
    assert_eq!(range_of(f64::INFINITY, 0.0), AllowedRange { least: f32::INFINITY, most: f32::INFINITY });
}
