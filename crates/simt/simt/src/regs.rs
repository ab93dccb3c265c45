//! Registers: their numbers in the three register files, and their values in a warp's lanes.

/// A 32-bit register's number. A narrower value is in the low bits; the remaining bits are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct R32(pub u32);

/// A 64-bit register's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct R64(pub u32);

/// A predicate register's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pred(pub u32);

/// A register of any file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the files")]
pub enum Reg {
    R32(R32),
    R64(R64),
    Pred(Pred),
}

impl Reg {
    /// Returns the register of the same file whose number is higher by `by`.
    pub(crate) fn advance(self, by: u32) -> Self {
        match self {
            Reg::R32(R32(first)) => Reg::R32(R32(first + by)),
            Reg::R64(R64(first)) => Reg::R64(R64(first + by)),
            Reg::Pred(Pred(first)) => Reg::Pred(Pred(first + by)),
        }
    }
}

/// A declaration of registers, such as `%p` or `%r<9>`.
#[derive(Debug, Clone)]
pub struct RegisterNames {
    /// The name; for numbered registers, the part before the number.
    pub name: String,
    /// The number of registers in `%r<9>`; `None` for a single register.
    pub count: Option<u32>,
    /// The first register.
    pub first: Reg,
}

impl RegisterNames {
    /// Returns the names of a declaration. Each element of a vector register has a separate name, such as `%v.x`.
    pub(crate) fn of(name: &str, count: Option<u32>, vector: u32, first: Reg) -> Vec<Self> {
        if vector == 1 {
            let name = name.to_owned();
            return vec![Self { name, count, first }];
        }
        let numbers = (0..count.unwrap_or(1)).flat_map(|number| {
            let name = match count {
                Some(_) => format!("{name}{number}"),
                None => name.to_owned(),
            };
            (0..vector).map(move |element| (number * vector + element, name.clone(), element))
        });
        let elements = numbers.map(|(index, name, element)| Self {
            name: format!("{name}.{}", ["x", "y", "z", "w"][element as usize]),
            count: None,
            first: first.advance(index),
        });
        elements.collect()
    }

    /// Returns the register with this name, if the declaration contains it.
    pub fn find(&self, name: &str) -> Option<Reg> {
        let number = name.strip_prefix(&self.name[..])?;
        match self.count {
            None => number.is_empty().then_some(self.first),
            Some(count) => {
                let index: u32 = number.parse().ok()?;
                (index < count && index.to_string() == number).then(|| self.first.advance(index))
            }
        }
    }
}

/// `@%p` or `@!%p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub pred: Pred,
    /// Whether the predicate is negated.
    pub negated: bool,
}

/// The number of threads in a warp.
pub const LANES: usize = 32;
/// The number of lanes in half a warp; in a block that is 16 threads wide, half a warp is one row.
pub const HALF: usize = LANES / 2;
/// The mask of all lanes.
pub const ALL: u32 = u32::MAX;

/// One 32-bit value per lane.
pub type Lanes32 = [u32; LANES];
/// One 64-bit value per lane.
pub type Lanes64 = [u64; LANES];

/// Returns the lanes of a mask, lowest first.
#[inline(always)]
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut remaining = mask;
    std::iter::from_fn(move || {
        let lane = remaining.trailing_zeros() as usize;
        remaining &= remaining.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The registers of a frame.
///
/// Lowering assigns the register numbers and also counts the registers, so an index is always in bounds. An index out
/// of bounds is a bug and panics.
pub struct Regs<'a> {
    /// The 32-bit registers.
    pub r32: &'a mut [Lanes32],
    /// The 64-bit registers.
    pub r64: &'a mut [Lanes64],
    /// The predicates, one bit per lane.
    pub preds: &'a mut [u32],
}

impl Regs<'_> {
    /// Returns the values of a 32-bit register.
    #[inline(always)]
    pub fn get32(&self, r: R32) -> &Lanes32 {
        &self.r32[r.0 as usize]
    }

    /// Returns the values of a 64-bit register.
    #[inline(always)]
    pub fn get64(&self, r: R64) -> &Lanes64 {
        &self.r64[r.0 as usize]
    }

    /// Returns the lanes in which a predicate is true.
    #[inline(always)]
    pub fn pred(&self, p: Pred) -> u32 {
        self.preds[p.0 as usize]
    }

    /// Returns the value of a lane in a register of any file, zero-extended.
    #[inline(always)]
    pub(crate) fn lane(&self, reg: Reg, lane: usize) -> u64 {
        match reg {
            Reg::R32(reg) => self.get32(reg)[lane].into(),
            Reg::R64(reg) => self.get64(reg)[lane],
            Reg::Pred(reg) => (self.pred(reg) >> lane & 1).into(),
        }
    }

    /// Writes the lowest bits of a number into one lane of a register of any file.
    #[inline(always)]
    pub(crate) fn set_lane(&mut self, reg: Reg, lane: usize, value: u64) {
        match reg {
            Reg::R32(reg) => self.r32[reg.0 as usize][lane] = value as u32,
            Reg::R64(reg) => self.r64[reg.0 as usize][lane] = value,
            Reg::Pred(reg) => self.set_pred(reg, 1 << lane, (value as u32 & 1) << lane),
        }
    }

    /// Returns a register's values, zero-extended.
    pub fn wide(&self, reg: Reg) -> Lanes64 {
        std::array::from_fn(|lane| self.lane(reg, lane))
    }

    /// Writes the lowest bits of numbers into the lanes of `mask`.
    pub fn set(&mut self, reg: Reg, mask: u32, values: &Lanes64) {
        lanes(mask).for_each(|lane| self.set_lane(reg, lane, values[lane]));
    }

    /// Returns the lanes of `mask` in which a guard is true.
    #[inline(always)]
    pub fn guarded(&self, guard: Option<Guard>, mask: u32) -> u32 {
        match guard {
            None => mask,
            Some(Guard { pred, negated }) => mask & (self.pred(pred) ^ if negated { ALL } else { 0 }),
        }
    }

    /// Writes the values of the lanes of `mask`.
    #[inline(always)]
    pub fn set32(&mut self, r: R32, mask: u32, values: &Lanes32) {
        let to = &mut self.r32[r.0 as usize];
        if mask == ALL {
            *to = *values;
        } else {
            // Copy the values here, so that only this path needs them in memory.
            let copy = *values;
            merge32(to, mask, &copy);
        }
    }

    /// Writes the values of the lanes of `mask`.
    #[inline(always)]
    pub fn set64(&mut self, r: R64, mask: u32, values: &Lanes64) {
        let to = &mut self.r64[r.0 as usize];
        if mask == ALL {
            *to = *values;
        } else {
            let copy = *values;
            merge64(to, mask, &copy);
        }
    }

    /// Writes the values of the lanes of `mask`.
    #[inline(always)]
    pub fn set_pred(&mut self, p: Pred, mask: u32, values: u32) {
        let to = &mut self.preds[p.0 as usize];
        *to = *to & !mask | values & mask;
    }
}

/// The number of a register that holds a 32-bit or 64-bit value for each lane.
pub(crate) trait Register: Copy {
    type Value: Copy + Default;

    fn get<'r>(self, regs: &'r Regs<'_>) -> &'r [Self::Value; LANES];

    /// Writes the values of the lanes of `mask`.
    fn set(self, regs: &mut Regs<'_>, mask: u32, values: &[Self::Value; LANES]);
}

macro_rules! register {
    ($($register:ident holds $value:ident by $get:ident $set:ident;)*) => {$(
        impl Register for $register {
            type Value = $value;

            #[inline(always)]
            fn get<'r>(self, regs: &'r Regs<'_>) -> &'r [$value; LANES] {
                regs.$get(self)
            }

            #[inline(always)]
            fn set(self, regs: &mut Regs<'_>, mask: u32, values: &[$value; LANES]) {
                regs.$set(self, mask, values);
            }
        }
    )*};
}

register! {
    R32 holds u32 by get32 set32;
    R64 holds u64 by get64 set64;
}

macro_rules! merge {
    ($($name:ident $value:ident)*) => {$(
        /// Writes the values of the lanes of `mask`. Not inlined, because it would dominate the code size of all
        /// instructions.
        #[inline(never)]
        fn $name(to: &mut [$value; LANES], mask: u32, values: &[$value; LANES]) {
            for (lane, (to, value)) in to.iter_mut().zip(values).enumerate() {
                let ones = if mask & 1 << lane != 0 { $value::MAX } else { 0 };
                *to ^= (*to ^ value) & ones;
            }
        }
    )*};
}

merge!(merge32 u32 merge64 u64);
