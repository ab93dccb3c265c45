mod bits;
mod carry;
mod reference;
mod values;
