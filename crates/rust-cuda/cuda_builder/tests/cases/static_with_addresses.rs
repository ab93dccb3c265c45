use super::*;

static NAMES: [&str; 4] = ["one", "two hundred", "", "größer"];
struct Node {
    value: u32,
    next: Option<&'static Node>,
}
static LAST: Node = Node { value: 77, next: None };
static FIRST: Node = Node { value: 5, next: Some(&LAST) };
pub fn value(i: u32) -> u64 {
    let name = NAMES[i as usize % 4];
    let node = if i % 3 == 0 { &FIRST } else { FIRST.next.unwrap() };
    name.bytes().fold(u64::from(node.value), |sum, term| mix(sum, u64::from(term)))
}
