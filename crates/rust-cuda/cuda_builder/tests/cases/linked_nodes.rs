use super::*;

#[derive(Clone, Copy)]
struct Node {
    key: u32,
    left: u8,
    right: u8,
}
pub fn value(i: u32) -> u64 {
    let mut tree = [Node { key: 500, left: 0, right: 0 }; 16];
    for at in 1..16 {
        let key = hash(at as u32 + i) % 1000;
        let mut parent = 0;
        loop {
            let node = &mut tree[parent];
            let child = if key < node.key { &mut node.left } else { &mut node.right };
            if *child == 0 {
                *child = at as u8;
                break;
            }
            parent = usize::from(*child);
        }
        tree[at] = Node { key, left: 0, right: 0 };
    }
    fn walk(tree: &[Node; 16], at: u8, sum: u64) -> u64 {
        let node = tree[usize::from(at)];
        let sum = if node.left == 0 { sum } else { walk(tree, node.left, sum) };
        let sum = mix(sum, u64::from(node.key));
        if node.right == 0 { sum } else { walk(tree, node.right, sum) }
    }
    walk(&tree, 0, 0)
}
