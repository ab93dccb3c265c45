//! Keyboard events of the Chrome DevTools Protocol.

use serde_json::{Value, json};

/// The named keys: the name, the `keyCode`, and the text that the key types.
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

/// Returns the events that press and release a key: `a`, `Tab`, `Shift+Tab`.
///
/// # Panics
/// Panics when there is no such key.
#[track_caller]
pub(crate) fn events(key: &str) -> [Value; 2] {
    let (held, name) = key.rsplit_once('+').filter(|(held, _)| !held.is_empty()).unwrap_or(("", key));
    let held = held.split('+').filter(|held| !held.is_empty());
    let modifiers: u32 = held.map(modifier).sum();
    let (code, number, text) = match NAMED.iter().find(|named| named.0 == name) {
        Some((name, number, text)) => ((*name).to_owned(), *number, (*text).to_owned()),
        None => {
            assert_eq!(name.chars().count(), 1, "no key is named `{name}`");
            let upper = name.to_uppercase();
            (format!("Key{upper}"), upper.chars().next().map_or(0, u32::from), name.to_owned())
        }
    };
    // `Space` is the name of the key's position on the keyboard, not the key's value.
    let key = if name == "Space" { " " } else { name };
    // A key types no text while Ctrl, Alt or Meta is pressed.
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
        _ => panic!("`{name}` is not a modifier key"),
    }
}
