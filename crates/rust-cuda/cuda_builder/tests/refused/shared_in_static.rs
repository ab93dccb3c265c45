//! static `shared_in_static::PLACE` holds the address of shared static `shared_in_static::TILE`
#[address_space(shared)]
static mut TILE: [MaybeUninit<u32>; 8] = [const { MaybeUninit::uninit() }; 8];
struct Place(*mut MaybeUninit<u32>);
unsafe impl Sync for Place {}
static PLACE: Place = Place((&raw mut TILE).cast());
#[kernel]
pub unsafe fn reads(i: usize, out: *mut u32) {
    // The volatile read goes through the static. Otherwise the compiler would read the static at compile time.
    let place = unsafe { (&raw const PLACE).read_volatile() };
    unsafe { *out = place.0.add(i).read_volatile().assume_init() }
}
