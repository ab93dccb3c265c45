use super::*;

#[test]
fn the_table_has_every_column_once_in_the_order_of_the_enum() {
    let columns = COLUMNS.column.iter().map(|text| text.column as usize);
    let all: Vec<usize> = (0..=Column::SharedAtomics as usize).collect();
    assert_eq!(columns.collect::<Vec<_>>(), all);
}
