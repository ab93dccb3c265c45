//! A program that consists of modules, in which each name has one definition. The kernels can be compiled in parts.
//!
//! A part contains some of the kernels and everything that they reach. Kernels of one Rust module are in the same part.
//! Kernels that share a variable must be in the same part too, because the use of the variable in one kernel affects
//! what the optimizer can assume in the other kernels.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use super::write::write;
use super::{Module, Symbol};
use crate::lower::ir::{Mention, global_name, mentions};

/// A symbol: the index of its module, and its index within the module.
type Place = (usize, usize);

/// Linked modules.
pub(crate) struct Program<'a> {
    modules: Vec<Module<'a>>,
    /// The definitions that other modules can use.
    shared: HashMap<&'a str, Place>,
    /// New names of local definitions, for each module.
    renamed: Vec<HashMap<&'a str, String>>,
}

/// A part of a program.
pub(crate) struct Piece<'p> {
    program: &'p Program<'p>,
    symbols: BTreeSet<Place>,
    /// The functions that other parts contain too. These functions become visible. Otherwise, the optimizer would
    /// assume that this part contains all calls to these functions, and would compile them differently than in the
    /// whole program.
    shared: HashSet<Cow<'p, str>>,
    /// The names of the functions and variables that the piece is compiled for, separated by commas.
    pub(crate) roots: String,
}

impl<'a> Program<'a> {
    /// Links modules of IR. The first `units` modules belong to one crate and are unoptimized output of rustc. Returns
    /// `None` if a module cannot be read or two modules cannot be linked. A definition comes from the first module that
    /// contains it.
    ///
    /// A function that several units define is the same in all these units. This does not hold for library modules,
    /// because an optimizer can have changed a local function's parameters.
    pub(crate) fn read(texts: &'a [String], units: usize) -> Option<Self> {
        let modules: Vec<_> = texts.iter().map(|text| Module::read(text)).collect::<Option<_>>()?;
        let mut types = HashMap::new();
        for (name, text) in
            modules.iter().flat_map(|module| &module.head).filter_map(|line| line.split_once(" = type "))
        {
            if *types.entry(name).or_insert(text) != text {
                return None;
            }
        }
        let mut shared = HashMap::new();
        let mut local: HashMap<&str, Vec<Place>> = HashMap::new();
        for (number, module) in modules.iter().enumerate() {
            for (index, symbol) in module.symbols.iter().enumerate() {
                if symbol.is_local {
                    local.entry(symbol.name).or_default().push((number, index));
                } else if !symbol.is_declaration {
                    shared.entry(symbol.name).or_insert((number, index));
                }
            }
        }
        let renamed = vec![HashMap::new(); modules.len()];
        let mut program = Self { modules, shared, renamed };
        program.rename(local, units);
        Some(program)
    }

    /// Renames local definitions that have the same name as another definition.
    fn rename(&mut self, local: HashMap<&'a str, Vec<Place>>, units: usize) {
        let mut open: Vec<_> = local.into_iter().collect();
        for (name, places) in &mut open {
            places.splice(..0, self.shared.get(name).copied());
        }
        // A renamed variable differs from a variable with the same text, and so do variables that mention it.
        loop {
            let before = open.len();
            open.retain(|(name, places)| {
                let others = places[1..].iter().zip(1..);
                let different = others.filter(|(place, _)| !self.are_same(places[0], **place, units));
                let new: Vec<_> =
                    different.map(|(place, count)| (place.0, format!("{name}.another.{count}"))).collect();
                let is_settled = new.is_empty();
                new.into_iter().for_each(|(module, new)| drop(self.renamed[module].insert(name, new)));
                is_settled
            });
            if open.len() == before {
                return;
            }
        }
    }

    fn symbol(&self, (module, symbol): Place) -> &Symbol<'a> {
        &self.modules[module].symbols[symbol]
    }

    /// Returns whether two definitions with the same name are interchangeable.
    fn are_same(&self, a: Place, b: Place, units: usize) -> bool {
        let (one, other) = (self.symbol(a), self.symbol(b));
        if one.is_function() || other.is_function() {
            return one.is_function() && other.is_function() && a.0 < units && b.0 < units;
        }
        let is_kept = |place: Place, name: &str| !self.renamed[place.0].contains_key(name);
        one.text == other.text
            && mentions(one.text).all(|(_, mention)| match mention {
                Mention::Symbol(name) => name == one.name || is_kept(a, name) && is_kept(b, name),
                Mention::Number(..) => false,
            })
    }

    /// Returns the name of a symbol in the program.
    fn name(&self, place: Place) -> Cow<'a, str> {
        let name = self.symbol(place).name;
        self.renamed[place.0].get(name).map_or(Cow::Borrowed(name), |new| Cow::Owned(new.clone()))
    }

    /// Returns the definition that a name refers to in a module.
    fn resolved(&self, module: usize, name: &str) -> Option<Place> {
        let in_module = self.modules[module].numbers.get(name).map(|index| (module, *index));
        let is_local = in_module.is_some_and(|place| self.symbol(place).is_local);
        if is_local { in_module } else { self.shared.get(name).copied().or(in_module) }
    }

    /// Returns the definitions that are used from outside the program, mainly kernels.
    fn roots(&self) -> Vec<Place> {
        let mut roots: Vec<_> =
            self.shared.values().copied().filter(|place| self.symbol(*place).is_exported()).collect();
        roots.sort_unstable();
        roots
    }

    /// Returns all symbols that a root reaches. Fills `uses` with the symbols that each symbol uses.
    fn reached(&self, root: Place, uses: &mut HashMap<Place, Vec<Place>>) -> BTreeSet<Place> {
        let mut reached = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(place) = open.pop() {
            let used = uses.entry(place).or_insert_with(|| {
                let used = |(_, mention)| match mention {
                    Mention::Symbol(name) => self.resolved(place.0, name),
                    Mention::Number(..) => None,
                };
                mentions(self.symbol(place).text).filter_map(used).collect()
            });
            open.extend(used.iter().filter(|used| reached.insert(**used)));
        }
        reached
    }

    /// Returns the whole program as one piece, without the symbols that no kernel reaches, such as most of `core`.
    pub(crate) fn whole(&self) -> Piece<'_> {
        let mut uses = HashMap::new();
        let roots = self.roots();
        let symbols = roots.iter().flat_map(|root| self.reached(*root, &mut uses)).collect();
        Piece { program: self, symbols, shared: HashSet::new(), roots: self.names(&roots) }
    }

    fn names(&self, places: &[Place]) -> String {
        places.iter().map(|place| self.symbol(*place).name).collect::<Vec<_>>().join(",")
    }

    /// Returns the program in pieces, or no pieces if it has no kernels.
    pub(crate) fn pieces(&self) -> Vec<Piece<'_>> {
        let mut uses = HashMap::new();
        let reached: Vec<_> = self.roots().into_iter().map(|root| (root, self.reached(root, &mut uses))).collect();
        // Kernels are in the same group if they share a Rust module or a variable.
        let mut group: Vec<usize> = (0..reached.len()).collect();
        let mut first: HashMap<(bool, Place), usize> = HashMap::new();
        for (index, (root, symbols)) in reached.iter().enumerate() {
            let scope = (root.0, self.modules[root.0].scope(self.symbol(*root).text));
            let states = symbols.iter().filter(|place| self.symbol(**place).is_state());
            let keys = states.map(|state| (true, *state));
            for key in keys.chain([(false, scope)]) {
                let (from, to) = (group[index], group[*first.entry(key).or_insert(index)]);
                group.iter_mut().filter(|number| **number == from).for_each(|number| *number = to);
            }
        }
        let mut groups: BTreeMap<usize, (Vec<Place>, BTreeSet<Place>)> = BTreeMap::new();
        for ((root, symbols), group) in reached.iter().zip(group) {
            let (roots, all) = groups.entry(group).or_default();
            roots.push(*root);
            all.extend(symbols);
        }
        // Several modules can contain the same function.
        let names = |symbols: &BTreeSet<Place>| symbols.iter().map(|place| self.name(*place)).collect::<HashSet<_>>();
        let names: Vec<_> = groups.values().map(|(_, symbols)| names(symbols)).collect();
        let mut users: HashMap<&str, usize> = HashMap::new();
        for name in names.iter().flatten() {
            *users.entry(name).or_default() += 1;
        }
        let pieces = groups.into_values().zip(&names).map(|((roots, symbols), names)| {
            let shared = names.iter().filter(|name| users[&***name] > 1).cloned().collect();
            Piece { program: self, symbols, shared, roots: self.names(&roots) }
        });
        pieces.collect()
    }
}

impl Piece<'_> {
    /// Returns the text of a module with everything in the piece.
    pub(crate) fn ir(&self) -> String {
        let program = self.program;
        let mut written = HashSet::new();
        let mut sources: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (module, symbol) in self.symbols.iter().filter(|place| written.insert(program.name(**place))) {
            sources.entry(*module).or_default().insert(*symbol);
        }
        let modules: Vec<_> = sources.keys().copied().collect();
        let sources: Vec<_> =
            sources.into_iter().map(|(module, symbols)| (&program.modules[module], symbols)).collect();
        write(
            &sources,
            |source, symbol| {
                let place = (modules[source], symbol);
                self.text(place, self.shared.contains(&program.name(place)))
            },
            |source, name| program.renamed[modules[source]].get(name).map(String::as_str),
        )
    }

    /// Returns a short key of everything that [`ir`](Self::ir) depends on. `of_module` returns a key of a module's
    /// text.
    pub(crate) fn key(&self, of_module: impl Fn(usize) -> u128) -> String {
        let mut key = self.roots.clone();
        let mut last = None;
        for place in &self.symbols {
            if last != Some(place.0) {
                last = Some(place.0);
                let _ = write!(key, "\n{:032x}", of_module(place.0));
                let renamed: BTreeMap<_, _> = self.program.renamed[place.0].iter().collect();
                let _ = write!(key, " {renamed:?}");
            }
            let is_shared = self.shared.contains(&self.program.name(*place));
            let _ = write!(key, " {} {}", place.1, u8::from(is_shared));
        }
        key
    }

    /// Returns the text of a symbol in two parts: the replacement for its start, and the rest.
    fn text(&self, place: Place, is_shared: bool) -> (Cow<'_, str>, &str) {
        const LINKAGE: [&str; 4] = ["internal", "hidden", "protected", "dso_local"];
        let symbol = self.program.symbol(place);
        let becomes_visible =
            is_shared && symbol.is_function() && !self.program.modules[place.0].is_called(symbol.text);
        if symbol.is_declaration || symbol.is_exported() || symbol.is_local && !becomes_visible {
            return (Cow::Borrowed(""), symbol.text);
        }
        let (start, linkage, rest) = symbol.split();
        let others = linkage.split(' ').filter(|word| !LINKAGE.contains(word));
        let others = others.filter(|word| !becomes_visible || *word != "private").collect::<Vec<_>>().join(" ");
        let new = if becomes_visible { "" } else { "internal " };
        (Cow::Owned(format!("{start}{new}{others}")), rest)
    }
}

impl<'a> Symbol<'a> {
    /// Returns whether a definition is used from outside Rust code. Such definitions have `#[unsafe(no_mangle)]`, like
    /// kernels.
    fn is_exported(&self) -> bool {
        let is_visible = !self.is_local && !self.is_declaration && is_exported_name(self.name);
        is_visible && !self.split().1.split(' ').any(|word| word == "hidden")
    }

    /// Returns whether the symbol is a variable that is written or visible outside. All users of such a variable must
    /// be in the same part.
    fn is_state(&self) -> bool {
        !self.is_function() && !self.is_declaration && (!self.is_constant || self.is_exported())
    }

    fn is_function(&self) -> bool {
        !self.text.starts_with('@')
    }

    /// Splits the text of a definition into three parts: its start, the words that include its linkage and visibility,
    /// and the rest.
    fn split(&self) -> (&'a str, &'a str, &'a str) {
        let text = self.text;
        let (start, end) = match self.is_function() {
            true => ("define ".len(), text.find('@')),
            false => {
                let ends = ["global ", "constant "].iter().filter_map(|kind| text.find(kind));
                (text.find(" = ").map_or(0, |at| at + 3), ends.min())
            }
        };
        let end = end.unwrap_or(start).max(start);
        (&text[..start], &text[start..end], &text[end..])
    }
}

/// Returns the names that a module uses but does not define, except for LLVM's intrinsics.
pub(crate) fn undefined(text: &str) -> impl Iterator<Item = &str> {
    let names = text.lines().filter_map(|line| {
        let is_variable = line.starts_with('@') && line.contains(" = external ");
        let at = line.find('@').filter(|_| is_variable || line.starts_with("declare "))?;
        global_name(&line[at..]).map(|(name, _)| name)
    });
    names.filter(|name| !name.starts_with("llvm."))
}

/// Returns whether a symbol of this name is used from outside Rust code.
pub(crate) fn is_exported_name(name: &str) -> bool {
    !name.starts_with("_R") && !name.starts_with("_ZN")
}

#[cfg(test)]
mod tests;
