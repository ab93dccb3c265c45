//! Demangles the names of C++ and Rust functions and variables.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// The maximum size of a demangled name in bytes. A short mangled name can expand exponentially.
const MAX_NAME: usize = 1 << 16;

/// Returns the name of a function or variable in its source. A C++ function's name includes its parameters but not its
/// return type; a Rust name omits the crate's hash. A name that is not mangled is returned unchanged.
///
/// ```
/// use simt::demangled;
///
/// assert_eq!(demangled("_Z5scaleIfEvPT_i"), "scale<float>(float*, int)");
/// assert_eq!(demangled("_RNvNtCsgJ6ytTPJmYV_4core9panicking9panic_fmt"), "core::panicking::panic_fmt");
/// assert_eq!(demangled("_ZN4core9panicking9panic_fmt17h0123456789abcdefE"), "core::panicking::panic_fmt");
/// assert_eq!(demangled("saxpy"), "saxpy");
/// ```
pub fn demangled(name: &str) -> String {
    with_options(name, DemangleOptions::new().no_return_type())
}

/// Returns the demangled name, formatted with `options`.
pub(crate) fn with_options(name: &str, options: DemangleOptions) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    let symbol = name.starts_with("_Z").then(|| Symbol::new(name).ok());
    let text = symbol.flatten().and_then(|symbol| {
        let mut text = Bounded(String::new());
        symbol.structured_demangle(&mut text, &options).ok()?;
        Some(text.0)
    });
    text.unwrap_or_else(|| name.to_owned())
}

/// A text of at most [`MAX_NAME`] bytes.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Describes a variable by its name without the path: "variable `TILE`".
pub fn variable(name: &str) -> String {
    let name = demangled(name);
    match name.rsplit("::").next().unwrap_or_default() {
        // The name that `shared_array!` generates.
        "SHARED" => "a shared array".to_owned(),
        last if !last.is_empty() && last.chars().all(|c| c.is_alphanumeric() || c == '_') => {
            format!("variable `{last}`")
        }
        _ => format!("variable `{name}`"),
    }
}
