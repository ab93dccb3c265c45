//! What a report says, as data: it stands in the page as JSON, and is read from there to compare two reports.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::timing::Origin;

/// The number of this form of the data. A report of another one is not compared.
const FORMAT: u32 = 1;
/// What stands before and behind the data in a page.
const BEGIN: &str = r#"<script type="application/json" id="ladder-report">"#;
const END: &str = "</script>";

/// The data of a report.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Data {
    pub format: u32,
    /// The day.
    pub made: String,
    pub toolchain: String,
    /// Where the times come from.
    pub origin: Origin,
    pub ladders: Vec<LadderData>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LadderData {
    pub name: String,
    pub summary: String,
    /// The problem in words.
    pub problem: String,
    /// The least bytes that a launch moves.
    /// The problem of the counters, which is smaller where the whole one takes too long to count.
    pub counted: String,
    pub bytes: u64,
    pub flops: Option<u64>,
    /// The time that the device's memory, or its arithmetic, takes at the least.
    pub floor_ns: Option<f64>,
    pub rungs: Vec<RungData>,
    /// What else there is to say: rungs that are left out, wrong results.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RungData {
    pub name: String,
    pub lesson: String,
    /// Whether it moves the bytes without doing the work.
    pub is_bound: bool,
    pub launch: String,
    /// The file with the kernel.
    pub path: String,
    /// Its text; `None` where this machine does not have it.
    pub source: Option<String>,
    pub time_ns: Option<f64>,
    pub bound: Option<Bound>,
    pub counters: Vec<Counter>,
}

/// What bounds a rung.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Bound {
    pub by: String,
    pub how_near: String,
    /// The optimization that helps, and the next rung that has it.
    pub helps: Option<String>,
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Counter {
    pub name: String,
    pub heading: String,
    pub meaning: String,
    pub number: Option<f64>,
    /// The number as it is shown.
    pub text: String,
}

impl Data {
    pub(super) fn new(made: String, toolchain: String, origin: Origin, ladders: Vec<LadderData>) -> Self {
        Self { format: FORMAT, made, toolchain, origin, ladders }
    }

    /// The data as an element of a page.
    pub(super) fn element(&self) -> String {
        let json = serde_json::to_string(self).expect("strings, numbers and lists serialize");
        // In HTML, `<` could end the script or begin a comment. In JSON it only stands in strings.
        format!("{BEGIN}{}{END}", json.replace('<', "\\u003c"))
    }

    /// Reads the data of a report.
    ///
    /// # Errors
    /// [`Error::Request`] when the file cannot be read, is no report, or one of another version.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| analysis::Error::file("read", path, why))?;
        let wrong = |why: String| Error::Request(format!("{} is no report to compare: {why}", path.display()));
        let found = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let (json, _) = found.ok_or_else(|| wrong("it lacks the data that `ladder report` writes".to_owned()))?;
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let format: Format = serde_json::from_str(json).map_err(|why| wrong(why.to_string()))?;
        if format.format != FORMAT {
            let other = format.format;
            return Err(wrong(format!(
                "its data have form {other} and not {FORMAT}; write it anew with `ladder report`"
            )));
        }
        serde_json::from_str(json).map_err(|why| wrong(why.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_read_back_from_the_page_and_nothing_else_is() {
        let origin = Origin { is_measured: false, words: "</script><!--".to_owned(), device: "x".to_owned() };
        let data = Data::new("today".to_owned(), "rustc".to_owned(), origin, Vec::new());
        let folder = std::env::temp_dir().join(format!("ladder-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("report.html");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            Data::read(&path).map(|data| data.origin.words).map_err(|error| error.to_string())
        };
        assert_eq!(data.element().matches("</script>").count(), 1);
        assert_eq!(read(&format!("<p>{}</p>", data.element())), Ok("</script><!--".to_owned()));
        for (text, why) in [
            ("<p>", "it lacks the data"),
            (&*data.element().replace("\"format\":1", "\"format\":7"), "form 7 and not 1"),
            (&*data.element().replace("\"made\"", "made"), "key must be"),
        ] {
            let error = read(text).expect_err("it is no report");
            assert!(error.contains(why), "{error}");
        }
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
