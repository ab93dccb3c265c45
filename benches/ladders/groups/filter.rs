//! Selects the benchmarks of the command line. Criterion does not expose its selection before a benchmark runs, but
//! preparing a benchmark takes seconds.

use regex::Regex;

/// Options of criterion's command line that take a value.
const WITH_VALUE: &str = "
    -b -c -s --baseline --baseline-lenient --color --colour --confidence-level --format --load-baseline
    --measurement-time --noise-threshold --nresamples --output-format --plotting-backend --profile-time --sample-size
    --save-baseline --significance-level --warm-up-time
";

/// The benchmarks that criterion's command line selects.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    chosen: FilterRule,
    is_listing: bool,
}

#[derive(Clone, Debug)]
enum FilterRule {
    All,
    None,
    Matching(Regex),
    Exactly(String),
}

impl Filter {
    /// Reads the arguments, without the program's name, in the same way as criterion.
    pub(crate) fn new(args: impl IntoIterator<Item = String>) -> Self {
        let (mut wanted, mut is_exact, mut is_listing, mut is_ignored) = (None, false, false, false);
        let has_value = |option: &str| WITH_VALUE.split_whitespace().any(|name| name == option);
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--exact" => is_exact = true,
                "--list" => is_listing = true,
                "--ignored" => is_ignored = true,
                option if has_value(option) => drop(args.next()),
                option if option.starts_with('-') => {}
                _ => wanted = Some(arg),
            }
        }
        let chosen = match wanted {
            _ if is_ignored => FilterRule::None,
            None => FilterRule::All,
            Some(wanted) if is_exact => FilterRule::Exactly(wanted),
            // Criterion rejects an invalid expression before any benchmark runs.
            Some(wanted) => Regex::new(&wanted).map_or(FilterRule::None, FilterRule::Matching),
        };
        Self { chosen, is_listing }
    }

    /// Returns whether a benchmark of a group is selected.
    pub(crate) fn takes(&self, group: &str, function: &str) -> bool {
        let id = format!("{group}/{function}");
        match &self.chosen {
            FilterRule::All => true,
            FilterRule::None => false,
            FilterRule::Matching(expression) => expression.is_match(&id),
            FilterRule::Exactly(wanted) => *wanted == id,
        }
    }

    /// Returns whether the filter names the CPU's groups, `cpu` or `simt`. On a computer with a GPU, those groups run
    /// only if they are named.
    pub(crate) fn names_cpu(&self) -> bool {
        let text = match &self.chosen {
            FilterRule::All | FilterRule::None => return false,
            FilterRule::Matching(expression) => expression.as_str(),
            FilterRule::Exactly(wanted) => wanted,
        };
        ["cpu", "simt"].iter().any(|name| text.contains(name))
    }

    /// Returns whether the command line only requests names.
    pub(crate) fn is_listing(&self) -> bool {
        self.is_listing
    }
}
