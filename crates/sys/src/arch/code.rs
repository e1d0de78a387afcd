//! Looks at machine code: can an atomic read-modify-write instruction have been executed between two points
//! of a function?
//!
//! GCC merges the private results of a reduction into the shared variable with such an instruction (`lock
//! add`, a `lock cmpxchg` loop), outside any runtime call. Work after it must not be executed again. The walk
//! (code/walk.rs) follows the control flow from the resume point, steps over calls, and ends where an entry
//! stub is called: that is a save point, the resume point would be there. But the thread may have failed on
//! the way there, in the linkage table or among a stub's first instructions, or on its way back to the
//! runtime from a function that has ended: then all that is behind it has been executed. The jump of a
//! `switch` goes wherever its table says (jumps.rs); another indirect jump cannot be followed: then the
//! answer is that it can have been executed.

mod walk;

use crate::jumps::Jumps;
use std::collections::HashSet;
use walk::Walk;

/// Do the bytes at these addresses belong to executable code that may be read? Asked before every read.
pub type Readable<'a> = &'a dyn Fn(usize, usize) -> bool;

/// A call of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// The function's address; before the first call through a table that of what has the loader find it.
    pub at: usize,
    /// The entry of the table that it stands in; 0: none.
    pub slot: usize,
}

/// Is `addr` the address behind a call instruction?
pub fn follows_call(addr: usize, readable: Readable<'_>) -> bool {
    if addr < 8 || !readable(addr - 7, 7) {
        return false;
    }
    // SAFETY: `readable` vouches for the bytes.
    let b = unsafe { core::slice::from_raw_parts((addr - 7) as *const u8, 7) };
    b[2] == 0xe8 || (2..=7).any(|n| b[7 - n] == 0xff && b[8 - n] >> 3 & 7 == 2)
}

/// So far behind an address its function is looked through, in steps of so many bytes. What is handed to a
/// call stands in front of it, but for loops that the compiler has turned.
const BEHIND: usize = 4096;
const STEP: usize = 32;

/// Does the function around `pc`, which is being executed, name `address`: relative to the instruction, or as
/// it is? False where the unwind tables know no function there.
pub fn names(pc: usize, address: usize) -> bool {
    let from = super::unwind::function_around(pc);
    if from == 0 {
        return false;
    }
    let own = |at: &usize| super::unwind::function_around(*at) == from;
    let end = (pc..pc + BEHIND).step_by(STEP).take_while(own).last().unwrap_or(pc);
    (from..end.saturating_sub(3)).any(|at| {
        // SAFETY: four bytes of the function's code; compilers leave code readable, as unwinders need it.
        let word = unsafe { (at as *const u32).read_unaligned() };
        (at + 4).wrapping_add_signed(word as i32 as isize) == address || word as usize == address
    })
}

/// Where control was at the save point, and where it is now.
pub struct Path<'a> {
    /// Where execution would be resumed.
    pub from: usize,
    /// Return addresses of the callers at that time (or more: any word that looks like one).
    pub callers: &'a [usize],
    /// The program counter at the failure.
    pub pc: usize,
    /// Where the functions between may go on, if the program counter lies in code that they called: likewise.
    pub returns: &'a [usize],
    /// Do fences count like atomic updates?
    pub fences: bool,
}

/// Can an atomic read-modify-write have been executed on the way from the save point to the failure, in the
/// function of the save point or in one that it has returned to?
pub fn atomic_between(path: &Path<'_>, readable: Readable<'_>) -> bool {
    // Control goes outwards: from the save point's function, on its return, to its caller, and so on.
    let starts: Vec<usize> = core::iter::once(path.from).chain(path.callers.iter().copied()).collect();
    let jumps = Jumps::default();
    let (mut everywhere, mut behind) = (HashSet::new(), HashSet::new());
    // Return addresses of stubs that can be called, and can be behind an atomic.
    let (mut calls, mut calls_behind) = (HashSet::new(), HashSet::new());
    // Control can have left the functions that are walked through, and it can behind an atomic.
    let (mut can_leave, mut leaves_behind) = (false, false);
    for (k, &start) in starts.iter().enumerate() {
        let mut walk = Walk { fences: path.fences, ..Walk::new(readable, &jumps) };
        walk.run(start);
        let mut after = Walk { fences: path.fences, ..Walk::new(readable, &jumps) };
        for a in &walk.atomics {
            if let Some(i) = after.decode(*a) {
                after.run(i.next_ip() as usize);
            }
        }
        if after.returned {
            starts[k + 1..].iter().for_each(|&c| after.run(c));
        }
        if walk.blind || after.blind {
            return true;
        }
        for w in [&mut walk, &mut after] {
            if w.ends_in_stub {
                w.behind_stubs.extend(&starts[k + 1..]);
            }
        }
        can_leave |= walk.returned || walk.ends_in_stub;
        leaves_behind |= after.returned || after.ends_in_stub;
        everywhere.extend(walk.seen);
        calls.extend(walk.behind_stubs);
        behind.extend(after.seen);
        calls_behind.extend(after.behind_stubs);
        if !walk.returned {
            break;
        }
    }
    if everywhere.contains(&path.pc) {
        return behind.contains(&path.pc);
    }
    let is_in =
        |a: &HashSet<usize>, b: &HashSet<usize>| path.returns.iter().any(|t| a.contains(t) || b.contains(t));
    match is_in(&everywhere, &calls) {
        true => is_in(&behind, &calls_behind),
        // It has left, or come on a way that cannot be followed.
        false => leaves_behind || !can_leave,
    }
}

/// What a function is that is called.
pub enum Callee {
    /// One to be looked at like the caller.
    Walk,
    /// One that may be executed again wherever it has ended.
    Harmless,
    /// Another.
    Unknown,
}

/// What a walk came to.
#[derive(Clone, Copy)]
struct End {
    /// Nothing that must not be executed twice, and nothing that could not be followed.
    is_fine: bool,
    /// Control can have returned to a caller, as far as it is known.
    may_return: bool,
}

/// A function that is called.
enum Found {
    Harmless,
    Walked(End),
    Unknown,
    /// It is not known which one is called.
    Hidden,
}

/// The functions that are called by what has been walked through.
struct Called<'a> {
    readable: Readable<'a>,
    jumps: Jumps,
    all: HashSet<Option<Call>>,
}

impl<'a> Called<'a> {
    fn new(readable: Readable<'a>) -> Self {
        Self { readable, jumps: Jumps::default(), all: HashSet::new() }
    }

    fn walk(&mut self, start: usize) -> End {
        let mut walk = Walk::new(self.readable, &self.jumps);
        walk.run(start);
        let is_fine = !walk.blind && walk.atomics.is_empty();
        let end = End { is_fine, may_return: walk.returned || walk.blind };
        self.all.extend(&walk.callees);
        end
    }

    /// Is one of them `such`? Of those that are to be walked through the callees count, too.
    fn any(&mut self, callee: &dyn Fn(Call) -> Callee, such: impl Fn(Found) -> bool) -> bool {
        let mut known = HashSet::new();
        while let Some(&next) = self.all.iter().find(|c| !known.contains(*c)) {
            known.insert(next);
            let found = match next.map(|call| (call.at, callee(call))) {
                Some((at, Callee::Walk)) => Found::Walked(self.walk(at)),
                Some((_, Callee::Harmless)) => Found::Harmless,
                Some((_, Callee::Unknown)) => Found::Unknown,
                None => Found::Hidden,
            };
            if such(found) {
                return true;
            }
        }
        false
    }
}

/// May what is executed from `from` on, up to the next call of a stub, be executed again wherever it has
/// ended: does it come to no atomic read-modify-write, and to no function that is not harmless? `callers` as
/// in [`Path`].
pub fn is_harmless(
    from: usize,
    callers: &[usize],
    callee: &dyn Fn(Call) -> Callee,
    readable: Readable<'_>,
) -> bool {
    let mut called = Called::new(readable);
    for &start in core::iter::once(&from).chain(callers) {
        let end = called.walk(start);
        if !end.is_fine {
            return false;
        }
        if !end.may_return {
            break;
        }
    }
    !called.any(callee, |found| match found {
        Found::Harmless => false,
        Found::Walked(end) => !end.is_fine,
        Found::Unknown | Found::Hidden => true,
    })
}

/// Can what is executed from `from` on, up to the next call of a stub, come to a call of a function that
/// `callee` does not know? What cannot be followed calls none. `callers` as in [`Path`].
pub fn may_call(
    from: usize,
    callers: &[usize],
    callee: &dyn Fn(Call) -> Callee,
    readable: Readable<'_>,
) -> bool {
    let mut called = Called::new(readable);
    for &start in core::iter::once(&from).chain(callers) {
        if !called.walk(start).may_return {
            break;
        }
    }
    called.any(callee, |found| matches!(found, Found::Unknown))
}

#[cfg(test)]
mod tests;
