//! Keys, as the protocol has them.

use serde_json::{Value, json};

/// A key with a name: its number in `keyCode`, and the text that it writes.
const NAMED: [(&str, u32, &str); 14] = [
    ("Tab", 9, ""),
    ("Enter", 13, "\r"),
    ("Space", 32, " "),
    ("Escape", 27, ""),
    ("Backspace", 8, ""),
    ("Delete", 46, ""),
    ("PageUp", 33, ""),
    ("PageDown", 34, ""),
    ("End", 35, ""),
    ("Home", 36, ""),
    ("ArrowLeft", 37, ""),
    ("ArrowRight", 39, ""),
    ("ArrowUp", 38, ""),
    ("ArrowDown", 40, ""),
];

/// The events of a key that is pressed and let go: `a`, `Tab`, `Shift+Tab`.
///
/// # Panics
/// When there is no such key.
#[track_caller]
pub(crate) fn events(key: &str) -> [Value; 2] {
    let (held, name) = key.rsplit_once('+').filter(|(held, _)| !held.is_empty()).unwrap_or(("", key));
    let held = held.split('+').filter(|held| !held.is_empty());
    let modifiers: u32 = held.map(modifier).sum();
    let (code, number, text) = match NAMED.iter().find(|own| own.0 == name) {
        Some((name, number, text)) => ((*name).to_owned(), *number, (*text).to_owned()),
        None => {
            assert_eq!(name.chars().count(), 1, "no key is named `{name}`");
            let upper = name.to_uppercase();
            (format!("Key{upper}"), upper.chars().next().map_or(0, u32::from), name.to_owned())
        }
    };
    // Space is the name of a place on the keyboard, and not of what the key gives.
    let key = if name == "Space" { " " } else { name };
    // With Ctrl, Alt or Meta, a key writes nothing.
    let text = if modifiers & !SHIFT == 0 { text } else { String::new() };
    ["keyDown", "keyUp"].map(|kind| {
        json!({
            "type": if kind == "keyDown" && text.is_empty() { "rawKeyDown" } else { kind },
            "key": key,
            "code": code,
            "windowsVirtualKeyCode": number,
            "text": if kind == "keyDown" { text.as_str() } else { "" },
            "modifiers": modifiers,
        })
    })
}

const SHIFT: u32 = 8;

#[track_caller]
fn modifier(name: &str) -> u32 {
    match name {
        "Alt" => 1,
        "Ctrl" => 2,
        "Meta" => 4,
        "Shift" => SHIFT,
        _ => panic!("`{name}` is not held while another key is pressed"),
    }
}
