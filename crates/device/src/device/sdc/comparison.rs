//! How the results of a section's executions are compared, and what is put back for the next execution.
//!
//! With *copies* the first results are set aside on the device (C), and the next ones are compared with
//! them bit for bit. With *signatures* only 128 bits of each piece of the first results are kept: a third
//! less memory. Pieces that have B's signature after an execution need not be put back, nor copied when the
//! results become the next B. And B itself can be checked: where two executions differ, its pieces must
//! still have the signatures that they had.

use super::super::backend::{Addr, Failed};
use super::super::fail;
use super::super::signature::{PIECE, Signature};
use super::Guarded;
use super::section::Section;
use crate::icv::devices::Keep;

/// To, from, bytes.
type Pair = (Addr, Addr, usize);

/// A part of a block that is signed by itself, and its copy in B.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    block: Addr,
    before: Addr,
    from: usize,
    bytes: usize,
}

/// What is kept of a section's executions.
pub(super) enum Results {
    /// Blocks to C, B to blocks.
    Copies { aside: Vec<Pair>, back: Vec<Pair> },
    /// B's signatures, and those after each execution.
    Signatures { pieces: Vec<Piece>, before: Vec<Signature>, runs: Vec<Vec<Signature>> },
}

/// Where two results differ: so many bytes of a block from there on.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) block: Addr,
    pub(super) from: usize,
    pub(super) bytes: usize,
}

/// Copies of those pieces that `wanted` says, neighbours in one.
fn joined(pieces: &[Piece], wanted: impl Fn(usize) -> bool, back: bool) -> Vec<Pair> {
    let mut list: Vec<Pair> = Vec::new();
    for (i, p) in pieces.iter().enumerate().filter(|&(i, _)| wanted(i)) {
        let (block, before) = (p.block + p.from, p.before + p.from);
        let (to, from) = if back { (block, before) } else { (before, block) };
        match list.last_mut() {
            Some(l) if i > 0 && pieces[i - 1].block == p.block && l.0 + l.2 == to => l.2 += p.bytes,
            _ => list.push((to, from, p.bytes)),
        }
    }
    list
}

impl Guarded {
    fn sign(&self, pieces: &[Piece], copy: bool) -> Vec<Signature> {
        let at = |p: &Piece| ((if copy { p.before } else { p.block }) + p.from, p.bytes);
        let list: Vec<(Addr, usize)> = pieces.iter().map(at).collect();
        self.inner.sign(&list).unwrap_or_else(|Failed| self.failed())
    }

    /// Signs what is new in B.
    pub(super) fn sign_copies(&self, s: &mut Section) {
        let mut new = Vec::new();
        for (&at, b) in &mut s.blocks {
            b.signatures.resize(b.used().div_ceil(PIECE), [0; 2]);
            let Some((lo, hi)) = b.unsigned.take() else { continue };
            let pieces = b.pieces_of(at);
            let touched = lo / PIECE..hi.div_ceil(PIECE).min(pieces.len());
            new.extend(touched.filter_map(|i| pieces.get(i).map(|p| (at, i, *p))));
        }
        let list: Vec<Piece> = new.iter().map(|n| n.2).collect();
        for ((at, i, _), signature) in new.into_iter().zip(self.sign(&list, true)) {
            if let Some(b) = s.blocks.get_mut(&at) {
                b.signatures[i] = signature;
            }
        }
    }

    /// Goes over to signatures where that is allowed: false if nothing is gained.
    pub(super) fn give_up_copies(&self, s: &mut Section) -> bool {
        if s.signs || self.settings.keep != Keep::Auto {
            return false;
        }
        s.signs = true;
        s.costs = None;
        for b in s.blocks.values_mut() {
            b.unsigned = Some((0, b.bytes));
            if b.aside != 0 && !self.inner.free(core::mem::take(&mut b.aside)) {
                self.failed();
            }
        }
        true
    }

    /// The first execution is done.
    pub(super) fn set_aside(&self, s: &mut Section) -> Results {
        if s.signs {
            self.sign_copies(s);
            let pieces: Vec<Piece> = s.blocks.iter().flat_map(|(&at, b)| b.pieces_of(at)).collect();
            let before = s.blocks.values().flat_map(|b| b.signatures.iter().copied()).collect();
            let runs = vec![self.sign(&pieces, false)];
            return Results::Signatures { pieces, before, runs };
        }
        let aside: Vec<Pair> = s.blocks.iter().map(|(&at, b)| (b.aside, at, b.used())).collect();
        let back = s.blocks.iter().map(|(&at, b)| (at, b.before, b.used())).collect();
        self.copies(&aside);
        Results::Copies { aside, back }
    }

    /// The blocks become what they were when the section began.
    pub(super) fn put_back(&self, results: &Results) {
        match results {
            Results::Copies { back, .. } => self.copies(back),
            Results::Signatures { pieces, before, runs } => {
                if runs.len() > 1 && self.sign(pieces, true) != *before {
                    fail(format_args!(
                        "device {}: the copy of the data that a section began with is not what it was: the \
                         device's memory is faulty, and the section cannot be repeated",
                        self.number
                    ));
                }
                let last = &runs[runs.len() - 1];
                self.copies(&joined(pieces, |i| last[i] != before[i], true));
            }
        }
    }

    /// Another execution is done: does it agree with an earlier one? If not, this one is kept, too.
    pub(super) fn agrees(&self, results: &mut Results) -> Result<(), Place> {
        match results {
            Results::Copies { aside, .. } => {
                match self.inner.compare(aside).unwrap_or_else(|Failed| self.failed()) {
                    None => Ok(()),
                    Some((i, from)) => {
                        self.copies(aside);
                        Err(Place { block: aside[i].1, from, bytes: 1 })
                    }
                }
            }
            Results::Signatures { pieces, runs, .. } => {
                let now = self.sign(pieces, false);
                let agreed = runs.contains(&now);
                let last = &runs[runs.len() - 1];
                let differs = (0..pieces.len()).find(|&i| now[i] != last[i]);
                runs.push(now);
                if agreed {
                    return Ok(());
                }
                let place = |i: usize| {
                    let p = pieces[i];
                    Place { block: p.block, from: p.from, bytes: p.bytes }
                };
                Err(differs.map(place).unwrap_or_default())
            }
        }
    }

    /// The results of the last execution are right: they are the next B. How many bytes were not those
    /// of B.
    pub(super) fn adopt(&self, s: &mut Section, results: Results) -> usize {
        let changed = match results {
            Results::Copies { aside, .. } => {
                // They are in the blocks and in C alike.
                s.blocks.values_mut().for_each(|b| core::mem::swap(&mut b.before, &mut b.aside));
                aside.iter().map(|c| c.2).sum()
            }
            Results::Signatures { pieces, before, mut runs } => {
                let last = runs.pop().unwrap_or_default();
                let list = joined(&pieces, |i| last[i] != before[i], false);
                self.copies(&list);
                let mut signatures = last.into_iter();
                for b in s.blocks.values_mut() {
                    b.signatures.iter_mut().zip(&mut signatures).for_each(|(to, from)| *to = from);
                }
                list.iter().map(|c| c.2).sum()
            }
        };
        for b in s.blocks.values_mut() {
            (b.valid, b.changed) = (true, Vec::new());
        }
        changed
    }
}

impl super::memory_blocks::Block {
    fn pieces_of(&self, block: Addr) -> Vec<Piece> {
        let used = self.used();
        let piece = |from| Piece { block, before: self.before, from, bytes: PIECE.min(used - from) };
        (0..used).step_by(PIECE).map(piece).collect()
    }
}
