//! The PTX of the kernels, one text per architecture.

use std::borrow::Cow;
use std::fs::File;
use std::sync::OnceLock;

use ptx::Outline;
use ptx::ast::{Linkage, Space, Statement, Variable};
use ptx::extract::{SourceLines, extract};

use crate::Error;

/// The source of a PTX text.
#[derive(Debug)]
enum Source {
    Embedded(&'static str),
    File(&'static str),
    /// Compiles the kernels and returns the PTX or the compiler's messages.
    OnRequest(fn() -> Result<String, String>),
}

/// The PTX of the kernels for one architecture.
#[derive(Debug)]
pub struct Ptx {
    /// The compute capability that the text is compiled for, major and minor.
    pub capability: (u32, u32),
    /// Whether only devices of exactly that compute capability can run the text (`sm_90a`). Otherwise, newer devices
    /// can run the text too (PTX ISA, `.target`).
    pub only: bool,
    source: Source,
    outline: OnceLock<Outline<'static>>,
}

impl Ptx {
    /// Creates a text for devices of at least this compute capability.
    pub const fn new(capability: (u32, u32), text: &'static str) -> Self {
        Self::from(capability, Source::Embedded(text))
    }

    /// Creates a text that is read from a file in the program's build folder, for development builds. After a kernel is
    /// edited, tens of megabytes of text then need not be compiled and linked.
    pub const fn in_file(capability: (u32, u32), path: &'static str) -> Self {
        Self::from(capability, Source::File(path))
    }

    /// Creates a text that `compile` generates when the program first needs it, because a build only compiles the
    /// kernels for one architecture.
    pub const fn on_request(capability: (u32, u32), compile: fn() -> Result<String, String>) -> Self {
        Self::from(capability, Source::OnRequest(compile))
    }

    const fn from(capability: (u32, u32), source: Source) -> Self {
        Self { capability, only: false, source, outline: OnceLock::new() }
    }

    /// Restricts the text to devices of exactly this compute capability.
    #[must_use]
    pub const fn only(mut self) -> Self {
        self.only = true;
        self
    }

    /// Checks that the text's file exists, if the text is in a file.
    ///
    /// # Errors
    /// Returns [`Error::NoKernels`] when the program's build folder no longer exists.
    pub(crate) fn check_readable(&self) -> Result<(), Error> {
        match self.source {
            Source::Embedded(_) | Source::OnRequest(_) => Ok(()),
            Source::File(path) => {
                let opened = File::open(path).map(drop);
                opened.map_err(|error| Error::NoKernels { path, reason: error.to_string() })
            }
        }
    }

    /// Returns the outline of the text, with the positions of its entries. The first call reads or compiles the text.
    ///
    /// # Errors
    /// Returns [`Error::NoKernels`] when the file cannot be read, [`Error::Compile`] when the kernels do not compile
    /// for this architecture.
    pub fn read(&self) -> Result<&Outline<'static>, Error> {
        if let Some(outline) = self.outline.get() {
            return Ok(outline);
        }
        let outline = match self.source {
            Source::Embedded(text) => Outline::new(text),
            Source::File(path) => {
                let text = std::fs::read_to_string(path);
                Outline::new(text.map_err(|error| Error::NoKernels { path, reason: error.to_string() })?)
            }
            Source::OnRequest(compile) => {
                let compiled = compile();
                Outline::new(compiled.map_err(|messages| Error::Compile { arch: self.arch("compute"), messages })?)
            }
        };
        Ok(self.outline.get_or_init(|| outline))
    }

    /// Returns the newest text in `all` that a device with this compute capability can run, or the last text for
    /// `None`. `all` must be sorted.
    pub fn newest(all: &[Self], capability: Option<(u32, u32)>) -> Option<&Self> {
        all.iter().rfind(|ptx| capability.is_none_or(|device_capability| ptx.runs_on(device_capability)))
    }

    /// Returns whether a device with this compute capability can run the text.
    pub fn runs_on(&self, capability: (u32, u32)) -> bool {
        if self.only { capability == self.capability } else { capability >= self.capability }
    }

    /// Returns NVIDIA's name for the text's architecture, with this prefix: `sm_90a`, `compute_90a`.
    pub fn arch(&self, prefix: &str) -> String {
        let ((major, minor), suffix) = (self.capability, if self.only { "a" } else { "" });
        format!("{prefix}_{major}{minor}{suffix}")
    }

    /// Returns the architecture that `ptxas` assembles the text for when a device of the architecture `wanted`, such as
    /// `sm_90`, runs it.
    pub fn assembled_for(&self, wanted: &str) -> String {
        if self.only { self.arch("sm") } else { wanted.to_owned() }
    }

    /// Returns the text.
    ///
    /// # Panics
    /// Panics when [`read`](Self::read) fails.
    pub fn text(&'static self) -> &'static str {
        self.outline().text()
    }

    /// Returns the outline of the text, with the positions of its entries.
    ///
    /// # Panics
    /// Panics when [`read`](Self::read) fails, which cannot happen for the result of
    /// [`Kernels::newest_for`](crate::Kernels::newest_for).
    pub fn outline(&self) -> &Outline<'static> {
        self.read().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns whether the text can be read and has this entry.
    pub fn has_entry(&self, entry: &str) -> bool {
        self.read().is_ok_and(|outline| outline.has_entry(entry))
    }

    /// Returns the text of one entry with all its dependencies, without source lines. If the entry cannot be extracted,
    /// the result is the whole text.
    ///
    /// # Panics
    /// Panics when [`read`](Self::read) fails.
    pub fn part(&'static self, entry: &str) -> Cow<'static, str> {
        extract(self.outline(), entry, SourceLines::Drop).map_or(Cow::Borrowed(self.text()), Cow::Owned)
    }

    /// Returns the same text as [`part`](Self::part), but with source lines.
    ///
    /// # Panics
    /// Panics when [`read`](Self::read) fails.
    pub fn part_with_lines(&'static self, entry: &str) -> Cow<'static, str> {
        extract(self.outline(), entry, SourceLines::Keep).map_or(Cow::Borrowed(self.text()), Cow::Owned)
    }

    /// Returns the bytes of shared memory that an entry and the functions that it calls declare statically. Returns
    /// `None` if the text has no such entry or the entry cannot be extracted.
    ///
    /// # Panics
    /// Panics when [`read`](Self::read) fails.
    pub fn static_shared_bytes(&'static self, entry: &str) -> Option<u32> {
        let outline = self.outline();
        let text = outline.has_entry(entry).then(|| extract(outline, entry, SourceLines::Drop))??;
        static_shared_bytes(&text)
    }
}

/// Returns the bytes of all shared-memory variables that a text declares, each placed at the next address that
/// satisfies its alignment. `.extern` variables declare dynamic shared memory, which the launch sizes (PTX ISA §10.6.1,
/// `.extern`). Dynamic shared memory starts at the next address that satisfies its alignment, so `ptxas` counts the
/// bytes up to that address.
fn static_shared_bytes(text: &str) -> Option<u32> {
    let module = ptx::parse(text).ok()?;
    let (mut bytes, mut dynamic_align) = (0u64, 1);
    let mut add = |variable: &Variable<'_>| -> Option<()> {
        if variable.space == Space::Shared {
            // The name of a type such as `b8` or `u64` ends with its width in bits.
            let bits: u64 = variable.ty.trim_start_matches(|c: char| c.is_alphabetic()).parse().ok()?;
            let element = bits / 8 * u64::from(variable.vector);
            let align = variable.align.map_or(element, u64::from).max(1);
            if variable.linkage == Linkage::Extern {
                dynamic_align = align.max(dynamic_align);
            } else {
                let elements: Option<u64> = variable.dims.iter().copied().product();
                bytes = bytes.next_multiple_of(align) + element * elements?;
            }
        }
        Some(())
    };
    module.variables.iter().try_for_each(&mut add)?;
    let mut bodies = module.functions.iter().filter_map(|function| function.body.as_deref());
    bodies.try_for_each(|body| variables(body, &mut add))?;
    u32::try_from(bytes.next_multiple_of(dynamic_align)).ok()
}

/// Calls `add` with the variables that the statements and their nested scopes declare.
fn variables(statements: &[Statement<'_>], add: &mut impl FnMut(&Variable<'_>) -> Option<()>) -> Option<()> {
    statements.iter().try_for_each(|statement| match statement {
        Statement::Variable(variable) => add(variable),
        Statement::Scope(inner) => variables(inner, add),
        _ => Some(()),
    })
}

#[cfg(test)]
mod tests {
    use super::Ptx;
    use crate::device::{Choice, open};
    use crate::{Error, Kernels};

    #[test]
    fn missing_kernels_are_reported_before_anything_runs() {
        static GONE: [Ptx; 2] = [Ptx::new((7, 5), ""), Ptx::in_file((8, 0), "/none/kernels.compute_80.ptx")];
        static KERNELS: Kernels = Kernels { modules: &GONE, host_compiler: "", build_folder: "", package_folder: "" };
        let error = open(Choice::Sim, &KERNELS).err().expect("there is no such file");
        assert!(matches!(error, Error::NoKernels { .. }), "{error}");
        assert!(error.to_string().contains("/none/kernels.compute_80.ptx"), "{error}");
    }

    #[test]
    fn static_shared_memory_ends_where_dynamic_shared_memory_begins() {
        let bytes = |dynamic: &str| {
            let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
            super::static_shared_bytes(&format!(
                "{header}{dynamic}.entry k() {{ .shared .align 4 .b8 words[40]; ret; }}\n"
            ))
        };
        assert_eq!(bytes(""), Some(40));
        assert_eq!(bytes(".extern .shared .align 16 .b8 dynamic[];\n"), Some(48));
    }

    #[test]
    fn kernels_for_an_older_device_are_compiled_when_they_are_needed() {
        static MODULES: [Ptx; 3] = [
            Ptx::on_request((7, 5), || Err("error: no such instruction".to_owned())),
            Ptx::on_request((8, 0), || Ok(".version 7.0\n.target sm_80\n.entry old() { ret; }\n".to_owned())),
            Ptx::new((9, 0), ".version 8.0\n.target sm_90a\n.entry old() { ret; }\n.entry new() { ret; }\n").only(),
        ];
        static KERNELS: Kernels =
            Kernels { modules: &MODULES, host_compiler: "", build_folder: "", package_folder: "" };
        let compiled =
            KERNELS.newest_for(Some((8, 6))).expect("it compiles").expect("a device of 8.6 runs code for 8.0");
        assert_eq!((compiled.capability, compiled.has_entry("old"), compiled.has_entry("new")), ((8, 0), true, false));
        let error = KERNELS.newest_for(Some((7, 5))).expect_err("it does not compile");
        assert_eq!(error.to_string(), "the kernels do not compile for compute_75\n\nerror: no such instruction");
        assert!(!MODULES[0].has_entry("old"));
    }

    #[test]
    fn static_shared_memory_includes_called_functions() {
        static PTX: Ptx = Ptx::new(
            (7, 5),
            ".version 7.8\n.target sm_75\n.address_size 64\n\
             .shared .align 4 .b8 tile[6];\n.shared .align 8 .u64 sums[2];\n.shared .u32 others;\n\
             .extern .shared .align 16 .b8 dynamic[];\n\
             .func part()\n{\n.reg .u32 %r;\nmov.u32 %r, others;\nret;\n}\n\
             .visible .entry both()\n{\n.reg .u32 %r;\nmov.u32 %r, tile;\nmov.u32 %r, sums;\ncall part, ();\nret;\n}\n\
             .visible .entry inner()\n{\n.shared .v2 .f32 pairs[3];\n.reg .u32 %r;\nmov.u32 %r, pairs;\n\
             mov.u32 %r, dynamic;\nret;\n}\n\
             .visible .entry none()\n{\nret;\n}\n",
        );
        let bytes = |entry| PTX.static_shared_bytes(entry);
        // `inner` declares 24 bytes, and dynamic shared memory starts at the next multiple of 16.
        assert_eq!([bytes("both"), bytes("inner"), bytes("none")], [Some(28), Some(32), Some(0)]);
        assert_eq!(bytes("other"), None);
    }

    #[test]
    fn a_text_in_a_file_is_read() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        static IN_FILE: Ptx = Ptx::in_file((9, 0), concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).only();
        assert_eq!(IN_FILE.text(), std::fs::read_to_string(file).expect("this package's"));
        assert_eq!((IN_FILE.arch("sm"), IN_FILE.runs_on((10, 0))), ("sm_90a".to_owned(), false));
    }
}
