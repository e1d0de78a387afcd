//! The interface to the plugin's C++ side: its header is made of this (plugin/header).

use crate::graph::Graph;
use crate::kernel_sections::{self, Kind};
use crate::replay::{self, Access, Effect, Place, Segment, Verdict};
use core::ffi::{CStr, c_char, c_void};
use promp_layouts::Verdict as Answer;

/// An access writes.
pub const ACCESS_WRITES: u32 = 1;
/// It accesses all of its place whenever it is executed.
pub const ACCESS_WHOLE: u32 = 2;
/// It is atomic.
pub const ACCESS_ATOMIC: u32 = 4;
/// It adds.
pub const ACCESS_ADDS: u32 = 8;

/// A location.
#[repr(C)]
pub struct CPlace {
    object: u32,
    /// Nonzero: offset and length are the same whenever the segment is executed.
    fixed: u32,
    offset: i64,
    length: i64,
}

/// An access.
#[repr(C)]
pub struct CAccess {
    node: u32,
    place: u32,
    flags: u32,
    line: u32,
    /// 1 + the access that has filled a block at the same pointer before, on every way; 0: none.
    fill: u32,
    /// Nonzero: nothing is known of it yet; it counts in `pair` only.
    assumed: u32,
}

/// An effect.
#[repr(C)]
pub struct CEffect {
    what: *const c_char,
    line: u32,
    node: u32,
}

/// A segment. Edges are pairs of nodes.
#[repr(C)]
pub struct CSegment {
    nodes: usize,
    edges: *const [u32; 2],
    edge_count: usize,
    places: *const CPlace,
    place_count: usize,
    accesses: *const CAccess,
    access_count: usize,
    effects: *const CEffect,
    effect_count: usize,
    asks: *const u32,
    ask_count: usize,
    may_overlap: extern "C" fn(*mut c_void, u32, u32) -> bool,
    save: extern "C" fn(*mut c_void, *const CSaved),
    pair: extern "C" fn(*mut c_void, u32, u32),
    context: *mut c_void,
}

/// A write whose old value must be saved, and the `count` reads that it may meet.
#[repr(C)]
pub struct CSaved {
    write: u32,
    /// Nonzero: only outside of the block of its fill.
    outside: u32,
    meets: *const u32,
    count: usize,
}

/// The answer.
#[repr(C)]
pub struct CVerdict {
    verdict: promp_layouts::Verdict,
    /// Undo: the accesses that may meet; opaque: the line.
    read: u32,
    write: u32,
    line: u32,
    why: [c_char; 200],
}

/// # Safety
/// `p` is null or points to `n` elements.
unsafe fn slice<'a, T>(p: *const T, n: usize) -> &'a [T] {
    if n == 0 {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { core::slice::from_raw_parts(p, n) }
}

/// The segment that `s` describes.
///
/// # Safety
/// All pointers are valid for their counts, node and place numbers in range, texts end in zero.
unsafe fn segment(s: &CSegment) -> Segment {
    // SAFETY: by the caller's promise.
    unsafe {
        Segment {
            graph: Graph::new(
                s.nodes,
                slice(s.edges, s.edge_count).iter().map(|e| (e[0] as usize, e[1] as usize)),
            ),
            places: slice(s.places, s.place_count)
                .iter()
                .map(|p| Place { object: p.object, fixed: (p.fixed != 0).then_some((p.offset, p.length)) })
                .collect(),
            accesses: slice(s.accesses, s.access_count)
                .iter()
                .map(|a| Access {
                    node: a.node as usize,
                    place: a.place as usize,
                    writes: a.flags & ACCESS_WRITES != 0,
                    whole: a.flags & ACCESS_WHOLE != 0,
                    atomic: a.flags & ACCESS_ATOMIC != 0,
                    adds: a.flags & ACCESS_ADDS != 0,
                    line: a.line,
                    fill: (a.fill as usize).checked_sub(1),
                    assumed: a.assumed != 0,
                })
                .collect(),
            effects: slice(s.effects, s.effect_count)
                .iter()
                .map(|e| Effect {
                    what: CStr::from_ptr(e.what).to_string_lossy().into_owned(),
                    line: e.line,
                    node: e.node as usize,
                })
                .collect(),
            asks: slice(s.asks, s.ask_count).iter().map(|&n| n as usize).collect(),
        }
    }
}

/// Decides on a segment. Its `save` is called for each write whose old value must be saved, and `pair` for
/// each exposed read and write that may meet, at least one of them assumed.
///
/// # Safety
/// All pointers are valid for their counts, node and place numbers in range, texts end in zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promp_analysis_decide(s: *const CSegment, out: *mut CVerdict) {
    // SAFETY: by the caller's promise.
    let (s, out) = unsafe { (&*s, &mut *out) };
    // SAFETY: likewise.
    let segment = unsafe { segment(s) };
    let aliases = |a: u32, b: u32| (s.may_overlap)(s.context, a, b);
    for (r, w) in replay::pairs(&segment, &aliases) {
        (s.pair)(s.context, r as u32, w as u32);
    }
    match replay::decide(&segment, &aliases) {
        Verdict::Idempotent => out.verdict = Answer::Idempotent,
        Verdict::Undo { writes, because } => {
            out.verdict = Answer::Undo;
            (out.read, out.write) = (because.0 as u32, because.1 as u32);
            for w in writes {
                let meets: Vec<u32> = w.meets.iter().map(|&r| r as u32).collect();
                let (write, outside) = (w.write as u32, w.outside as u32);
                (s.save)(s.context, &CSaved { write, outside, meets: meets.as_ptr(), count: meets.len() });
            }
        }
        Verdict::Opaque { why, line } => {
            out.verdict = Answer::Opaque;
            out.line = line;
            let n = why.len().min(out.why.len() - 1);
            out.why[..n].iter_mut().zip(why.bytes()).for_each(|(c, b)| *c = b as c_char);
            out.why[n] = 0;
        }
    }
}

/// A function's control flow, for the sections of its kernels; kinds are those of [`Kind`].
#[repr(C)]
pub struct CControl {
    nodes: usize,
    edges: *const [u32; 2],
    edge_count: usize,
    kinds: *const u8,
    /// Where it returns.
    exit: usize,
    /// Nobody puts marks around calls of this function.
    whole: bool,
    /// (context, begins, inside, nodes, count)
    mark: extern "C" fn(*mut c_void, bool, bool, *const u32, usize),
    /// (context, node, why)
    wrong: extern "C" fn(*mut c_void, u32, *const c_char),
    context: *mut c_void,
}

fn kind(byte: u8) -> Kind {
    [Kind::Neither, Kind::Kernel, Kind::Back, Kind::Mixed, Kind::Begin, Kind::End]
        .into_iter()
        .find(|&k| k as u8 == byte)
        .unwrap_or(Kind::Neither)
}

/// Finds the sections of a function, or, where it marks them by hand, what is wrong with them. Returns what
/// the function is as a whole.
///
/// # Safety
/// All pointers are valid for their counts, node numbers in range; there is a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promp_analysis_sections(c: *const CControl) -> u8 {
    // SAFETY: by the caller's promise.
    let (c, edges, kinds) = unsafe {
        let c = &*c;
        (c, slice(c.edges, c.edge_count), slice(c.kinds, c.nodes))
    };
    let graph = Graph::new(c.nodes, edges.iter().map(|e| (e[0] as usize, e[1] as usize)));
    let kinds: Vec<Kind> = kinds.iter().map(|&k| kind(k)).collect();
    if kinds.iter().any(|k| matches!(k, Kind::Begin | Kind::End)) {
        for (node, why) in kernel_sections::check(&graph, &kinds) {
            let text = std::ffi::CString::new(why).unwrap_or_default();
            (c.wrong)(c.context, node as u32, text.as_ptr());
        }
        return Kind::Mixed as u8;
    }
    let (whole, marks) = kernel_sections::sections(&graph, &kinds, c.exit, c.whole);
    for m in marks {
        let nodes: Vec<u32> = m.nodes.iter().map(|&n| n as u32).collect();
        (c.mark)(c.context, m.begins, m.inside, nodes.as_ptr(), nodes.len());
    }
    whole as u8
}
