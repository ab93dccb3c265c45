//! What the program refuses, in which words, and with which exit code.

use crate::common::program::{all_refused, on_none, with_option};

#[test]
fn bad_input_is_one_line_with_a_hint_and_exit_code_2() {
    let foreign_n = format!("--n is an option of {}, and not of transpose; it has --rows, --cols", with_option("n"));
    let names: Vec<&str> = host::ladders().iter().map(|ladder| ladder.name).collect();
    let all_ladders = format!("name a ladder or a rung: the ladders are {}, `all` is", names.join(", "));
    let table = format!(
        "
        run redcue => no ladder or rung is named `redcue`; did you mean `reduce`?
        run quicksort => no ladder or rung is named `quicksort`; `ladder list` names them
        run reduce --rung reduce_shfl reduce_neighbor => the ladder reduce has no rung `reduce_neighbor`; did you mean one of reduce_neighbored, reduce_neighbored_less?
        run reduce --block 100 => it must be a power of two from 64 to 1024
        run reduce --block 32 => it must be a power of two from 64 to 1024
        run reduce --block 2048 => it must be a power of two from 64 to 1024
        run reduce --block 0 => it must be a power of two from 64 to 1024
        run reduce --block 32x16 => a block of 32x16 is not possible on the ladder reduce: it must be a power of two from 64 to 1024
        run reduce --block x => `x` is not a block
        run reduce --n many => write 16777216, 1_000_000, 2^24 or 16M
        run reduce --n -5 => `-5` is not a size: it is negative
        run reduce --n 2^31 => out of bounds for the ladder reduce: it takes 0 to 2147483647
        run reduce --runs 0 => --runs takes 1 or more
        run reduce --runs x => invalid value 'x' for '--runs <K>'
        run reduce --device tpu => [possible values: auto, gpu, sim]
        run reduce --update-readme no/such.md => cannot update no/such.md
        run reduce --json --markdown => cannot be used with
        run reduce --rungs x => a similar argument exists
        run reduce --op mean => `mean` is not possible for --op
        run reduce --op max --rung reduce_gmem => reduce_gmem was not compiled for max of i32; it is in reduce_smem, reduce_shfl
        run reduce --op max --block 256 => reduce_smem was not compiled for a block of 256: it was for 128
        run reduce --op max --type f32 --block 1024 --rung reduce_shfl => reduce_shfl was not compiled for a block of 1024: it was for 128
        run reduce --op max --block 512 --rung reduce_smem => reduce_smem was not compiled for a block of 512: it was for 128
        run transpose --rows 0 => rows = 0 is out of bounds for the ladder transpose: it takes 1 to 2147483647
        run transpose --rows 100k --cols 100k => 102400 × 102400 is too large for the ladder transpose: it takes up to 2147483647 elements
        run transpose --block 64x8 => it must be 32x16, 32x32 or 16x16, the tiles that were compiled in
        run transpose --n 5 => {foreign_n}
        run matmul --k 0 => k = 0 is out of bounds for the ladder matmul: it takes 1 to 2147483647
        run matmul --block 64x64 => it must be 16x16 or 32x32
        run matmul --rung matmul_coarsened16 => did you mean `matmul_coarsened1`?
        run histogram --data no/such/file => cannot read no/such/file: No such file or directory (os error 2); --data takes uniform, skewed, constant or the path of a file
        run histogram --data src --n 5 => cannot read src: Is a directory
        run shuffle --width 5 => width = 5 is out of bounds for the ladder shuffle: it takes 2, 4, 8, 16 or 32
        run shuffle --block 32 => 16 values, 32 with --width 32
        check matmul --m 1 0 => m = 0 is out of bounds
        check transpose --block 8 => a block of 8 is not possible
        check nothing => no ladder or rung is named `nothing`
        run => {all_ladders}
        run reduce matmul --rung transpose_naive => the ladder reduce has no rung `transpose_naive`
        dram mp => unrecognized subcommand 'mp'
        run shfl => did you mean `reduce_shfl`?
        run REDUCE_SHFL => did you mean `reduce_shfl`?
        run reduce --rung shfl => did you mean `reduce_shfl`?
        rnu reduce => unrecognized subcommand 'rnu'; did you mean `run`?
        predict transpose --foo => unexpected argument '--foo' found; transpose has --rows, --cols; `--help` says more
        run reduce transpose --data x => --data is an option of histogram, and not of reduce, transpose; it has --n, --op, --type, --rows, --cols
        run transpose_naive --update-readme README.md => name the ladder transpose, not its rungs
        occupancy transpose_smem --block 512 --arch sm_90 => transpose_smem was not compiled for a block of 512
        profile transpose_smem --block 512 => transpose_smem was not compiled for a block of 512
        predict transpose_smem --block 512 => transpose_smem was not compiled for a block of 512
        dram --trace transpose_smem --block 512 => transpose_smem was not compiled for a block of 512
        climb => unrecognized subcommand 'climb'
        list redcue => did you mean `reduce`?
        check reduce --n 1 2^31 => it takes 0 to 2147483647
        check reduce --block 64 65 => a block of 65 is not possible
        "
    );
    all_refused(|args| on_none(args), &table);
}
