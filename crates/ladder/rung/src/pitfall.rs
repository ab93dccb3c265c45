//! The description of a pitfall: a common bug, a kernel with this bug, and a fixed version.

/// A faulty kernel, the fixed version of the kernel, and their description.
#[derive(Clone, Copy, Debug)]
pub struct Pitfall {
    /// The name of the pitfall and of the faulty kernel.
    pub name: &'static str,
    /// The name of the fixed version.
    pub fixed: &'static str,
    /// The file that contains both kernels, relative to the root of the repository: the `file!()` of that file.
    pub source: &'static str,
    /// The text of that file, in which lines are [marked](Pitfall::marked).
    pub text: &'static str,
    /// The sanitizer that must find the fault.
    pub check: Check,
    /// The lesson, in one line.
    pub lesson: &'static str,
    /// What happens on a GPU, in one line.
    pub on_gpu: &'static str,
    /// The number of blocks of a launch, and the number of threads per block.
    pub launch: (u32, u32),
    /// The bytes of dynamic shared memory per block for the faulty kernel and for the fixed version.
    pub shared: (u32, u32),
    /// The arguments of both kernels.
    pub arguments: &'static [Argument],
    /// Returns element `at` of the correct result, computed from the elements of the first argument that has data.
    pub right: fn(input: &[u32], at: usize) -> u32,
}

/// The simulator's sanitizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Reports accesses outside the object from which the pointer was derived.
    Memory,
    /// Reports uses of values that were never written.
    Init,
    /// Reports unordered accesses to the same bytes.
    Race,
    /// Reports threads that wait for threads that never arrive.
    Sync,
}

/// An argument of a pitfall's kernels. The elements are 32-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A pointer to this number of elements with data.
    Input(u32),
    /// A pointer to this number of elements with data, which the kernel replaces with the result.
    InPlace(u32),
    /// A pointer to this number of unwritten elements, for the result.
    Output(u32),
    /// A pointer to this number of zeros, to which the kernel adds the result.
    Sums(u32),
    /// A pointer to this number of unwritten elements.
    Unset(u32),
    /// A pointer to this number of zeros.
    Zeros(u32),
    /// A pointer to this number of zeros, which the host forgets to write before it launches the faulty kernel.
    Forgotten(u32),
    /// A pointer to this number of elements with data. The host frees the elements before it launches the faulty
    /// kernel, or after the fixed version has run.
    Freed(u32),
    /// A null pointer.
    Null,
}

/// The comment at the end of the faulty line in the faulty kernel.
pub const FAULT: &str = "// fault";

/// The comment at the end of the line with which the faulty line conflicts.
pub const OTHER: &str = "// other";

impl Check {
    /// All sanitizers.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Init, Self::Race, Self::Sync];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Init => "init",
            Self::Race => "race",
            Self::Sync => "sync",
        }
    }

    /// Describes the bugs that the sanitizer finds, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Memory => "accesses outside the object from which the pointer was derived",
            Self::Init => "values that depend on uninitialized memory or registers",
            Self::Race => "unordered accesses to the same bytes",
            Self::Sync => "threads that wait for threads that never arrive",
        }
    }
}

impl Argument {
    /// Returns the number of elements, or 0 for a null pointer.
    pub fn elements(self) -> u32 {
        match self {
            Self::Input(elements)
            | Self::InPlace(elements)
            | Self::Output(elements)
            | Self::Sums(elements)
            | Self::Unset(elements)
            | Self::Zeros(elements)
            | Self::Forgotten(elements)
            | Self::Freed(elements) => elements,
            Self::Null => 0,
        }
    }

    /// Returns whether this argument contains the result after the launch.
    pub fn is_result(self) -> bool {
        matches!(self, Self::InPlace(_) | Self::Output(_) | Self::Sums(_))
    }
}

impl Pitfall {
    /// Returns the number, starting at 1, of the first line that ends with this mark.
    pub fn marked(&self, mark: &str) -> Option<u32> {
        let place = self.text.lines().position(|line| line.trim_end().ends_with(mark))?;
        u32::try_from(place + 1).ok()
    }

    /// Returns the code on the first line that ends with this mark.
    pub fn marked_text(&self, mark: &str) -> Option<&'static str> {
        let line = self.text.lines().map(str::trim).find(|line| line.ends_with(mark))?;
        Some(line.trim_end_matches(mark).trim_end())
    }

    /// Returns whether the bug is in the host code: both kernels are correct, and their launches differ.
    pub fn is_of_host(&self) -> bool {
        let is_forgotten = |argument: &Argument| matches!(argument, Argument::Forgotten(_) | Argument::Freed(_));
        self.shared.0 != self.shared.1 || self.arguments.iter().any(is_forgotten)
    }
}
