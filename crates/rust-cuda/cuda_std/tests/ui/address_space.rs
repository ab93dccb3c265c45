//! Memories that a static cannot be in, and an item that is not a static.
use cuda_std::address_space;

#[address_space(local)]
static LOCAL: u32 = 0;

#[address_space(texture)]
static TEXTURE: u32 = 0;

#[address_space]
static NOWHERE: u32 = 0;

#[address_space(shared)]
const SHARED: u32 = 0;

fn main() {}
