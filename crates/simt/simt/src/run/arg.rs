//! A kernel's arguments.

use super::launch::LaunchError;
use super::simulator::Buffer;
use crate::code::Program;

/// An argument of a kernel.
///
/// Buffers and numbers convert with `into`. The argument must have the same size in bytes as the kernel's parameter.
/// Only the kernel determines whether the bytes are an integer or a float.
///
/// ```
/// use simt::Arg;
///
/// let args: [Arg; 3] = [1.5f32.into(), (-1i32).into(), Arg::Bytes(vec![0; 12])];
/// assert_eq!(args[1], Arg::U32(u32::MAX));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the variants are the types")]
pub enum Arg {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    /// The address of a buffer.
    Pointer(u64),
    /// A struct, as the bytes of its memory layout.
    Bytes(Vec<u8>),
}

macro_rules! arguments {
    ($($ty:ty => $variant:ident as $as:ty),*) => {
        $(impl From<$ty> for Arg {
            fn from(value: $ty) -> Self {
                Arg::$variant(value as $as)
            }
        })*
    };
}
arguments! {
    u8 => U8 as u8, i8 => U8 as u8, u16 => U16 as u16, i16 => U16 as u16, u32 => U32 as u32, i32 => U32 as u32,
    u64 => U64 as u64, i64 => U64 as u64, f32 => F32 as f32, f64 => F64 as f64
}

impl<T> From<Buffer<T>> for Arg {
    fn from(buffer: Buffer<T>) -> Self {
        Arg::Pointer(buffer.address())
    }
}

impl Arg {
    /// Returns the 8-byte words at multiples of 8 in parameter memory, which may hold addresses.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        self.bytes().as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }

    /// Returns the bytes of the argument in parameter memory.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Arg::U8(value) => value.to_le_bytes().to_vec(),
            Arg::U16(value) => value.to_le_bytes().to_vec(),
            Arg::U32(value) => value.to_le_bytes().to_vec(),
            Arg::U64(value) | Arg::Pointer(value) => value.to_le_bytes().to_vec(),
            Arg::F32(value) => value.to_le_bytes().to_vec(),
            Arg::F64(value) => value.to_le_bytes().to_vec(),
            Arg::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Returns the kernel's parameter memory with these arguments.
pub(super) fn parameters(program: &Program, args: &[Arg]) -> Result<Vec<u8>, LaunchError> {
    let fail = |problem| LaunchError::Arguments { kernel: program.functions[0].name.clone(), problem };
    if args.len() != program.params.len() {
        return Err(fail(format!("{} arguments for {} parameters", args.len(), program.params.len())));
    }
    let mut memory = vec![0; program.param_bytes as usize];
    for (index, (param, arg)) in program.params.iter().zip(args).enumerate() {
        let bytes = arg.bytes();
        if bytes.len() != param.bytes as usize {
            return Err(fail(format!(
                "argument {index} has {} bytes, parameter `{}` has {} (.{})",
                bytes.len(),
                param.name,
                param.bytes,
                param.ty
            )));
        }
        memory[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    Ok(memory)
}
