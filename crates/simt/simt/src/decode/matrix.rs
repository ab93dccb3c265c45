//! Tensor core instructions.

mod warp_group;

use ptx::ast::Operand;
use ptx::opcode;
use simt_isa::{Expected, Kind};

use super::{Decoded, Decoder};
use crate::code::{Op, R32, Reg};
use crate::matrix::Matrix;
use crate::matrix::layout::{Fragment, Layout, packed, places};
use crate::matrix::memory::{Rows, Tile, Transpose};
use crate::matrix::multiply::{Arithmetic, Multiply, Product};
use crate::matrix::number::Element;
use crate::matrix::sparse::Metadata;
use crate::memory::Region;
use crate::observe::AsyncGroup;
use crate::regs::LANES;

/// The layout of A. In a flat product (`m8n32k16`), which is stored transposed, this is the layout of B.
const A: Layout = Layout::Operand { tile: 16 };
const B: Layout = Layout::Operand { tile: 8 };

/// The sides m, n and k of a product, as in `m16n8k16`.
type Sides = [usize; 3];

impl<'d> Decoder<'d, '_, '_> {
    pub(super) fn matrix(&mut self) -> Decoded<Op> {
        let matrix = match self.words {
            ["mma", ..] => Matrix::Multiply(self.mma()?),
            ["wmma", "mma", ..] => Matrix::Multiply(self.wmma()?),
            ["wmma", way, part, ..] => Matrix::Tile(self.tile(*way == "store", part)?),
            ["wgmma", "mma_async", ..] => Matrix::GroupMultiply(self.wgmma()?),
            ["wgmma", "commit_group", ..] => Matrix::Group(AsyncGroup::Commit),
            ["wgmma", "wait_group", ..] => {
                let [left] = self.exactly()?;
                Matrix::Group(AsyncGroup::Wait(self.number(left)?))
            }
            ["wgmma", ..] => Matrix::Nothing,
            ["movmatrix", ..] => {
                let [to, from] = self.exactly()?;
                Matrix::Transpose(Transpose { to: self.dst(to)?, from: self.src(from, "b32")? })
            }
            ["ldmatrix" | "stmatrix", ..] => Matrix::Rows(self.rows()?),
            _ => return Err(self.unsupported_form()),
        };
        Ok(Op::Matrix(Box::new(matrix)))
    }

    /// Returns the element types, in the opcode's order.
    fn types(&self) -> Vec<Element> {
        let words = self.words.iter();
        words.filter_map(|word| Element::named(word)).collect()
    }

    fn sides(&self) -> Decoded<Sides> {
        opcode::sides(self.form).ok_or_else(|| self.unsupported_form())
    }

    /// Returns, for each layout in the opcode, whether it is `col`.
    fn columns(&self) -> Vec<bool> {
        let words = self.words.iter();
        words.filter(|word| matches!(**word, "row" | "col")).map(|word| *word == "col").collect()
    }

    /// Returns the registers of `count` source matrices. If there are more registers than elements, each element is
    /// stored several times.
    fn fragment(&mut self, operand: &Operand<'_>, layout: Layout, element: Element, sides: Sides) -> Decoded<Fragment> {
        self.fragment_of(operand, layout, element, sides, false)
    }

    /// Returns the registers of a destination matrix.
    fn result(&mut self, operand: &Operand<'_>, layout: Layout, element: Element, sides: Sides) -> Decoded<Fragment> {
        self.fragment_of(operand, layout, element, sides, true)
    }

    fn fragment_of(
        &mut self,
        operand: &Operand<'_>,
        layout: Layout,
        element: Element,
        sides: Sides,
        is_written: bool,
    ) -> Decoded<Fragment> {
        let [rows, columns, count] = sides;
        let columns = if element == Element::Bits { columns / 32 } else { columns };
        let slots = rows * columns * count / LANES;
        let is_repeated = self.words[0] == "wmma" && element == Element::F16 && layout != Layout::Sum;
        let registers = if is_repeated { 8 } else { slots / packed(element) };
        let Operand::Vector(operands) = operand else {
            return Err(self.invalid("registers in braces are expected here"));
        };
        if operands.len() != registers {
            let (opcode, found) = (self.opcode, operands.len());
            return Err(self.invalid(format!("`{opcode}` takes {registers} registers here, not {found}")));
        }
        let ty = match element {
            Element::F32 => "f32",
            Element::F64 => "f64",
            Element::Signed(32) => "s32",
            _ => "b32",
        };
        let register = |operand| {
            let expected = if is_written { Expected::written(Kind::Last) } else { Expected::read(Kind::Last) };
            self.check(expected, Some(ty), operand)?;
            Ok(if is_written { self.written(operand)?.0 } else { self.any(operand)?.0 })
        };
        let found: Decoded<Box<[Reg]>> = operands.iter().map(register).collect();
        let element_places = places(layout, element, rows, columns, slots);
        let copies = registers * packed(element) / slots;
        Ok(Fragment { element, registers: found?, places: element_places.repeat(copies).into() })
    }

    fn arithmetic(&self, [d, a, ..]: [Element; 2]) -> Arithmetic {
        match a {
            Element::F64 => Arithmetic::Double,
            Element::Bits => Arithmetic::Bits { is_and: self.has("and") },
            _ if d == Element::Signed(32) => Arithmetic::Integer { saturates: self.has("satfinite") },
            Element::E4m3 | Element::E5m2 if self.words[0] == "wgmma" => Arithmetic::Short,
            Element::E4m3 | Element::E5m2 => Arithmetic::TwoSteps,
            Element::Tf32 if self.words[0] == "wmma" => Arithmetic::Float { step: 4 },
            _ => Arithmetic::Float { step: usize::MAX },
        }
    }

    /// Returns the product with these sides and these types of `d`, `a`, `b` and `c`.
    fn product(&self, [m, n, k]: Sides, [d, a, b, c]: [Element; 4]) -> Product {
        Product {
            m,
            n,
            k: if a == Element::Bits { k / 32 } else { k },
            count: 1,
            a,
            b,
            c,
            d,
            arithmetic: self.arithmetic([d, a]),
        }
    }

    /// `mma{.sp}.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c{, metadata, selector}`
    fn mma(&mut self) -> Decoded<Multiply> {
        let sides = self.sides()?;
        let [m, n, length] = sides;
        let types: [Element; 4] = self.types().try_into().map_err(|_| self.unsupported_form())?;
        let columns = self.columns();
        let quads = sides == [8, 8, 4] && types[1] == Element::F16;
        let ([to, a, b, c], rest) = self.first()?;
        let count = if quads { 4 } else { 1 };
        let quad = |row_per_lane| Layout::Quads { row_per_lane };
        let (of_a, of_b, sum) = match quads {
            false => (A, B, Layout::Sum),
            true => (quad(!columns[0]), quad(columns[1]), Layout::QuadSum),
        };
        let k = length / (rest.len() / 2 + 1);
        let mut product = self.product([m, n, k], types);
        if quads {
            product.count = count;
            product.arithmetic = Arithmetic::Emulated;
        }
        let sparse = match rest {
            [metadata, selector] => Some(self.metadata([metadata, selector], types[1], k)?),
            _ => None,
        };
        Ok(Multiply {
            a: self.fragment(a, of_a, types[1], [m, k, count])?,
            b: self.fragment(b, of_b, types[2], [n, length, count])?,
            c: self.fragment(c, sum, types[3], [m, n, count])?,
            d: self.result(to, sum, types[0], [m, n, count])?,
            product,
            sparse,
        })
    }

    /// Returns the metadata for the rows of a sparse A that stores `k` elements per row.
    fn metadata(&mut self, operands: [&Operand<'_>; 2], element: Element, k: usize) -> Decoded<Metadata> {
        let [metadata, selector] = operands;
        self.check(Expected::read(Kind::Of("b32")), Some("b32"), metadata)?;
        let register = self.src(metadata, "b32")?;
        let selector = self.number(selector)?;
        let found = usize::try_from(selector).ok();
        let found = found.and_then(|selector| Metadata::new(register, selector, element, k));
        found.ok_or_else(|| self.invalid(format!("`{}` has no selector {selector}", self.opcode)))
    }

    /// `wmma.mma.sync.aligned.alayout.blayout.shape.dtype{.atype.btype}.ctype d, a, b, c`
    fn wmma(&mut self) -> Decoded<Multiply> {
        let sides = self.sides()?;
        let [d, a, b, c] = match self.types()[..] {
            [d, c] => [d, Element::F16, Element::F16, c],
            [d, a, b, c] => [d, a, b, c],
            _ => return Err(self.unsupported_form()),
        };
        let [to, from_a, from_b, from_c] = self.exactly()?;
        // A flat product is stored as the product of the transposed matrices.
        let (from_a, from_b, a, b) = match is_flat(sides) {
            false => (from_a, from_b, a, b),
            true => (from_b, from_a, b, a),
        };
        let [m, n, k] = upright(sides);
        Ok(Multiply {
            product: self.product([m, n, k], [d, a, b, c]),
            a: self.fragment(from_a, A, a, [m, k, 1])?,
            b: self.fragment(from_b, B, b, [n, k, 1])?,
            c: self.fragment(from_c, Layout::Sum, c, [m, n, 1])?,
            d: self.result(to, Layout::Sum, d, [m, n, 1])?,
            sparse: None,
        })
    }

    /// `wmma.load.a|b|c.sync.aligned.layout.shape{.space}.type r, [p]{, stride}`,
    /// `wmma.store.d.sync.aligned.layout.shape{.space}.type [p], r{, stride}`
    fn tile(&mut self, stores: bool, part: &str) -> Decoded<Tile> {
        let sides = self.sides()?;
        let [m, n, k] = upright(sides);
        let ([first, second], stride) = self.first()?;
        let (registers, at) = if stores { (second, first) } else { (first, second) };
        let element = self.types().last().copied();
        let element = element.ok_or_else(|| self.unsupported_form())?;
        let is_a = (part == "a") != is_flat(sides);
        let (layout, rows, columns) = match part {
            "a" | "b" if is_a => (A, m, k),
            "a" | "b" => (B, n, k),
            _ => (Layout::Sum, m, n),
        };
        let fragment = self.fragment_of(registers, layout, element, [rows, columns, 1], !stores)?;
        // Rows of B are stored as columns, and a flat product is stored transposed.
        let is_column = self.columns().contains(&true);
        let is_line_major = match part {
            "a" => !is_column,
            "b" => is_column,
            _ => is_column == is_flat(sides),
        };
        let elements = if element == Element::Bits { 32 } else { 1 };
        let columns = columns / elements;
        Ok(Tile {
            address: self.space_address(at)?,
            stores,
            stride: stride.first().map(|operand| self.src(operand, "u32")).transpose()?,
            columns,
            consecutive: elements * if is_line_major { columns } else { rows },
            elements: elements as u32,
            is_line_major,
            fragment,
        })
    }

    /// `ldmatrix.sync.aligned.m8n8.num{.trans}{.space}.b16 r, [p]`, `stmatrix.… [p], r`
    fn rows(&mut self) -> Decoded<Rows> {
        let stores = self.words[0] == "stmatrix";
        let [first, second] = self.exactly()?;
        let (registers, at) = if stores { (second, first) } else { (first, second) };
        let count = self.word(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
        let address = self.shared_address(at)?;
        if !matches!(address.region, Region::Generic | Region::Shared) {
            return Err(self.invalid("matrices are loaded from and stored to shared memory"));
        }
        let fragment = self.fragment_of(registers, A, Element::F16, [8, 8 * count, 1], !stores)?;
        let narrow = |reg: &Reg| match reg {
            Reg::R32(reg) => *reg,
            _ => unreachable!("fragments of halves have 32-bit registers"),
        };
        Ok(Rows {
            address,
            stores,
            transposed: self.has("trans"),
            registers: fragment.registers.iter().map(narrow).collect::<Box<[R32]>>(),
        })
    }
}

/// Returns whether a product is wider than it is high: `m8n32k16`.
fn is_flat([m, n, _]: Sides) -> bool {
    m < n
}

/// Returns the sides of a product, transposed if the product is flat.
fn upright([m, n, k]: Sides) -> Sides {
    [m.max(n), m.min(n), k]
}
