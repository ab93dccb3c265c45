use super::*;

trait Shape {
    fn area(&self) -> u32;
    fn twice(&self) -> u32 {
        self.area() * 2
    }
}
struct Square(u32);
struct Rectangle(u32, u32);
impl Shape for Square {
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}
impl Shape for Rectangle {
    fn area(&self) -> u32 {
        self.0 * self.1
    }
    fn twice(&self) -> u32 {
        self.0
    }
}
pub fn value(i: u32) -> u64 {
    let (square, rectangle) = (Square(i), Rectangle(i, 7));
    let shapes: [&dyn Shape; 2] = [&square, &rectangle];
    let shape = shapes[i as usize % 2];
    u64::from(shape.area() + shape.twice())
}
