//! Tables of the documents in `docs`: what was measured, and when.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::read;

/// Names of documents that are not those of their files, and how a heading names the device.
const SHORT: [(&str, &str, &str); 5] = [
    ("h100", "times.md", "H100"),
    ("h200", "times-h200.md", "H200"),
    ("versus-h100", "versus.md", "H100"),
    ("versus-h200", "versus-h200.txt", "H200"),
    ("profile-h100", "profile-h100.txt", "H100"),
];

/// The tables of a document.
#[derive(Debug)]
struct Table {
    /// The text between the table before and this one.
    above: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The documents that were read.
#[derive(Debug, Default)]
pub(crate) struct Records(RefCell<BTreeMap<String, Rc<Vec<Table>>>>);

impl Records {
    /// The cell of a row and a column, from the first table that has both. A document is named by its file without `.md`,
    /// or as in [`SHORT`]; behind an `@` stands a part of the text above the table. `COLUMN#2` is the second of that name.
    ///
    /// # Errors
    /// When there is no such document, table, row or column.
    pub(crate) fn cell(&self, document: &str, row: &str, column: &str) -> Result<String, String> {
        let (name, part) = document.split_once('@').unwrap_or((document, ""));
        let all = self.tables(name)?;
        let tables: Vec<&Table> = all.iter().filter(|table| table.above.contains(part)).collect();
        let has_row = |table: &&&Table| table.rows.iter().any(|own| own[0] == row);
        let with_row: Vec<&&Table> = tables.iter().filter(has_row).collect();
        if with_row.is_empty() {
            let known: Vec<&str> = tables.iter().flat_map(|table| &table.rows).map(|own| &*own[0]).collect();
            return Err(format!("no table of {document} has a row `{row}`; the rows are {}", known.join(", ")));
        }
        for table in &with_row {
            let (column, nth) = column.rsplit_once('#').unwrap_or((column, "1"));
            let nth: usize = nth.parse().map_err(|_| format!("`{nth}` is no number of a column `{column}`"))?;
            let mut places = table.columns.iter().enumerate().filter(|(_, own)| *own == column);
            let place = places.nth(nth.saturating_sub(1)).map(|(place, _)| place);
            let own = table.rows.iter().find(|own| own[0] == row);
            if let Some(cell) = place.zip(own).and_then(|(place, own)| own.get(place)) {
                return Ok(cell.clone());
            }
        }
        let known: Vec<&str> = with_row.iter().flat_map(|table| &table.columns).map(String::as_str).collect();
        Err(format!("`{row}` has no column `{column}` in {document}; the columns are {}", known.join(", ")))
    }

    fn tables(&self, name: &str) -> Result<Rc<Vec<Table>>, String> {
        if let Some(tables) = self.0.borrow().get(name) {
            return Ok(Rc::clone(tables));
        }
        let file = SHORT.iter().find(|(short, ..)| *short == name).map(|(_, file, _)| (*file).to_owned());
        let file = file.unwrap_or_else(|| if name.contains('.') { name.to_owned() } else { format!("{name}.md") });
        let tables = Rc::new(tables(&read(&format!("docs/{file}"))?));
        self.0.borrow_mut().insert(name.to_owned(), Rc::clone(&tables));
        Ok(tables)
    }
}

/// A column's heading beside those of other documents: `time, H200`.
pub(crate) fn heading(document: &str, column: &str) -> String {
    let document = document.split('@').next().unwrap_or_default();
    match SHORT.iter().find(|(short, ..)| *short == document) {
        Some((_, _, device)) => format!("{column}, {device}"),
        None => column.to_owned(),
    }
}

/// The tables of a text, in Markdown or drawn with lines.
fn tables(text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let (mut above, mut is_inside, mut is_behind) = (String::new(), false, false);
    for line in text.lines() {
        let is_row = line.starts_with(['|', '│']) && line.trim_end().ends_with(['|', '│']);
        is_inside &= !line.starts_with('┌');
        // Lines between rows.
        if line.starts_with(['┌', '╞', '└', '├']) || line.starts_with("|--") || line.starts_with("| --") {
            continue;
        }
        if !is_row {
            // A table that follows another one without a word has the same text above it.
            is_behind |= std::mem::take(&mut is_inside);
            if !line.is_empty() && std::mem::take(&mut is_behind) || line.starts_with('#') {
                above.clear();
            }
            above += line;
            above.push('\n');
            continue;
        }
        let cells = line.trim_end().split(['|', '│', '┆']).map(|cell| cell.trim().trim_matches('`').to_owned());
        let cells: Vec<String> = cells.collect();
        let cells = cells[1..cells.len() - 1].to_vec();
        match (is_inside, tables.last_mut()) {
            (true, Some(table)) => table.rows.push(cells),
            _ => tables.push(Table { above: above.clone(), columns: cells, rows: Vec::new() }),
        }
        is_inside = true;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::tables;

    const TEXT: &str = "\
## Sums

**2^24**

| rung    | time    |
|---------|---------|
| `first` | 1.00 µs |

**2^28**

┌───────┬─────────┐
│ rung  ┆    time │
╞═══════╪═════════╡
│ first ┆ 2.00 µs │
└───────┴─────────┘
┌──────┬─────────┐
│ rung ┆    time │
╞══════╪═════════╡
│ last ┆ 3.00 µs │
└──────┴─────────┘
";

    #[test]
    fn tables_are_read_in_both_forms() {
        let tables = tables(TEXT);
        let rows: Vec<_> = tables.iter().map(|table| (table.above.contains("2^28"), &table.rows)).collect();
        let row = |rung: &str, time: &str| vec![vec![rung.to_owned(), time.to_owned()]];
        let expected =
            [(false, &row("first", "1.00 µs")), (true, &row("first", "2.00 µs")), (true, &row("last", "3.00 µs"))];
        assert_eq!(rows, expected);
        assert!(tables.iter().all(|table| table.columns == ["rung", "time"]));
    }
}
