//! `ladder ptx` of a ladder and of a rung. What it shows is in cli/ptx.txt.

use crate::common::program::alone;

fn printed(args: &str) -> String {
    alone(&format!("ptx {args}")).printed()
}

#[test]
fn a_rung_is_its_default_entry_and_a_ladder_those_of_its_rungs() {
    assert_eq!(printed("reduce_shfl"), printed("reduce_shfl_128"));
    let ladder = host::ladder("transpose").unwrap();
    assert_eq!(printed("transpose --all").matches(".entry ").count(), ladder.rungs.len());
}
