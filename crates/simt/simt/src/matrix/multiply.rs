//! Matrix products, with the precision of an H200's tensor cores.

use super::layout::Fragment;
use super::number::{Adder, Element, Line, Number, Sum};
use super::sparse::Metadata;
use crate::alu::float::fused_multiply_add;
use crate::regs::Regs;

/// The sides of a product, and the method of computing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The number of rows of A and of the sums.
    pub m: usize,
    /// The number of columns of B and of the sums.
    pub n: usize,
    /// The number of stored elements in a row of A. This is also the number of elements in a column of B, unless A is
    /// sparse; in this case, a column of B has twice this number.
    pub k: usize,
    /// The number of products in one instruction: four for `m8n8k4` with `f16`.
    pub count: usize,
    /// The element type of A.
    pub a: Element,
    /// The element type of B.
    pub b: Element,
    /// The element type of the accumulator.
    pub c: Element,
    /// The element type of the sums.
    pub d: Element,
    /// The method of computing the sums.
    pub arithmetic: Arithmetic,
}

/// The method of computing sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// Floating-point numbers, rounded after each step of `step` elements.
    Float {
        /// The number of elements of a row that one step adds; a shorter row takes a single step.
        step: usize,
    },
    /// `mma.sync` of 8-bit numbers, in this order: elements 0 and 1 of each group of four, then elements 2 and 3, then
    /// the accumulator.
    TwoSteps,
    /// `wgmma` of 8-bit numbers: a single step with 13 fraction bits. The resulting `f32` also keeps 13 fraction bits.
    Short,
    /// `mma.m8n8k4` of `f16`, which an H200's tensor cores do not support: emulated with `f32` operations.
    Emulated,
    /// A chain of fused multiply-add operations in `f64`, from the first element to the last.
    Double,
    /// Integers that wrap around or saturate.
    Integer {
        /// `.satfinite`
        saturates: bool,
    },
    /// Single bits: `.and.popc` or `.xor.popc`.
    Bits {
        /// `.and`
        is_and: bool,
    },
}

/// The number of fraction bits of a sum's largest term.
const PLACES: u32 = 25;
const SHORT_PLACES: u32 = 13;

/// [`Product::add`], compiled for an instruction set of the host.
pub(crate) type AddProduct = fn(&Product, &[u64], &[u64], &mut [u64], Option<&[u16]>);

/// `mma`, `wmma.mma`: operands and sums in registers.
#[derive(Debug, Clone, PartialEq)]
pub struct Multiply {
    /// The product.
    pub product: Product,
    /// The registers of A, row-major.
    pub a: Fragment,
    /// The registers of B, column-major.
    pub b: Fragment,
    /// The accumulator.
    pub c: Fragment,
    /// The sums.
    pub d: Fragment,
    /// The positions of the stored elements of a sparse A.
    pub sparse: Option<Metadata>,
}

impl Multiply {
    /// Returns the length of a column of B.
    fn dense(&self) -> usize {
        self.product.k * if self.sparse.is_some() { 2 } else { 1 }
    }

    /// Returns the elements of A, of B and of the accumulator.
    fn operands(&self, regs: &Regs<'_>) -> [Vec<u64>; 3] {
        let Product { m, n, k, count, .. } = self.product;
        let all = [(&self.a, m * k), (&self.b, n * self.dense()), (&self.c, m * n)];
        all.map(|(fragment, each)| {
            let mut elements = vec![0; count * each];
            fragment.gather(regs, &mut elements);
            elements
        })
    }

    pub(super) fn execute(&self, regs: &mut Regs<'_>, add_product: AddProduct) {
        let Product { m, n, k, count, .. } = self.product;
        let [a, b, mut c] = self.operands(regs);
        let dense = self.dense();
        let chosen = self.sparse.as_ref().map(|metadata| metadata.columns(regs, m, k));
        for part in 0..count {
            let a = &a[part * m * k..][..m * k];
            let b = &b[part * n * dense..][..n * dense];
            let c = &mut c[part * m * n..][..m * n];
            add_product(&self.product, a, b, c, chosen.as_deref());
        }
        self.d.scatter(regs, &c);
    }

    /// Propagates unknown bits, which are ones in the registers: sets each sum that depends on an unknown bit to all
    /// ones.
    pub fn spread(&self, regs: &mut Regs<'_>) {
        let Product { m, n, k, .. } = self.product;
        let [a, b, mut c] = self.operands(regs);
        let lines = |all: &[u64], length| -> Vec<bool> {
            all.chunks(length).map(|line| line.iter().any(|element| *element != 0)).collect()
        };
        let (rows, columns) = (lines(&a, k), lines(&b, self.dense()));
        for (index, sum) in c.iter_mut().enumerate() {
            let (part, row, column) = (index / (m * n), index / n % m, index % n);
            let is_unknown = *sum != 0 || rows[part * m + row] || columns[part * n + column];
            *sum = if is_unknown { u64::MAX } else { 0 };
        }
        let bits = u64::MAX >> (64 - self.d.element.bits());
        c.iter_mut().for_each(|sum| *sum &= bits);
        self.d.scatter(regs, &c);
    }
}

impl Product {
    /// Adds the product of A (row-major) and B (column-major) to `c`. For a sparse A, `chosen` holds the columns of its
    /// elements.
    #[inline(always)]
    pub fn add(&self, a: &[u64], b: &[u64], c: &mut [u64], chosen: Option<&[u16]>) {
        match self.arithmetic {
            Arithmetic::Float { .. } | Arithmetic::TwoSteps | Arithmetic::Short => {
                let number = |element: Element, bits: u64| match self.arithmetic {
                    Arithmetic::TwoSteps => element.number_as_half(bits),
                    _ => element.number(bits),
                };
                // A tile is padded with zeros beyond the end of an operand, so lines of zeros are common and take a
                // shortcut.
                let numbers = |element: Element, all: &[u64]| -> (Vec<Number>, Vec<Line>) {
                    let mut numbers = Vec::with_capacity(all.len());
                    let lines = all.chunks(self.k).map(|line| {
                        let first = numbers.len();
                        if line.iter().all(|bits| *bits == 0) {
                            numbers.resize(first + line.len(), Number::ZERO);
                            return Line::Zero;
                        }
                        numbers.extend(line.iter().map(|bits| number(element, *bits)));
                        Line::of(&numbers[first..])
                    });
                    let lines = lines.collect();
                    (numbers, lines)
                };
                let ((a, rows), (b, columns)) = (numbers(self.a, a), numbers(self.b, b));
                if chosen.is_some() || self.arithmetic == Arithmetic::TwoSteps {
                    return self.each(&a, &b, c, chosen, |a, b, c| self.float(a, b, c));
                }
                for ((a, row), c) in a.chunks(self.k).zip(rows).zip(c.chunks_mut(self.n)) {
                    for ((b, column), c) in b.chunks(self.k).zip(&columns).zip(c) {
                        // If all products are zero, a single product gives the same sum. If the accumulator is also
                        // zero, no sum is computed.
                        let is_zero = row.is_zero_with(*column);
                        let most = if is_zero { 1 } else { self.k };
                        if !is_zero || *c != 0 {
                            *c = self.float(&a[..most], &b[..most], *c);
                        }
                    }
                }
            }
            Arithmetic::Emulated => self.each(a, b, c, chosen, |a, b, c| self.emulated(a, b, c)),
            Arithmetic::Double => self.each(a, b, c, chosen, |a, b, c| {
                let products = a.iter().zip(b);
                products.fold(c, |sum, (a, b)| fused_multiply_add(*a, *b, sum))
            }),
            Arithmetic::Integer { saturates } => self.each(a, b, c, chosen, |a, b, c| {
                let products = a.iter().zip(b);
                let product = |(a, b): (&u64, &u64)| self.a.integer(*a) * self.b.integer(*b);
                let sum = products.map(product).sum::<i64>() + self.c.integer(c);
                let least = i64::from(i32::MIN);
                let sum = match saturates {
                    true => sum.clamp(least, i64::from(i32::MAX)),
                    false => sum,
                };
                u64::from(sum as u32)
            }),
            Arithmetic::Bits { is_and } => self.each(a, b, c, chosen, |a, b, c| {
                let common = |(a, b): (&u64, &u64)| if is_and { a & b } else { a ^ b };
                let ones = a.iter().zip(b).map(|pair| common(pair).count_ones());
                u64::from((c as u32).wrapping_add(ones.sum()))
            }),
        }
    }

    /// Computes each sum from a row, a column and the accumulator.
    #[inline(always)]
    fn each<T: Copy + Default>(
        &self,
        a: &[T],
        b: &[T],
        c: &mut [u64],
        chosen: Option<&[u16]>,
        sum: impl Fn(&[T], &[T], u64) -> u64,
    ) {
        let mut gathered = vec![T::default(); if chosen.is_some() { self.k } else { 0 }];
        for (row, (a, c)) in a.chunks(self.k).zip(c.chunks_mut(self.n)).enumerate() {
            for (column, c) in c.iter_mut().enumerate() {
                *c = match chosen {
                    None => sum(a, &b[column * self.k..][..self.k], *c),
                    Some(chosen) => {
                        let b = &b[column * 2 * self.k..];
                        for (at, chosen) in gathered.iter_mut().zip(&chosen[row * self.k..]) {
                            *at = b[usize::from(*chosen)];
                        }
                        sum(a, &gathered, *c)
                    }
                };
            }
        }
    }

    /// Computes a sum in the order of the instructions that `ptxas` emits.
    fn emulated(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        let product = |at: usize, sum: f32| self.a.float(a[at]).mul_add(self.b.float(b[at]), sum);
        let c = self.c.float(c);
        self.d.bits_of(match self.d {
            Element::F16 => (c + product(1, product(0, -0.0))) + product(3, product(2, -0.0)),
            _ => (0..self.k).fold(0.0, |sum, at| product(at, sum)) + c,
        })
    }

    #[inline(always)]
    fn float(&self, a: &[Number], b: &[Number], c: u64) -> u64 {
        let adder = |c, places| Adder { a: self.a, b: self.b, c, places };
        match self.arithmetic {
            Arithmetic::Short => {
                let sum = adder(self.c, SHORT_PLACES).sum(a, b, self.c.number(c));
                match (self.d, sum) {
                    (Element::F32, Sum::Finite { .. }) => self.d.rounded(sum) & !0x3ff,
                    _ => self.d.rounded(sum),
                }
            }
            Arithmetic::TwoSteps => {
                let adder = adder(self.d, PLACES);
                let mut sum = Number::ZERO;
                let mut bits = 0;
                for first in [0, 2] {
                    // Each step uses two of the four elements of a register.
                    let step = |all: &[Number]| -> Vec<Number> {
                        all.chunks(4).flat_map(|four| four[first..first + 2].to_vec()).collect()
                    };
                    bits = self.d.rounded(adder.sum(&step(a), &step(b), sum));
                    sum = self.d.number(bits);
                }
                self.d.bits_of(self.d.float(bits) + self.c.float(c))
            }
            _ => {
                let step = match self.arithmetic {
                    Arithmetic::Float { step } => step.min(self.k),
                    _ => self.k,
                };
                // With an `f32` accumulator, an `f16` sum is first rounded toward zero to `f32`.
                let between = if self.c == Element::F32 { self.c } else { self.d };
                let (mut bits, mut of) = (c, self.c);
                for (a, b) in a.chunks(step).zip(b.chunks(step)) {
                    let sum = adder(of, PLACES).sum(a, b, of.number(bits));
                    (bits, of) = (between.rounded(sum), between);
                }
                if of == self.d {
                    return bits;
                }
                self.d.bits_of(of.float(bits))
            }
        }
    }
}
