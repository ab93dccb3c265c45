//! What the program refuses, in which words, and with which exit code.

use crate::common::program::{all_refused, on_none, with_option};

/// `arguments => error`: a part of the error in each line.
const REFUSED: &str = include_str!("data/refused.txt");

#[test]
fn bad_input_is_one_line_with_a_hint_and_exit_code_2() {
    let foreign_n = format!("--n is an option of {}, and not of transpose; it has --rows, --cols", with_option("n"));
    let names: Vec<&str> = host::ladders().iter().map(|ladder| ladder.name).collect();
    let all_ladders = format!("name a ladder or a rung: the ladders are {}, `all` is", names.join(", "));
    let table = REFUSED.replace("{foreign n}", &foreign_n).replace("{all ladders}", &all_ladders);
    all_refused(|args| on_none(args), &table);
}
