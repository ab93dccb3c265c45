//! Names as their source has them: compilers of C++ and Rust mangle them.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// Bytes of a demangled name: a short mangled one can stand for exponentially many.
const MAX_NAME: usize = 1 << 16;

/// The name of a function or variable as its source has it, with the parameters of a C++ function but without its
/// return type, and without the hash of a Rust crate. A name that is not mangled stays as it is.
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

/// A name that a compiler of C++ has mangled, with the parts of it that `options` ask for.
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

/// A text that takes no more than [`MAX_NAME`] bytes.
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

/// A variable in words, by its name without the path: "variable `TILE`".
pub fn variable(name: &str) -> String {
    let name = demangled(name);
    match name.rsplit("::").next().unwrap_or_default() {
        // What `shared_array!` makes.
        "SHARED" => "a shared array".to_owned(),
        last if !last.is_empty() && last.chars().all(|c| c.is_alphanumeric() || c == '_') => {
            format!("variable `{last}`")
        }
        _ => format!("variable `{name}`"),
    }
}
