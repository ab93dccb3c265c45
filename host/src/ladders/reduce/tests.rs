#![allow(clippy::unwrap_used)]

use super::*;
use crate::data::element;
use crate::ladder;
use engine::launch::{Arg, Launch};
use engine::problem::{POISON, Role, Verdict};
use engine::registry::Rung;

fn launch_of(rung: &str, n: u64, block: u32) -> (Box<dyn Problem>, &'static Rung, Launch) {
    let ladder = ladder("reduce").unwrap();
    let rung = ladder.rung(rung).unwrap();
    let problem = ladder.problem(&Options::default().with("n", n)).unwrap();
    let launch = ladder.launch(rung, &*problem, Some([block, 1, 1])).unwrap();
    (problem, rung, launch)
}

/// What a right kernel leaves in the output.
fn right_output(problem: &dyn Problem, rung: &Rung, launch: &Launch) -> Vec<i32> {
    let input: Vec<i32> = bytemuck::cast_slice(problem.input(0)).to_vec();
    let elements = rung.geometry.elements(launch.block) as usize;
    let mut output = vec![0i32; launch.blocks() as usize];
    for (sum, share) in output.iter_mut().zip(input.chunks(elements)) {
        *sum = share.iter().fold(0, |sum, &value| sum.wrapping_add(value));
    }
    output
}

fn verdict<T: bytemuck::Pod>(problem: &dyn Problem, rung: &Rung, launch: &Launch, output: &[T]) -> Verdict {
    problem.check(rung, launch, &output_of(output))
}

/// The reason why a verdict is not that the result is right.
#[track_caller]
fn wrong(verdict: Verdict) -> String {
    match verdict {
        Verdict::Right => panic!("right"),
        Verdict::Wrong(why) => why,
    }
}

#[test]
fn the_check_accepts_what_is_right_at_every_edge() {
    for n in [0, 1, 31, 63, 64, 65, 127, 1000, 4096, 4097, 100_003] {
        for block in [64, 128, 1024] {
            for rung in ["reduce_neighbored", "reduce_unrolling8", "reduce_smem_unroll4"] {
                let (problem, rung, launch) = launch_of(rung, n, block);
                let output = right_output(&*problem, rung, &launch);
                let verdict = verdict(&*problem, rung, &launch, &output);
                assert_eq!(verdict, Verdict::Right, "{launch} {n}");
            }
        }
    }
}

#[test]
fn the_check_names_the_block_that_is_wrong() {
    let (problem, rung, launch) = launch_of("reduce_unrolling2", 1000, 64);
    let right = right_output(&*problem, rung, &launch);

    let mut swapped = right.clone();
    swapped.swap(2, 5);
    // Two exchanged sums have the same total, but they are wrong.
    let why = wrong(verdict(&*problem, rung, &launch, &swapped));
    assert!(why.starts_with("block 2 of 8: its sum is "), "{why}");

    let mut unwritten = right.clone();
    unwritten[7] = i32::from_ne_bytes([POISON; 4]);
    let why = wrong(verdict(&*problem, rung, &launch, &unwritten));
    let parts = ["block 7 of 8", "what was there before"];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
}

#[test]
fn a_missing_output_is_wrong_and_does_not_panic() {
    let (problem, rung, launch) = launch_of("reduce_smem", 1000, 128);
    assert!(!problem.check(rung, &launch, &[]).is_right());
}

#[test]
fn the_output_has_room_for_every_rung_and_block() {
    let ladder = ladder("reduce").unwrap();
    for n in [0, 1, 64, 65, 1000, MAX_ELEMENTS] {
        let problem = ladder.problem(&Options::default().with("n", n)).unwrap();
        let buffers = problem.buffers();
        for rung in ladder.rungs {
            for &block in ladder.blocks {
                let launch = ladder.launch(rung, &*problem, Some(block)).unwrap();
                for (index, buffer) in buffers.iter().enumerate() {
                    let takes = launch.args.contains(&Arg::Buffer(index));
                    if takes && matches!(buffer.role, Role::Output | Role::Sum) {
                        let written = problem.written_bytes(&launch, index);
                        assert!(written <= buffer.bytes, "{launch}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_input_is_spread_over_all_words() {
    let values: Vec<i32> = (0..1 << 12).map(element).collect();
    let negative = values.iter().filter(|&&value| value < 0).count();
    assert!((1900..2200).contains(&negative), "{negative} of 4096");
    assert!(!values.contains(&0));
    assert_eq!(element(0), element(0));
    let wide: i64 = values.iter().copied().map(i64::from).sum();
    // A sum that does not wrap tests little.
    assert_ne!(i64::from(plain_sum(&values)), wide);
}

#[test]
fn sizes_beyond_31_bits_are_refused_with_the_bound() {
    let of_size = |n| ladder("reduce").unwrap().problem(&Options::default().with("n", n));
    let text = of_size(MAX_ELEMENTS + 1).err().unwrap().to_string();
    let bounds = ["2147483648", "0 to 2147483647"];
    assert!(bounds.iter().all(|part| text.contains(part)), "{text}");
    assert!(of_size(MAX_ELEMENTS).is_ok());
}

/// The results that a right kernel of a type leaves for each block, in the type's own precision and in the
/// order of the elements.
fn partial<T: bytemuck::Pod>(problem: &dyn Problem, launch: &Launch, fold: impl Fn(&[T]) -> T) -> Vec<T> {
    let input: Vec<T> = bytemuck::cast_slice(problem.input(0)).to_vec();
    let each = input.len().div_ceil(launch.blocks() as usize);
    let parts = each.next_multiple_of(launch.block[0] as usize);
    input.chunks(parts).map(fold).collect()
}

fn of_operation(op: &str, word: &str, n: u64) -> (Box<dyn Problem>, &'static Rung, Launch) {
    let ladder = ladder("reduce").unwrap();
    let options = Options::default().with("n", n).with("op", op).with("type", word);
    let problem = ladder.problem(&options).unwrap();
    let rung = ladder.rung("reduce_shfl").unwrap();
    let launch = ladder.launch(rung, &*problem, None).unwrap();
    (problem, rung, launch)
}

fn output_of<T: bytemuck::Pod>(results: &[T]) -> Vec<Vec<u8>> {
    vec![bytemuck::cast_slice(results).to_vec()]
}

#[test]
fn a_rounded_sum_is_right_and_one_without_an_element_is_wrong() {
    let (problem, rung, launch) = of_operation("sum", "f32", 1000);
    assert_eq!(launch.entry, "reduce_shfl_sum_f32_128");
    let mut sums = partial(&*problem, &launch, |part: &[f32]| part.iter().sum());
    let check = |sums: &[f32]| verdict(&*problem, rung, &launch, sums);
    assert_eq!(check(&sums), Verdict::Right);
    let input: &[f32] = bytemuck::cast_slice(problem.input(0));
    sums[0] -= input[3];
    let why = wrong(check(&sums));
    assert!(why.starts_with("block 0 of 8: its sum is "), "{why}");
    sums[0] = f32::NAN;
    assert!(!check(&sums).is_right());
}

#[test]
fn products_are_of_many_factors_and_stay_in_range() {
    let (problem, rung, launch) = of_operation("product", "f64", 5000);
    let mut products = partial(&*problem, &launch, |part: &[f64]| part.iter().product());
    let is_in_range = |p: &f64| (0.5..2.0).contains(&p.abs()) && p.abs() != 1.0;
    assert!(products.iter().all(is_in_range));
    let check = |products: &[f64]| verdict(&*problem, rung, &launch, products);
    assert!(check(&products).is_right());
    products[7] *= 1.0 + 1e-9;
    assert!(!check(&products).is_right());

    let (problem, rung, launch) = of_operation("product", "i64", 5000);
    let products =
        partial(&*problem, &launch, |part: &[i64]| part.iter().fold(1, |all: i64, &one| all.wrapping_mul(one)));
    assert!(!products.contains(&0), "as a product of even numbers is");
    assert!(verdict(&*problem, rung, &launch, &products).is_right());
}

#[test]
fn min_and_max_are_exact_and_ignore_nans() {
    let (problem, rung, launch) = of_operation("max", "f32", 3000);
    let input: &[f32] = bytemuck::cast_slice(problem.input(0));
    assert_eq!(input.iter().filter(|x| x.is_nan()).count(), 4);
    let mut greatest =
        partial(&*problem, &launch, |part: &[f32]| part.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let check = |greatest: &[f32]| verdict(&*problem, rung, &launch, greatest);
    assert!(check(&greatest).is_right());
    greatest[2] = greatest[2].next_down();
    assert!(!check(&greatest).is_right());
    // Of no elements, the identity.
    let (problem, rung, launch) = of_operation("min", "f64", 0);
    assert!(verdict(&*problem, rung, &launch, &[f64::INFINITY]).is_right());
}

/// The sums of parts, of parts of parts and so on until one is left, each part `each` elements at `each`
/// places of equal distance, with the largest magnitude on the way.
fn summed<T: bytemuck::Pod + std::ops::Add<Output = T> + Into<f64>>(input: &[u8], each: usize) -> (Vec<Vec<u8>>, f64) {
    let (mut level, mut largest) = (bytemuck::cast_slice::<_, T>(input).to_vec(), 0.0f64);
    while level.len() > 1 {
        let parts = level.len().div_ceil(each);
        level = (0..parts)
            .map(|part| {
                let mut own = level.iter().copied().skip(part).step_by(parts);
                let first = own.next().unwrap();
                own.fold(first, |sum, one| {
                    largest = largest.max((sum + one).into().abs());
                    sum + one
                })
            })
            .collect();
    }
    (output_of(&level), largest)
}

/// The check of one result of all elements, by a rung that gives one.
fn check_whole(problem: &dyn Problem, output: &[Vec<u8>]) -> Verdict {
    let ladder = ladder("reduce").unwrap();
    let rung = ladder.rung("reduce_one_launch").unwrap();
    let launch = ladder.launch(rung, problem, None).unwrap();
    problem.check(rung, &launch, output)
}

#[test]
fn the_sum_of_floats_is_the_same_in_every_order() {
    const N: u64 = 300_007;
    for (word, bound) in [("f32", 18), ("f64", 21)] {
        let (problem, ..) = of_operation("sum", word, N);
        for each in [2, 3, 1000, usize::MAX] {
            let (output, largest) = match word {
                "f32" => summed::<f32>(problem.input(0), each),
                _ => summed::<f64>(problem.input(0), each),
            };
            let verdict = check_whole(&*problem, &output);
            assert_eq!(verdict, Verdict::Right, "{word} by {each}");
            // A walk of 2^31 steps ends 85 times as far from its start.
            assert!(largest < f64::from(1 << bound) / 85.0, "{word} by {each}: {largest}");
        }
    }
}

#[test]
fn a_whole_result_is_checked() {
    let (problem, ..) = of_operation("sum", "f32", 100_003);
    let input: &[f32] = bytemuck::cast_slice(problem.input(0));
    let sum: f32 = input.iter().sum();
    let wrong = |output: &[Vec<u8>]| wrong(check_whole(&*problem, output));
    assert!(check_whole(&*problem, &output_of(&[sum])).is_right());
    for (index, &element) in input.iter().enumerate().step_by(10_007) {
        let why = wrong(&output_of(&[sum - element]));
        assert!(why.starts_with("the sum is "), "without {index}: {why}");
    }
    assert!(wrong(&output_of(&[sum, 1.0])).contains("2 results"));
    assert!(wrong(&[]).contains("0 results"));
    let unwritten = output_of(&[f32::from_ne_bytes([POISON; 4])]);
    assert!(wrong(&unwritten).contains("what was there before"));
    assert!(wrong(&output_of(&[f32::NAN])).contains("NaN"));
}

#[test]
fn whole_products_stay_in_range_and_notice_what_is_missing() {
    let (problem, ..) = of_operation("product", "f32", 1 << 18);
    let input: &[f32] = bytemuck::cast_slice(problem.input(0));
    for each in [2, 4, 32, 1000, 20_000] {
        // As a GPU may: so many at a time, then pairs of those.
        let parts = input.chunks(each).map(|part| part.iter().product());
        let mut parts: Vec<f32> = parts.collect();
        while parts.len() > 1 {
            parts = parts.chunks(2).map(|pair| pair.iter().product()).collect();
        }
        let verdict = check_whole(&*problem, &output_of(&parts));
        assert_eq!(verdict, Verdict::Right, "by {each}");
        assert!((1e-3..1e3).contains(&parts[0].abs()), "{}", parts[0]);
    }
    let without = |missing: usize| {
        let factors = input[missing..].iter().copied();
        let product: f64 = factors.map(f64::from).product();
        !check_whole(&*problem, &output_of(&[product as f32])).is_right()
    };
    let noticed = (1..100).filter(|&missing| without(missing)).count();
    assert!(noticed > 80, "{noticed} of 99");
}

#[test]
fn a_rung_that_does_not_compute_it_says_which_do() {
    let ladder = ladder("reduce").unwrap();
    let (problem, _, _) = of_operation("max", "f32", 10);
    let names: Vec<_> = ladder.select(&[], &*problem).unwrap();
    assert_eq!(names.len(), 5);
    let named = ["reduce_gmem".into()];
    let error = ladder.select(&named, &*problem).unwrap_err();
    assert_eq!(
        error.to_string(),
        "reduce_gmem was not compiled for max of f32; it is in reduce_smem, reduce_shfl, reduce_grid_stride, reduce_vector, reduce_one_launch"
    );
}

#[test]
fn a_launch_of_the_whole_gives_one_sum() {
    for (name, role) in [("reduce_atomic", Role::Sum), ("reduce_one_launch", Role::Output)] {
        let (problem, rung, launch) = launch_of(name, 100_003, 256);
        let input: Vec<i32> = bytemuck::cast_slice(problem.input(0)).to_vec();
        let sum = plain_sum(&input);
        let buffers = problem.buffers();
        let written = (0..buffers.len()).filter(|&index| {
            let takes = launch.args.contains(&Arg::Buffer(index));
            takes && matches!(buffers[index].role, Role::Output | Role::Sum)
        });
        let written: Vec<usize> = written.collect();
        assert_eq!(written.len(), 1);
        assert_eq!(buffers[written[0]].role, role);
        assert_eq!(problem.written_bytes(&launch, written[0]), 4);
        assert_eq!(verdict(&*problem, rung, &launch, &[sum]), Verdict::Right);
        let why = wrong(verdict(&*problem, rung, &launch, &[sum ^ 1]));
        assert!(why.starts_with("the sum is "), "{why}");
    }
}
