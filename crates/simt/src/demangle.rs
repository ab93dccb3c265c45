//! Names as their source has them: compilers of C++ and Rust mangle them.

use cpp_demangle::{DemangleOptions, Symbol};

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
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    let options = DemangleOptions::new().no_return_type();
    let cpp = name.starts_with("_Z").then(|| Symbol::new(name).ok());
    let text = cpp
        .flatten()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok());
    text.unwrap_or_else(|| name.to_owned())
}
