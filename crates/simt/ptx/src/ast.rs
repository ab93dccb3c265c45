//! The syntax tree of a PTX module. Names are not resolved; types and opcodes are words of the text.
//!
//! The tree borrows from the text. Positions are byte offsets into the text; [`Source`](crate::Source) converts them to
//! lines and columns.

use std::borrow::Cow;

/// A position in the text: the byte offset of a token's first character.
pub type At = u32;

/// A range of the text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: At,
    /// The offset after the last byte.
    pub end: At,
}

impl Span {
    /// Returns the text of this range. `text` must be the parsed text; for another text, the result may be empty.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A whole module (PTX ISA §5, "State Spaces, Types, and Variables"; §11, "Directives").
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Module<'a> {
    /// The version: (7, 8) for `.version 7.8`.
    pub version: (u32, u32),
    /// The targets: `["sm_75", "debug"]` for `.target sm_75, debug`.
    pub target: Vec<&'a str>,
    /// The number in `.address_size`, or 32 by default.
    pub address_size: u32,
    /// The `.file` directives: number and name. An octal number such as `\303` in the name is a byte of a non-ASCII
    /// character.
    pub files: Vec<(u32, Cow<'a, str>)>,
    /// The module-scope variables, in order.
    pub variables: Vec<Variable<'a>>,
    /// The entries and functions in order, including declarations.
    pub functions: Vec<Function<'a>>,
    /// The bodies of `.section` directives, unparsed: name and text.
    pub sections: Vec<(&'a str, &'a str)>,
    /// `.alias name, function;` directives: the alias and its function.
    pub aliases: Vec<(&'a str, &'a str)>,
}

/// The linkage: `.extern`, `.visible`, `.weak`, `.common`, or none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the variants are the directives")]
pub enum Linkage {
    #[default]
    Internal,
    Extern,
    Visible,
    Weak,
    Common,
}

/// A state space (PTX ISA §5.1), as named in a declaration or in an instruction's modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the directives")]
pub enum Space {
    Reg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
}

impl Space {
    const NAMES: [(Self, &'static str); 7] = [
        (Self::Reg, "reg"),
        (Self::Const, "const"),
        (Self::Global, "global"),
        (Self::Local, "local"),
        (Self::Param, "param"),
        (Self::Shared, "shared"),
        (Self::Tex, "tex"),
    ];

    /// Returns the space with this name, without the dot: `shared`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Returns the name, without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// A declared variable or parameter: `.shared .align 4 .b8 tile[512]`, `.param .u64 .ptr .align 1 p`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable<'a> {
    /// The linkage.
    pub linkage: Linkage,
    /// The state space.
    pub space: Space,
    /// `.align`, in bytes. An alignment after `.ptr` is not recorded, because it is the alignment of the memory that
    /// the parameter points to.
    pub align: Option<u32>,
    /// The element type without the dot: `b8`, `f32`, `pred`.
    pub ty: &'a str,
    /// The number of elements of a vector (`.v2`, `.v4` or `.v8`), or 1.
    pub vector: u32,
    /// The name.
    pub name: &'a str,
    /// The place of the name.
    pub at: At,
    /// The array sizes, outermost first; `None` for `[]`. The list is empty for a scalar.
    pub dims: Vec<Option<u64>>,
    /// The initializer, if there is one.
    pub init: Option<Init<'a>>,
    /// `.attribute(.managed)`: the host also accesses the variable.
    pub is_managed: bool,
    /// `.ptr`: the parameter is the address of memory.
    pub is_pointer: bool,
    /// For a parameter, the comment on the rest of its line: ` rust: n: u32` for `// rust: n: u32`. For other
    /// variables, empty.
    pub comment: &'a str,
}

/// An initializer (PTX ISA §5.4.4).
#[derive(Debug, Clone, PartialEq)]
pub enum Init<'a> {
    /// A number.
    Number(Number),
    /// `{ … }`
    List(Vec<Init<'a>>),
    /// An address: `name`, `name+8`, `generic(name)+8`.
    Address {
        /// The variable or function.
        name: &'a str,
        /// The offset in bytes.
        offset: i64,
        /// Whether the address is written `generic(name)`.
        generic: bool,
    },
    /// `mask(address)`: one byte of an address (`0xff00` selects the second byte).
    Mask {
        /// The mask, which selects a byte.
        mask: u64,
        /// The address or number.
        of: Box<Init<'a>>,
    },
}

/// A number in PTX notation (PTX ISA §4.5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer in two's complement, with the sign applied.
    Integer(u64),
    /// `0f3f800000`: the bits of an f32.
    F32(u32),
    /// `0d3ff0000000000000`, or a decimal such as `1.0`: the bits of an f64.
    F64(u64),
}

/// `.entry` or `.func`.
#[derive(Debug, Clone, PartialEq)]
pub struct Function<'a> {
    /// The linkage.
    pub linkage: Linkage,
    /// Whether the function is a kernel (`.entry`).
    pub entry: bool,
    /// The name.
    pub name: &'a str,
    /// The place of the name.
    pub at: At,
    /// The range of the whole function, from the linkage directive to the closing brace or `;`.
    pub span: Span,
    /// The return parameters of a `.func`.
    pub returns: Vec<Variable<'a>>,
    /// The parameters.
    pub params: Vec<Variable<'a>>,
    /// `.maxntid 128, 1, 1`, `.noreturn`, …: the name without the dot, and the numbers as written.
    pub directives: Vec<(&'a str, Vec<u64>)>,
    /// The statements; `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
}

/// One statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement<'a> {
    /// `name:`
    Label {
        /// The label.
        name: &'a str,
        /// The place of the label.
        at: At,
    },
    /// `.reg .b32 %r<9>, %x;`
    Registers {
        /// The type without the dot. Each register has `vector` elements of this type.
        ty: &'a str,
        /// The number of elements of a vector (`.v2` or `.v4`), or 1.
        vector: u32,
        /// The names, with `Some(n)` for `%r<n>`, which declares `%r0` to `%r{n-1}`.
        names: Vec<(&'a str, Option<u32>)>,
        /// The place of the directive.
        at: At,
    },
    /// A variable in the scope of the body: `.shared`, `.local`, `.param`, `.const`, `.global`.
    Variable(Variable<'a>),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `.loc file line column[, function_name label[+n], inlined_at file line column]`
    Loc(Loc),
    /// `{ … }`
    Scope(Vec<Statement<'a>>),
    /// `label: .branchtargets a, b;`
    BranchTargets {
        /// The label of the directive.
        label: &'a str,
        /// The targets.
        targets: Vec<&'a str>,
        /// The place of the label.
        at: At,
    },
    /// `label: .calltargets f, g;`
    CallTargets {
        /// The label of the directive.
        label: &'a str,
        /// The functions.
        targets: Vec<&'a str>,
        /// The place of the label.
        at: At,
    },
    /// `label: .callprototype (ret) _ (params);`
    CallPrototype {
        /// The label of the directive.
        label: &'a str,
        /// The return parameters.
        returns: Vec<Variable<'a>>,
        /// The parameters.
        params: Vec<Variable<'a>>,
        /// The place of the label.
        at: At,
    },
    /// `.pragma "…";`, and other directives that do not affect execution.
    Ignored,
}

/// `.loc`: the source line of the instructions that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loc {
    /// The place of the directive.
    pub at: At,
    /// The number of a `.file`.
    pub file: u32,
    /// The line, starting at 1; 0 if the compiler does not know the line.
    pub line: u32,
    /// The column, starting at 1; 0 if the compiler does not know the column.
    pub column: u32,
    /// The range of the text that names the inlined function. The range contains a label in the section `.debug_str`,
    /// which [`Module::debug_string`] reads.
    pub function_name: Option<Span>,
    /// File, line and column of the inlined call, if the code was inlined.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// `@!%p1 ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];`
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction<'a> {
    /// The guard: `@%p` or `@!%p`.
    pub guard: Option<Guard<'a>>,
    /// The opcode as written, including dots: `ld.global.v4.f32`, `st.shared::cta.b32`.
    pub opcode: &'a str,
    /// The place of the opcode.
    pub at: At,
    /// The range of the whole instruction, from the guard to the `;`.
    pub span: Span,
    /// The operands, in order.
    pub operands: Vec<Operand<'a>>,
}

/// The predicate of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard<'a> {
    /// The predicate register.
    pub register: &'a str,
    /// Whether the guard is written `@!%p`.
    pub negated: bool,
}

/// One operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand<'a> {
    /// A register, variable, label, function or special register: `%r1`, `tile`, `%tid.x`, `_`. The name includes
    /// selectors that do not name an element of a vector: `%r1.b0`.
    Name(&'a str),
    /// `!%p`
    Not(&'a str),
    /// `-%r1`, `-%r1.b0`: an operand of `vmad`.
    Neg(&'a str),
    /// A number.
    Number(Number),
    /// `tile+4` outside brackets.
    NameOffset(&'a str, i64),
    /// `[%rd1+16]`, `[tile]`, `[param_0]`, `[1024]`
    Address {
        /// The base of the address.
        base: AddressBase<'a>,
        /// The offset in bytes.
        offset: i64,
    },
    /// `{%r1, %r2}`
    Vector(Vec<Operand<'a>>),
    /// `{%f1, %f2, %f3, %f4}|%p1`: the texels of a texture, and the predicate that receives whether the texels are in
    /// memory.
    VectorPair(Vec<Operand<'a>>, &'a str),
    /// `%r1|%p1`
    Pair(&'a str, &'a str),
    /// `(%param0, %param1)`: the results or arguments of a call.
    List(Vec<Operand<'a>>),
    /// `%r1.x`: an element of a vector register, or half of an element. Special registers such as `%tid.x` are
    /// [`Operand::Name`]s.
    Element(&'a str, char),
    /// `[texture, {%f1, %f2}]`: several values in one pair of brackets, for textures, surfaces and tensors.
    Tuple(Vec<Operand<'a>>),
    /// `tile[3]`: an element of an array, with a constant index. No CUDA compiler generates this form.
    Indexed(&'a str, u64),
}

/// The base of an address operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressBase<'a> {
    /// A register or a variable.
    Name(&'a str),
    /// A number.
    Absolute(u64),
}
