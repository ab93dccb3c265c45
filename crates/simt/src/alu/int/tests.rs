mod bits;
mod carry;
mod values;
