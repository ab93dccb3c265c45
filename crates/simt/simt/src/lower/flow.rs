//! Computes where diverged lanes reconverge: at the immediate post-dominator of the branch.
//!
//! The algorithm is Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001). It runs on the reversed
//! graph of basic blocks, with one virtual exit.
//!
//! In a function that returns, an `exit` or a `trap` does not lead to the virtual exit. A lane that executes such an
//! instruction does not reconverge with any lane. The other lanes reconverge as if the path to the instruction did not
//! exist. (A GPU removes exited lanes from its convergence barriers. Compilers emit `exit` at points that control never
//! reaches.)

use crate::code::{Inst, NEVER, Op};

/// Sets the `reconverge` field of all branches.
pub(super) fn reconverge(code: &mut [Inst]) {
    let graph = Graph::of(code);
    let post = graph.post_dominators();
    for (block, post) in post.into_iter().enumerate() {
        let last = graph.end(block, code.len()) - 1;
        let reconvergence_pc = match post {
            Some(at) if at < graph.starts.len() => graph.starts[at] as u32,
            _ => NEVER,
        };
        match &mut code[last].op {
            Op::Branch { reconverge, .. } | Op::BranchIndexed { reconverge, .. } => {
                *reconverge = reconvergence_pc;
            }
            _ => {}
        }
    }
}

struct Graph {
    /// The first instruction of each basic block.
    starts: Vec<usize>,
    /// The successors of each block; the virtual exit is `starts.len()`.
    successors: Vec<Vec<usize>>,
}

impl Graph {
    fn of(code: &[Inst]) -> Self {
        let mut leader = vec![false; code.len() + 1];
        leader[0] = true;
        for (at, inst) in code.iter().enumerate() {
            for target in inst.op.targets() {
                leader[*target as usize] = true;
            }
            leader[at + 1] |= inst.op.is_jump();
        }
        let starts: Vec<usize> = (0..code.len()).filter(|at| leader[*at]).collect();
        let mut block_of = vec![0; code.len()];
        for (block, start) in starts.iter().enumerate() {
            let end = starts.get(block + 1).copied().unwrap_or(code.len());
            block_of[*start..end].fill(block);
        }
        let exit = starts.len();
        let returns = code.iter().any(|inst| matches!(inst.op, Op::Return));
        let mut graph = Graph { starts, successors: Vec::new() };
        for block in 0..exit {
            let last = graph.end(block, code.len()) - 1;
            let inst = &code[last];
            let next = if last + 1 < code.len() { block_of[last + 1] } else { exit };
            let targets = inst.op.targets().iter();
            let mut to: Vec<usize> = targets.map(|target| block_of[*target as usize]).collect();
            match inst.op {
                Op::Return => to.push(exit),
                Op::Exit | Op::Trap if !returns => to.push(exit),
                _ => {}
            }
            if !inst.op.is_jump() || inst.guard.is_some() {
                to.push(next);
            }
            graph.successors.push(to);
        }
        graph
    }

    fn end(&self, block: usize, len: usize) -> usize {
        self.starts.get(block + 1).copied().unwrap_or(len)
    }

    /// Returns the immediate post-dominator of each block; `None` for blocks that cannot reach the exit.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let exit = self.starts.len();
        let mut predecessors = vec![Vec::new(); exit + 1];
        for (block, to) in self.successors.iter().enumerate() {
            for target in to {
                predecessors[*target].push(block);
            }
        }
        // The post-order of the reversed graph, starting at the exit.
        let mut order = Vec::with_capacity(exit + 1);
        let mut number = vec![None; exit + 1];
        let mut seen = vec![false; exit + 1];
        let mut stack = vec![(exit, 0)];
        seen[exit] = true;
        while let Some((node, child)) = stack.pop() {
            if let Some(next) = predecessors[node].get(child) {
                stack.push((node, child + 1));
                if !seen[*next] {
                    seen[*next] = true;
                    stack.push((*next, 0));
                }
            } else {
                number[node] = Some(order.len());
                order.push(node);
            }
        }
        let mut post: Vec<Option<usize>> = vec![None; exit + 1];
        post[exit] = Some(exit);
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().rev().filter(|node| **node != exit) {
                let mut common: Option<usize> = None;
                for &to in &self.successors[node] {
                    if post[to].is_none() {
                        continue;
                    }
                    common = Some(common.map_or(to, |known| intersect(known, to, &post, &number)));
                }
                if common.is_some() && post[node] != common {
                    post[node] = common;
                    changed = true;
                }
            }
        }
        post.truncate(exit);
        post
    }
}

fn intersect(mut a: usize, mut b: usize, post: &[Option<usize>], number: &[Option<usize>]) -> usize {
    while a != b {
        while number[a] < number[b] {
            match post[a] {
                Some(up) => a = up,
                None => return b,
            }
        }
        while number[b] < number[a] {
            match post[b] {
                Some(up) => b = up,
                None => return a,
            }
        }
    }
    a
}
