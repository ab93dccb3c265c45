//! The contents of a report as data. The page embeds the data as JSON, and a comparison of two reports reads this JSON.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::timing::Origin;

/// The version of the data's format. Reports of other versions cannot be compared.
const FORMAT: u32 = 1;
/// The text that precedes and follows the data in a page.
const BEGIN: &str = r#"<script type="application/json" id="ladder-report">"#;
const END: &str = "</script>";

/// The data of a report.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Data {
    pub format: u32,
    /// The date of the report.
    pub made: String,
    pub toolchain: String,
    /// The source of the times.
    pub origin: Origin,
    pub ladders: Vec<LadderData>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LadderData {
    pub name: String,
    pub summary: String,
    /// The problem in words.
    pub problem: String,
    /// The problem for which the counters were collected. It is smaller than `problem` if counting `problem` takes too
    /// long.
    pub counted: String,
    /// The minimum number of bytes that a launch moves.
    pub bytes: u64,
    pub flops: Option<u64>,
    /// The minimum time that the device's memory or arithmetic needs for the problem.
    pub floor_ns: Option<f64>,
    pub rungs: Vec<RungData>,
    /// Notes, such as rungs that are left out and wrong results.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RungData {
    pub name: String,
    pub lesson: String,
    /// Whether the rung moves the bytes without doing the work.
    pub is_bound: bool,
    pub launch: String,
    /// The file with the kernel.
    pub path: String,
    /// The text of the file; `None` if the file is not on this machine.
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
    /// The optimization that helps, and the next rung that applies it.
    pub helps: Option<String>,
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Counter {
    pub name: String,
    pub heading: String,
    pub meaning: String,
    pub number: Option<f64>,
    /// The number as text.
    pub text: String,
}

impl Data {
    pub(super) fn new(made: String, toolchain: String, origin: Origin, ladders: Vec<LadderData>) -> Self {
        Self { format: FORMAT, made, toolchain, origin, ladders }
    }

    /// Returns the data as an HTML element.
    pub(super) fn element(&self) -> String {
        let json = serde_json::to_string(self).expect("strings, numbers and lists serialize");
        // In HTML, `<` could end the script or start a comment. In JSON, `<` occurs only in strings.
        format!("{BEGIN}{}{END}", json.replace('<', "\\u003c"))
    }

    /// Reads the data of a report.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when the file cannot be read, is not a report, or has another format version.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| analysis::Error::file("read", path, why))?;
        let wrong =
            |why: String| Error::Request(format!("cannot compare {}, which is not a report: {why}", path.display()));
        let found = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let (json, _) = found.ok_or_else(|| wrong("the data that `ladder report` writes are missing".to_owned()))?;
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let format: Format = serde_json::from_str(json).map_err(|why| wrong(why.to_string()))?;
        if format.format != FORMAT {
            let other = format.format;
            return Err(wrong(format!(
                "its data have format {other} and not {FORMAT}; write the report again with `ladder report`"
            )));
        }
        serde_json::from_str(json).map_err(|why| wrong(why.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_data_of_a_page_are_read_back() {
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
            ("<p>", "writes are missing"),
            (&*data.element().replace("\"format\":1", "\"format\":7"), "format 7 and not 1"),
            (&*data.element().replace("\"made\"", "made"), "key must be"),
        ] {
            let error = read(text).expect_err("the text is not a report");
            assert!(error.contains(why), "{error}");
        }
        std::fs::remove_dir_all(&folder).expect("the test made the folder");
    }
}
