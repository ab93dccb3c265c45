//! Lists the exercises of a topic.

use serde_json::Value;

use crate::command::{Commands, OutputKind};

/// Returns a list of the exercises with this topic, from `ladder learn --list --json`.
pub(crate) fn of(topic: &str, commands: &Commands) -> Result<String, String> {
    let printed = match commands.output("learn --list --json", OutputKind::Text) {
        Ok(output) => &output.out,
        // The program does not include the exercises.
        Err(why) if why.contains("unrecognized subcommand") => return Ok(String::new()),
        Err(why) => return Err(why),
    };
    let all: Value = serde_json::from_str(printed).map_err(|why| format!("`ladder learn --list --json`: {why}"))?;
    let text = |exercise: &Value, key: &str| exercise[key].as_str().unwrap_or_default().to_owned();
    let of_topic = all.as_array().into_iter().flatten().filter(|exercise| text(exercise, "topic") == topic);
    let lines: Vec<String> =
        of_topic.map(|exercise| format!("- `ladder learn {}`\n", text(exercise, "name"))).collect();
    if lines.is_empty() {
        return Err(format!("`ladder learn` has no exercise with topic `{topic}`"));
    }
    Ok(format!("These exercises check themselves, without a GPU:\n\n{}", lines.concat()))
}
