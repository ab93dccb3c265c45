//! Reads recorded results.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use analysis::results::{self, FOLDER, Record, Value};

/// The result files that have been read.
#[derive(Debug, Default)]
pub(crate) struct Results(RefCell<BTreeMap<String, Rc<Vec<Record>>>>);

impl Results {
    /// Returns a row's quantity as text. See [`Results::value`].
    ///
    /// # Errors
    /// Returns the messages of [`Results::value`], and a message when the quantity was not measured.
    pub(crate) fn cell(&self, source: &str, row: &str, quantity: &str) -> Result<String, String> {
        Ok(self.measured(source, row, quantity)?.to_string())
    }

    /// Returns a row's quantity as a number. See [`Results::value`].
    ///
    /// # Errors
    /// Returns the messages of [`Results::cell`], and a message when the value is not a number.
    pub(crate) fn number(&self, source: &str, row: &str, quantity: &str) -> Result<f64, String> {
        let value = self.measured(source, row, quantity)?;
        // Records store a number with a trailing zero as text: `4237.0`.
        let read = || value.to_string().parse().ok();
        value.number().or_else(read).ok_or_else(|| format!("`{value}` is not a number"))
    }

    fn measured(&self, source: &str, row: &str, quantity: &str) -> Result<Value, String> {
        self.value(source, row, quantity)?.ok_or_else(|| format!("no record of {source} has `{quantity}` for `{row}`"))
    }

    /// Returns the value of a row's quantity from the first record that has it, or `None` if it was not measured.
    /// `source` is a file of `results` without `.jsonl`, such as `h100/run`. After `@`, it can name a part of the
    /// problem: `h100/versus@2^28`.
    ///
    /// # Errors
    /// Returns a message when there is no such file, or when the row does not have the quantity.
    pub(crate) fn value(&self, source: &str, row: &str, quantity: &str) -> Result<Option<Value>, String> {
        let (file, problem) = source.split_once('@').unwrap_or((source, ""));
        let all = self.file(file)?;
        let with_row: Vec<&Record> =
            all.iter().filter(|record| record.rung == row && record.problem.contains(problem)).collect();
        match with_row.iter().find_map(|record| record.values.get(quantity)) {
            Some(value) => Ok(value.clone()),
            None if with_row.is_empty() => Ok(None),
            None => {
                let known: Vec<&str> =
                    with_row.iter().flat_map(|record| record.values.keys()).map(String::as_str).collect();
                Err(format!("`{row}` has no `{quantity}` in {source}; it has {}", known.join(", ")))
            }
        }
    }

    fn file(&self, name: &str) -> Result<Rc<Vec<Record>>, String> {
        if let Some(records) = self.0.borrow().get(name) {
            return Ok(Rc::clone(records));
        }
        let path = Path::new(FOLDER).join(format!("{name}.jsonl"));
        let records = Rc::new(results::read(&path).map_err(|why| why.to_string())?);
        self.0.borrow_mut().insert(name.to_owned(), Rc::clone(&records));
        Ok(records)
    }
}

/// Returns the heading of a quantity that was measured on several devices, or for several problems: `time, H200` or
/// `time, H200, m = 4096`.
pub(crate) fn heading(source: &str, quantity: &str, has_problem: bool) -> String {
    if quantity == "published" {
        // Omit the device, because a published number does not depend on it.
        return quantity.to_owned();
    }
    let device = source.split('/').next().unwrap_or_default();
    let problem = source.split_once('@').filter(|_| has_problem).map(|(_, problem)| format!(", {problem}"));
    format!("{quantity}, {}{}", device.to_uppercase(), problem.unwrap_or_default())
}
