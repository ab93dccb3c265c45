//! Parses the output of `ncu --csv --page raw`.
//!
//! The table follows messages of `ncu`, which start with `==`, and the output of the profiled program. The table has a
//! row for each launch, below a header and a row of units. Numbers have commas between thousands. The table also has
//! columns that `ncu` always collects, such as the launch's geometry and about a hundred attributes of the device.
//! These columns are skipped, because the values in many of them are words.

use csv::StringRecord;

use crate::profile::Numbers;

/// A profiled launch.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfiledLaunch {
    /// The name of the kernel.
    pub kernel: String,
    /// The metrics that have a value.
    pub numbers: Numbers,
    /// The metrics that have no value in this launch, such as 0 divided by 0.
    pub without: Vec<String>,
}

/// The column with the number of a launch. This column comes first, so it identifies the header.
const ID: &str = "ID";
const KERNEL: &str = "Kernel Name";

/// Parses the launches in the output of `ncu`, in order, with the metrics that `is_requested` selects.
///
/// # Errors
/// Returns a message when the text does not have the format described above.
pub fn read(text: &str, is_requested: impl Fn(&str) -> bool) -> Result<Vec<ProfiledLaunch>, String> {
    let table = find(text).ok_or("there is no table in it")?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
    let records: Result<Vec<StringRecord>, _> = reader.records().collect();
    let records = records.map_err(|error| format!("its table is not CSV ({error})"))?;
    let (header, rows) = records.split_first().ok_or("its table is empty")?;
    let kernel = header.iter().position(|heading| heading == KERNEL);
    let kernel = kernel.ok_or_else(|| format!("its table has no column \"{KERNEL}\""))?;
    let is_metric = |name: &str| name.contains("__");
    if !header.iter().any(is_metric) {
        return Err("its table has no column of a metric".to_owned());
    }
    let (units, rows) = rows.split_first().ok_or("its table has no row below the header")?;
    if !units.get(kernel).unwrap_or("").is_empty() {
        return Err("there is no row of units below its table's header".to_owned());
    }
    let metrics = header.iter().enumerate();
    let metrics = metrics.filter(|(_, name)| is_metric(name) && is_requested(name));
    let launch = |row: &StringRecord| {
        let mut launch = ProfiledLaunch::new(row.get(kernel).unwrap_or(""));
        for (column, name) in metrics.clone() {
            let [unit, value] = [units, row].map(|row| row.get(column).unwrap_or(""));
            launch.put(name, unit, value)?;
        }
        Ok(launch)
    };
    rows.iter().map(launch).collect()
}

/// Returns the lines of the table, from its header to its last row.
fn find(text: &str) -> Option<String> {
    let is_header = |line: &str| {
        let plain = line.trim_start().replace('"', "");
        plain.split(',').next() == Some(ID) && plain.contains(KERNEL)
    };
    let lines = text.lines().skip_while(|line| !is_header(line));
    let lines = lines.take_while(|line| !line.trim().is_empty());
    let rows: Vec<&str> = lines.filter(|line| !line.starts_with("==")).collect();
    (!rows.is_empty()).then(|| rows.join("\n") + "\n")
}

impl ProfiledLaunch {
    fn new(kernel: &str) -> Self {
        // Some versions of ncu add the parameters, which are removed here.
        let name = kernel.split('(').next().unwrap_or(kernel);
        Self { kernel: name.trim().to_owned(), numbers: Numbers::default(), without: Vec::new() }
    }

    fn put(&mut self, name: &str, unit: &str, value: &str) -> Result<(), String> {
        // Some versions of ncu write "(!) n/a".
        let plain = value.trim_start_matches("(!)").trim();
        match plain {
            // The chip does not have the metric.
            "n/a" | "" => return Ok(()),
            // A quotient with a zero divisor, for example `inf` waves of a kernel for which ncu computes an occupancy
            // of 0.
            "nan" | "-nan" | "inf" | "-inf" => {
                self.without.push(name.to_owned());
                return Ok(());
            }
            _ => {}
        }
        let number = number(plain).ok_or_else(|| format!("the value `{value}` of {name} is not a number"))?;
        let scale = scale(unit).ok_or_else(|| format!("the unit `{unit}` of {name} is unknown"))?;
        self.numbers.insert(name.to_owned(), number * scale);
        Ok(())
    }
}

/// Parses a number, with or without commas between thousands. Commas in other positions come from another locale and
/// are ambiguous, so they are rejected.
fn number(text: &str) -> Option<f64> {
    let whole = text.split('.').next().unwrap_or(text);
    let mut groups = whole.split(',').skip(1);
    if !groups.all(|group| group.len() == 3) || text[whole.len()..].contains(',') {
        return None;
    }
    let number: f64 = text.replace(',', "").parse().ok()?;
    number.is_finite().then_some(number)
}

/// Returns the factor from a unit to the base unit of its kind: bytes, bytes per second or nanoseconds. The arguments
/// of `ncu` include `--print-units base`, but versions differ in their base units. For any other unit, the factor is 1.
fn scale(unit: &str) -> Option<f64> {
    let lower = unit.to_ascii_lowercase();
    let (unit, per) = lower.split_once('/').unwrap_or((&lower, ""));
    let nanoseconds = |unit| match unit {
        "s" | "second" | "sec" => Some(1e9),
        "ms" | "msecond" => Some(1e6),
        "us" | "usecond" => Some(1e3),
        "ns" | "nsecond" => Some(1.0),
        _ => None,
    };
    let bytes = match unit {
        "kbyte" => Some(1e3),
        "mbyte" => Some(1e6),
        "gbyte" => Some(1e9),
        "tbyte" => Some(1e12),
        _ => None,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " %_.-#()".contains(c);
    // Rates are per second.
    let per = nanoseconds(per).map_or(1.0, |per| 1e9 / per);
    let scale = nanoseconds(unit).or(bytes).unwrap_or(1.0) * per;
    unit.chars().all(is_plain).then_some(scale)
}
