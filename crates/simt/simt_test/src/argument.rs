//! The arguments of a launch.

use std::any::type_name;

use bytemuck::{NoUninit, bytes_of};
use simt::params::{self, DataType};

use crate::buffer::{Buffer, Slice};

/// The values of a kernel's parameters, created by [`args!`](crate::args).
#[derive(Debug, Clone, Default)]
pub struct Values(pub(crate) Vec<Value>);

#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// The address of the buffer with this number, and the type of the buffer's elements.
    Buffer(usize, DataType),
    /// A value and its type.
    Bytes(Vec<u8>, DataType),
}

impl Value {
    /// Returns the description of the value that simt compares with the parameter.
    pub(crate) fn kind(&self) -> params::Argument {
        match self {
            Value::Buffer(_, element) => params::Argument::Buffer(element.clone()),
            Value::Bytes(bytes, ty) if bytes.iter().all(|byte| *byte == 0) => params::Argument::Zero(ty.clone()),
            Value::Bytes(_, ty) => params::Argument::Value(ty.clone()),
        }
    }
}

/// Derives the type from the Rust type's name and size.
fn data_type<T>() -> DataType {
    DataType { bytes: Some(size_of::<T>() as u64), ..DataType::named(type_name::<T>()) }
}

/// A type that can be an argument of a launch.
pub trait Argument {
    /// Appends the values for the kernel's parameters that correspond to the argument.
    fn add_to(self, values: &mut Values);
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Argument for $ty {
            fn add_to(self, values: &mut Values) {
                Plain(self).add_to(values);
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

impl Argument for bool {
    fn add_to(self, values: &mut Values) {
        u8::from(self).add_to(values);
    }
}

/// A struct or an array that is passed to the kernel by value: `#[repr(C)]` and without padding.
#[derive(Debug, Clone, Copy)]
pub struct Plain<T>(pub T);

impl<T: NoUninit> Argument for Plain<T> {
    fn add_to(self, values: &mut Values) {
        values.0.push(Value::Bytes(bytes_of(&self.0).to_owned(), data_type::<T>()));
    }
}

/// The pointer to a buffer, for parameters `*const T` and `*mut T`.
impl<T> Argument for Buffer<T> {
    fn add_to(self, values: &mut Values) {
        values.0.push(Value::Buffer(self.number, data_type::<T>()));
    }
}

impl<T> Argument for Slice<T> {
    fn add_to(self, values: &mut Values) {
        self.0.add_to(values);
        self.0.len().add_to(values);
    }
}
