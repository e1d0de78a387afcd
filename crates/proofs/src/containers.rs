//! What the C++ library's functions on nodes of containers will write: trees (map, set), lists, hash tables;
//! and C's qsort.
//!
//! The headers declare the links of nodes, and leave to functions of the library what does not depend on the
//! types in a container (plugin/src/segments/containers.cc). So what such a function writes can be said
//! beforehand, by going the ways that it goes: a tree is balanced again along the path from the place of the
//! change to the root, by painting nodes and by turning at most three times. All that is found belongs to the
//! container, whose links only the calling thread uses meanwhile: more than what is written may be saved, and
//! put back.

use crate::bound::Bound;
use crate::join::{At, Summary, Touch};

/// The functions, in the order of [`written`].
pub static CONTAINERS: Bound<11> = Bound::new([
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
    "_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
    "_ZNSt8__detail15_List_node_base9_M_unhookEv",
    "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_",
    "_ZNSt8__detail15_List_node_base4swapERS0_S1_",
    "_ZNSt8__detail15_List_node_base10_M_reverseEv",
    "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm",
    "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm",
    "_ZSt11_Hash_bytesPKvmm",
    SORT,
]);
const SORT: &str = "qsort";

/// What each of them is to its callers: it reads and writes what nobody has told of, and all that it writes
/// is saved in front of each call. Of what is sorted, its callers know where it is.
pub(crate) fn summary(target: usize) -> Summary {
    let known = Summary { library: true, saves: true, ..Summary::default() };
    if CONTAINERS.number(target) == CONTAINERS.number_of(SORT) {
        let touch = |writes| Touch { at: At::Behind(0), writes, bytes: None, always: false };
        return Summary { touches: vec![touch(false), touch(true)], ..known };
    }
    Summary { reads_more: true, writes_more: true, ..known }
}

/// Who is told what is written: the first byte, and how many.
type Tell<'a> = &'a mut dyn FnMut(usize, usize);

/// Tells what function `number` will write when it is called with these arguments.
///
/// # Safety
/// It is about to be: what the arguments lead to is a container's.
pub unsafe fn written(number: usize, arguments: &[usize; 4], tell: Tell<'_>) {
    let [a, b, c, d] = *arguments;
    // SAFETY: by the caller's promise.
    unsafe {
        match number {
            0 => inserted(b, c, d, tell),
            1 => erased(a, b, tell),
            2 => [a, b, link(b).before].into_iter().for_each(|n| tell(n, LINK)),
            3 => [link(a).next, link(a).before].into_iter().for_each(|n| tell(n, LINK)),
            4 => [a, b, c].into_iter().flat_map(|n| [n, link(n).before]).for_each(|n| tell(n, LINK)),
            5 => {
                [a, b].into_iter().flat_map(|n| [n, link(n).next, link(n).before]).for_each(|n| tell(n, LINK))
            }
            6 => all_around(a, tell),
            // The number of elements at which the table grows next.
            7 | 8 => tell(a + 8, 8),
            // So many elements of such a size.
            10 if b > 1 && c > 0 => tell(a, b.saturating_mul(c)),
            _ => {}
        }
    }
}

/// A node of a list, as bits/stl_list.h has it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Link {
    next: usize,
    before: usize,
}

const LINK: usize = size_of::<Link>();

/// # Safety
/// There is a node of a list.
unsafe fn link(at: usize) -> Link {
    // SAFETY: by the caller's promise.
    unsafe { *(at as *const Link) }
}

/// A list is turned round.
///
/// # Safety
/// The list of a node.
unsafe fn all_around(first: usize, tell: Tell<'_>) {
    let mut at = first;
    loop {
        tell(at, LINK);
        // SAFETY: by the caller's promise.
        at = unsafe { link(at) }.next;
        if at == first {
            return;
        }
    }
}

/// A node of a tree, as bits/stl_tree.h has it. The header, which is the root's parent, is one, too: its
/// links lead to the root, the first and the last node.
#[derive(Clone, Copy)]
#[repr(C)]
struct Node {
    color: u32,
    parent: usize,
    left: usize,
    right: usize,
}

const NODE: usize = size_of::<Node>();
const RED: u32 = 0;

/// # Safety
/// There is a node of a tree.
unsafe fn node(at: usize) -> Node {
    // SAFETY: by the caller's promise.
    unsafe { *(at as *const Node) }
}

/// # Safety
/// There is a node of a tree, or none (0): that is black.
unsafe fn is_red(at: usize) -> bool {
    // SAFETY: by the caller's promise.
    at != 0 && unsafe { node(at) }.color == RED
}

fn told(at: usize, tell: Tell<'_>) {
    if at != 0 {
        tell(at, NODE);
    }
}

/// Tells of a node, and of what is at most so many levels below it.
///
/// # Safety
/// There is a node of a tree, or none.
unsafe fn below(at: usize, levels: u32, tell: Tell<'_>) {
    told(at, tell);
    if at != 0 && levels > 0 {
        // SAFETY: by the caller's promise.
        unsafe {
            below(node(at).left, levels - 1, tell);
            below(node(at).right, levels - 1, tell);
        }
    }
}

/// `new`, a red leaf, is linked in below `parent`. As long as that is red, too, it and its sibling are
/// painted, and the same is looked at two levels above; at last two nodes are turned.
///
/// # Safety
/// As of [`written`]; nothing has been stored in the new node's links yet.
unsafe fn inserted(new: usize, parent: usize, header: usize, tell: Tell<'_>) {
    // SAFETY: by the caller's promise, for all nodes on the way.
    unsafe {
        let root = node(header).parent;
        // The root is painted black at the end.
        [header, new, parent, root].into_iter().for_each(|n| told(n, tell));
        if root == 0 {
            return;
        }
        let (mut at, mut children, mut parent) = (new, [0, 0], parent);
        while at != root && node(parent).color == RED {
            told(parent, tell);
            let above = node(parent).parent;
            let top = node(above);
            told(above, tell);
            let other = if parent == top.left { top.right } else { top.left };
            if !is_red(other) {
                // The parent, or the node, comes to where the one above is: who is linked to them changes.
                let moved = [top.parent, node(parent).left, node(parent).right, children[0], children[1]];
                moved.into_iter().for_each(|n| told(n, tell));
                return;
            }
            told(other, tell);
            (at, parent, children) = (above, top.parent, [top.left, top.right]);
        }
    }
}

/// `gone` is taken out. If it has two children, the next node comes to its place, and is what is missing
/// below. If that was black, its sibling, or what is below that, is painted or turned, or the same is looked
/// at one level above.
///
/// # Safety
/// As of [`written`].
unsafe fn erased(gone: usize, header: usize, tell: Tell<'_>) {
    // SAFETY: by the caller's promise, for all nodes on the way.
    unsafe {
        let g = node(gone);
        [header, gone, g.parent, g.left, g.right].into_iter().for_each(|n| told(n, tell));
        // Where a node is missing: what is there instead (or nothing), below which node, on which side. In
        // the place of `gone` the next node will stand, with its color: going on, they are one.
        let (color, mut at, mut parent, mut is_left);
        if g.left == 0 || g.right == 0 {
            (color, at, parent) = (g.color, g.left.max(g.right), g.parent);
            is_left = node(parent).left == gone;
        } else {
            let mut next = g.right;
            while node(next).left != 0 {
                next = node(next).left;
            }
            told(next, tell);
            (color, at) = (node(next).color, node(next).right);
            (parent, is_left) = if next == g.right { (gone, false) } else { (node(next).parent, true) };
            told(parent, tell);
        }
        told(at, tell);
        if color == RED {
            return;
        }
        while parent != header && !is_red(at) {
            let p = node(parent);
            [parent, p.parent].into_iter().for_each(|n| told(n, tell));
            let other = if is_left { p.right } else { p.left };
            let o = node(other);
            if o.color == RED || is_red(o.left) || is_red(o.right) {
                // Turned once, or, below a red one, twice more.
                below(other, if o.color == RED { 3 } else { 2 }, tell);
                return;
            }
            told(other, tell);
            (at, parent) = (parent, p.parent);
            is_left = node(parent).left == at;
        }
        told(at, tell);
    }
}

#[cfg(test)]
mod tests;
