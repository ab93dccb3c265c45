//! `ladder ptx` for a ladder and for a rung. Its output is in cli/ptx.txt.

use crate::common::program::run_without_driver;

fn printed(args: &str) -> String {
    run_without_driver(&format!("ptx {args}")).printed()
}

#[test]
fn a_rung_prints_its_default_entry_and_a_ladder_one_entry_per_rung() {
    assert_eq!(printed("reduce_shfl"), printed("reduce_shfl_128"));
    let ladder = host::ladder("transpose").unwrap();
    assert_eq!(printed("transpose --all").matches(".entry ").count(), ladder.rungs.len());
}
