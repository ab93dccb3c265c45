//! The fragments of a tensor-core product: the lane that holds each element of the three matrices.

use simt::code::Op;
use simt::matrix::Matrix;

use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::Recording;

pub(super) const FRAGMENTS: Drawing =
    Drawing { name: "fragments", about: "the lanes that hold the elements of a tensor-core product", draw };

const LANES: usize = 32;

/// Returns the lane and the register that hold each element of a matrix, in the order of `places`.
fn holders(registers: usize, places: &[u16]) -> Vec<(usize, usize)> {
    let slots_per_register = (places.len() / LANES / registers).max(1);
    let mut holders = vec![(0, 0); places.len()];
    for (index, place) in places.iter().enumerate() {
        holders[usize::from(*place)] = (index % LANES, index / LANES / slots_per_register);
    }
    holders
}

fn cell((lane, register): (usize, usize)) -> Cell {
    Cell::new(lane, if register == 0 { Shade::Used } else { Shade::Turn(register) })
}

/// Draws each form of `mma` that the launch executes, once per form.
fn draw(recording: &Recording) -> Vec<Figure> {
    let mut products = Vec::new();
    let mut figures = Vec::new();
    for site in recording.counters.executed() {
        let op = &recording.function.program().functions[site.function as usize].code[site.pc as usize].op;
        let Op::Matrix(matrix) = op else { continue };
        let Matrix::Multiply(multiply) = &**matrix else { continue };
        let product = &multiply.product;
        // The fragments of `wmma`, and of four products in one instruction, hold elements several times.
        let is_plain = product.count == 1
            && multiply.a.places.len() == product.m * product.k
            && multiply.b.places.len() == product.n * product.k;
        if !is_plain || products.contains(product) {
            continue;
        }
        products.push(product.clone());
        let [a, b, c] =
            [&multiply.a, &multiply.b, &multiply.c].map(|fragment| holders(fragment.registers.len(), &fragment.places));
        let (m, n, k) = (product.m, product.n, product.k);
        let rows_of_b = (0..k).map(|row| {
            let cells = (0..n).map(|column| cell(b[column * k + row]));
            FigureRow {
                label: format!("b, row {row}"),
                cells: vec![Cell::default(); k].into_iter().chain(cells).collect(),
            }
        });
        let rows_of_a_and_c = (0..m).map(|row| {
            let cells = a[row * k..(row + 1) * k].iter().chain(&c[row * n..(row + 1) * n]);
            FigureRow { label: format!("a and c, row {row}"), cells: cells.map(|holder| cell(*holder)).collect() }
        });
        let position = recording.position(site);
        figures.push(Figure {
            what: FRAGMENTS.name,
            title: format!("mma.m{m}n{n}k{k}"),
            source: position.source,
            ptx_line: position.ptx_line,
            grids: vec![Grid {
                caption: format!("the lane that holds each element: a (left, {k} columns), b (above) and c (right)"),
                columns: (0..k).chain(0..n).map(|column| column.to_string()).collect(),
                together: 8,
                rows: rows_of_b.chain(rows_of_a_and_c).collect(),
                arrows: Vec::new(),
            }],
            counts: vec![
                ("registers of a in each lane", multiply.a.registers.len() as u64),
                ("registers of b in each lane", multiply.b.registers.len() as u64),
                ("registers of c in each lane", multiply.c.registers.len() as u64),
            ],
            notes: vec!["each color is a register; green is the first register of its matrix".to_owned()],
            ..Figure::default()
        });
    }
    figures
}
