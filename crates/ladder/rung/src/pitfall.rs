//! The description of a pitfall: a fault that people make, a kernel that has it, and the cure.

/// A kernel with one fault, beside it the kernel without, and what is to be said of them.
#[derive(Clone, Copy, Debug)]
pub struct Pitfall {
    /// The name of the pitfall and of the faulty kernel.
    pub name: &'static str,
    /// The name of the kernel without the fault.
    pub cure: &'static str,
    /// The file with both kernels, relative to the root of the repository: the `file!()` of that file.
    pub source: &'static str,
    /// The text of that file, in which lines are [marked](Pitfall::marked).
    pub text: &'static str,
    /// The check of the simulator that has to find the fault.
    pub check: Check,
    /// The lesson that it teaches, in one line.
    pub lesson: &'static str,
    /// What happens on a GPU, in one line.
    pub on_gpu: &'static str,
    /// The blocks of a launch, and the threads of a block.
    pub launch: (u32, u32),
    /// The bytes of dynamic shared memory that the launches of the faulty kernel and of the cure ask for.
    pub shared: (u32, u32),
    /// The arguments of both kernels.
    pub arguments: &'static [Argument],
    /// Element `at` of the right result, computed from the elements of the first argument that has some.
    pub right: fn(input: &[u32], at: usize) -> u32,
}

/// The checks of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Every access is inside of the object that its pointer came from.
    Memory,
    /// Nothing depends on a value that was never written.
    Init,
    /// Accesses to the same bytes are ordered.
    Race,
    /// Threads that wait for one another meet.
    Sync,
}

/// An argument of a pitfall's kernels. The elements are 32-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A pointer to so many elements with data.
    Input(u32),
    /// A pointer to so many elements with data, which the kernel replaces by the result.
    InPlace(u32),
    /// A pointer to so many elements that nobody has written, for the result.
    Output(u32),
    /// A pointer to so many zeros, to which the kernel adds the result.
    Sums(u32),
    /// A pointer to so many elements that nobody has written.
    Unset(u32),
    /// A pointer to so many zeros.
    Zeros(u32),
    /// A pointer to so many zeros, which the host forgets to write before it launches the faulty kernel.
    Forgotten(u32),
    /// A pointer to so many elements with data, which the host frees before it launches the faulty kernel, and after
    /// the cure has run.
    Freed(u32),
    /// A null pointer.
    Null,
}

/// The mark of the line of the faulty kernel that has the fault, as a comment at the line's end.
pub const FAULT: &str = "// fault";

/// The mark of the line that the faulty one gets in the way of.
pub const OTHER: &str = "// other";

impl Check {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Init, Self::Race, Self::Sync];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Init => "init",
            Self::Race => "race",
            Self::Sync => "sync",
        }
    }

    /// What the check looks for, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Memory => "accesses outside of the object that the pointer came from",
            Self::Init => "values that depend on uninitialized memory or registers",
            Self::Race => "accesses to the same bytes that nothing orders",
            Self::Sync => "threads that wait for others in a way in which they do not meet",
        }
    }
}

impl Argument {
    /// The number of elements: 0 for a pointer to nothing.
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

    /// Whether the result is there after the launch.
    pub fn is_result(self) -> bool {
        matches!(self, Self::InPlace(_) | Self::Output(_) | Self::Sums(_))
    }
}

impl Pitfall {
    /// The number of the first line, from 1, that ends with this mark.
    pub fn marked(&self, mark: &str) -> Option<u32> {
        let place = self.text.lines().position(|line| line.trim_end().ends_with(mark))?;
        u32::try_from(place + 1).ok()
    }

    /// The code of the first line that ends with this mark.
    pub fn marked_text(&self, mark: &str) -> Option<&'static str> {
        let line = self.text.lines().map(str::trim).find(|line| line.ends_with(mark))?;
        Some(line.trim_end_matches(mark).trim_end())
    }

    /// Whether the bug is in the host's code: both kernels are right, and their launches differ.
    pub fn is_of_host(&self) -> bool {
        let is_forgotten = |own: &Argument| matches!(own, Argument::Forgotten(_) | Argument::Freed(_));
        self.shared.0 != self.shared.1 || self.arguments.iter().any(is_forgotten)
    }
}
