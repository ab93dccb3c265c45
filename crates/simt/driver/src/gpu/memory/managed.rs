//! Managed memory and the program's advice about its use. All managed memory is in host memory, and advice does not
//! change its speed.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Result};
use crate::abi::handles::{PerDriver, lock};
use crate::gpu::context;
use crate::gpu::location::Location;
use crate::gpu::ranges::{Kind, range_of};

/// The granularity of advice.
const PAGE_BYTES: u64 = 4096;

/// `CUmem_advise`.
const SET_READ_MOSTLY: u32 = 1;
const UNSET_READ_MOSTLY: u32 = 2;
const SET_PREFERRED_LOCATION: u32 = 3;
const UNSET_PREFERRED_LOCATION: u32 = 4;
const SET_ACCESSED_BY: u32 = 5;
const UNSET_ACCESSED_BY: u32 = 6;

/// `CUmem_range_attribute`.
const READ_MOSTLY: u32 = 1;
const PREFERRED_LOCATION: u32 = 2;
const ACCESSED_BY: u32 = 3;
const LAST_PREFETCH_LOCATION: u32 = 4;
const PREFERRED_LOCATION_TYPE: u32 = 5;
const PREFERRED_LOCATION_ID: u32 = 6;
const LAST_PREFETCH_LOCATION_TYPE: u32 = 7;
const LAST_PREFETCH_LOCATION_ID: u32 = 8;

/// `CU_DEVICE_INVALID`: neither a device nor the host.
const NOWHERE: i32 = -2;

/// A program's advice about some pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    read_mostly: bool,
    preferred: Option<Location>,
    /// The numbers of the devices that access the pages.
    accessed_by: Vec<i32>,
    prefetched: Option<Location>,
}

/// Pages by first address. An entry's advice applies up to the next entry.
type Pages = BTreeMap<u64, Advice>;

/// All managed memory with advice, by first address.
static ADVICE: PerDriver<Mutex<BTreeMap<u64, Pages>>> = PerDriver::new();

/// Forgets the advice about memory that is freed.
pub(crate) fn forget(base: u64) {
    lock(ADVICE.get()).remove(&base);
}

/// Returns the start of the allocation, and the start and end of the pages that contain a range. Returns
/// `CUDA_ERROR_INVALID_VALUE` when the range is not managed memory.
pub(crate) fn pages(address: u64, bytes: usize) -> Result<(u64, u64, u64)> {
    let range = range_of(address).filter(|range| range.kind == Kind::Managed).ok_or(Code::INVALID_VALUE)?;
    if bytes == 0 || bytes as u64 > range.base + range.bytes - address {
        return Err(Code::INVALID_VALUE.into());
    }
    let end = (address + bytes as u64).next_multiple_of(PAGE_BYTES);
    Ok((range.base, address / PAGE_BYTES * PAGE_BYTES, end))
}

/// Changes the advice about a range of managed memory.
fn change(address: u64, bytes: usize, change: impl Fn(&mut Advice)) -> Result<()> {
    let (base, first, end) = pages(address, bytes)?;
    let mut all = lock(ADVICE.get());
    let pages = all.entry(base).or_insert_with(|| BTreeMap::from([(0, Advice::default())]));
    for edge in [first, end] {
        let before = pages.range(..=edge).next_back().map(|(_, advice)| advice.clone());
        pages.insert(edge, before.unwrap_or_default());
    }
    pages.range_mut(first..end).for_each(|(_, advice)| change(advice));
    Ok(())
}

/// Records that a range of managed memory was prefetched to a location.
pub(crate) fn prefetch(address: u64, bytes: usize, location: Location) -> Result<()> {
    change(address, bytes, |advice| advice.prefetched = Some(location))
}

/// Returns the advice about a range of managed memory: every distinct value at least once.
fn advice_on(address: u64, bytes: usize) -> Result<Vec<Advice>> {
    let (base, first, end) = pages(address, bytes)?;
    let all = lock(ADVICE.get());
    let Some(pages) = all.get(&base) else { return Ok(vec![Advice::default()]) };
    let before = pages.range(..=first).next_back().map(|(_, advice)| advice.clone());
    let others = pages.range(first..end).filter(|(at, _)| **at > first).map(|(_, advice)| advice.clone());
    Ok(before.into_iter().chain(others).collect())
}

fn advise(address: u64, bytes: usize, advice: u32, location: Location) -> Result<()> {
    context::current()?;
    if !(SET_READ_MOSTLY..=UNSET_ACCESSED_BY).contains(&advice) {
        return Err(Code::INVALID_VALUE.into());
    }
    let number = location.number();
    change(address, bytes, |page_advice| match advice {
        SET_READ_MOSTLY => page_advice.read_mostly = true,
        UNSET_READ_MOSTLY => page_advice.read_mostly = false,
        SET_PREFERRED_LOCATION => page_advice.preferred = Some(location),
        UNSET_PREFERRED_LOCATION => page_advice.preferred = None,
        _ => {
            page_advice.accessed_by.retain(|known| *known != number);
            if advice == SET_ACCESSED_BY {
                page_advice.accessed_by.push(number);
            }
        }
    })
}

/// Writes an attribute of a range of managed memory. `capacity` is the size of the program's buffer in bytes.
fn range_attribute(value: Out<c_void>, capacity: usize, attribute: u32, advice: &[Advice]) -> Result<()> {
    value.check()?;
    // SAFETY: in `cuda.h`, all attributes of a range are `int`s or lists of `int`s.
    let words_at = unsafe { value.cast::<i32>() };
    let same = |of: fn(&Advice) -> Option<Location>| {
        let first = advice.first().and_then(of);
        first.filter(|first| advice.iter().all(|advice| of(advice) == Some(*first)))
    };
    let (preferred, prefetched) = (same(|advice| advice.preferred), same(|advice| advice.prefetched));
    let number = |location: Option<Location>| location.map_or(NOWHERE, Location::number);
    let kind = |location: Option<Location>| location.map_or(0, |location| location.kind as i32);
    let id = |location: Option<Location>| location.map_or(NOWHERE, |location| location.id);
    let word = match attribute {
        READ_MOSTLY => advice.iter().all(|advice| advice.read_mostly).into(),
        PREFERRED_LOCATION => number(preferred),
        LAST_PREFETCH_LOCATION => number(prefetched),
        PREFERRED_LOCATION_TYPE => kind(preferred),
        PREFERRED_LOCATION_ID => id(preferred),
        LAST_PREFETCH_LOCATION_TYPE => kind(prefetched),
        LAST_PREFETCH_LOCATION_ID => id(prefetched),
        ACCESSED_BY if capacity > 0 && capacity.is_multiple_of(4) => {
            let first = advice.first().map_or(&[][..], |advice| &advice.accessed_by);
            let all = first.iter().filter(|number| advice.iter().all(|advice| advice.accessed_by.contains(number)));
            let words = all.copied().chain(std::iter::repeat(NOWHERE)).take(capacity / 4);
            words_at.set_all(words, capacity / 4);
            return Ok(());
        }
        _ => return Err(Code::INVALID_VALUE.into()),
    };
    match capacity {
        4 => words_at.set(word),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

functions! {
    fn cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32) {
        advise(address, bytes, advice, Location::of_number(device)?)
    }

    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: u32, location: Location) {
        let has_location = matches!(
            advice, SET_PREFERRED_LOCATION | SET_ACCESSED_BY | UNSET_ACCESSED_BY
        );
        advise(address, bytes, advice, if has_location { location.checked()? } else { location })
    }

    fn cuMemRangeGetAttribute(value: Out<c_void>, capacity: usize, attribute: u32, address: u64, bytes: usize) {
        context::current()?;
        range_attribute(value, capacity, attribute, &advice_on(address, bytes)?)
    }

    fn cuMemRangeGetAttributes(
        values: In<Out<c_void>>, capacities: In<usize>, attributes: In<u32>, count: usize, address: u64, bytes: usize,
    ) {
        context::current()?;
        let advice = advice_on(address, bytes)?;
        let (values, capacities) = (values.all(count)?, capacities.all(count)?);
        for ((value, capacity), attribute) in values.into_iter().zip(capacities).zip(attributes.all(count)?) {
            range_attribute(value, capacity, attribute, &advice)?;
        }
        Ok(())
    }
}
