//! The exercises of a topic.

use serde_json::Value;

use crate::command::{Commands, OutputKind};

/// A list of the exercises with this topic, from `ladder learn --list --json`.
pub(crate) fn of(topic: &str, commands: &Commands) -> Result<String, String> {
    let printed = match commands.ended("learn --list --json", OutputKind::Text) {
        Ok(ended) => &ended.out,
        // A program without exercises.
        Err(why) if why.contains("unrecognized subcommand") => return Ok(String::new()),
        Err(why) => return Err(why),
    };
    let all: Value = serde_json::from_str(printed).map_err(|why| format!("`ladder learn --list --json`: {why}"))?;
    let text = |exercise: &Value, key: &str| exercise[key].as_str().unwrap_or_default().to_owned();
    let own = all.as_array().into_iter().flatten().filter(|exercise| text(exercise, "topic") == topic);
    let lines: Vec<String> = own.map(|exercise| format!("- `ladder learn {}`\n", text(exercise, "name"))).collect();
    if lines.is_empty() {
        return Err(format!("no exercise of `ladder learn` has the topic `{topic}`"));
    }
    Ok(format!("Each of these checks itself, without a GPU:\n\n{}", lines.concat()))
}
