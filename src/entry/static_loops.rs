//! Static loops and `distribute` as GCC 17 compiles them, and the calls by which it tells where constructs
//! end (`-fopenmp-ompt`).
//!
//! The compiled code works out its share of a static loop itself, from the number of threads and the thread's
//! own, which one call returns. To the compiler that call is a pure question: one may do for several loops of
//! the same length, or stand before a loop around them. So it says that a share of so many iterations begins
//! here, but not that no other begins without it; and a share ends with whatever call comes next. With
//! `-fopenmp-ompt` each loop has its own calls, with `=extended` each chunk, too.
//!
//! Each of these calls is a save point: a thread that is lost in its share begins it again, not the whole
//! region.

use super::light::light;
use super::omp::export;
use crate::icv::Sched;
use crate::observe;
use crate::observe::event::{Construct, Event, Row, Work};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::sys::asm::MEMBER;
use crate::team::member::Member;
use crate::team::team::Team;
use crate::team::thread::{Thread, current};
use crate::work::ledger::{CHUNKS, CONSTRUCT, LENGTH, Ledger};
use core::mem::offset_of;

/// A `_Complex int`: `real` in the lower half.
fn complex(real: u32, imaginary: u32) -> u64 {
    u64::from(imaginary) << 32 | u64::from(real)
}

fn done(thr: &'static Thread) {
    save::point(thr, SaveKind::After(0));
}

/// A thread begins its share of a static loop of `total` iterations: the number of threads, and the thread's.
extern "C" fn begin(total: u64) -> u64 {
    let thr = current();
    let m = thr.member();
    m.ledger.deal(total);
    let (threads, num) = (m.team().size(), m.num.get());
    // The share of a loop that is not dealt out in chunks: of those that are, nobody knows more here.
    let (n, i) = (u64::from(threads), u64::from(num));
    let lo = total / n * i + i.min(total % n);
    let hi = lo + total / n + u64::from(i < total % n);
    thr.tell(Event::Chunk { work: Work::Loop, lo, hi });
    let both = complex(threads, num);
    save::point(thr, SaveKind::After(both as usize));
    both
}

/// A chunk of the share begins, by number of the iteration.
extern "C" fn dispatch(first: u64, count: u64) {
    let thr = current();
    thr.member().ledger.deal_chunk(first, count);
    thr.tell(Event::Chunk { work: Work::Loop, lo: first, hi: first.saturating_add(count) });
    done(thr);
}

/// [`begin`] where the compiled code says that it is this loop's, and will say where it ends.
extern "C" fn begin_told(total: u64) -> u64 {
    let construct = Construct { schedule: Sched::Static as u8, total, chunk: 0 };
    current().tell(Event::WorkBegin { work: Work::Loop, construct });
    begin(total)
}

/// The share's end.
extern "C" fn end() {
    let thr = current();
    thr.member().ledger.end_dealt();
    thr.tell(Event::WorkEnd { work: Work::Loop });
    done(thr);
}

/// The end of a construct that needs nothing done.
extern "C" fn passed() {
    done(current());
}

extern "C" fn single_end() {
    current().tell(Event::SingleEnd);
    passed();
}

extern "C" fn masked_end() {
    current().tell(Event::MaskedEnd);
    passed();
}

/// Does the thread of this number in the team ask? With the region's end told.
extern "C" fn masked_with_end(number: i32) -> bool {
    let thr = current();
    let yes = thr.num() as i32 == number;
    if yes {
        thr.tell(Event::MaskedBegin);
    }
    save::point(thr, SaveKind::After(yes as usize));
    yes
}

/// The event's bit.
const CHUNK: u32 = Row::Chunk as u32;
const _: () = assert!(CHUNK < 31);

light! {
    /// `GOMP_loop_static_worksharing`. A chunk that the runtime has handed out stays in the ledger, wherever
    /// the compiler has moved the call to.
    GOMP_loop_static_worksharing => promp_static_loop,
    [
        // Does a listener want chunks?
        "test dword ptr [rip + {wanted}], {chunk}",
        "jnz 2f",
        "mov r8, qword ptr [rcx + {member}]",
        "mov rdx, qword ptr [r8 + {team}]",
        "mov eax, dword ptr [r8 + {num}]",
        "shl rax, 32",
        "mov edx, dword ptr [rdx + {size}]",
        "or rax, rdx",
        "mov rdx, qword ptr [r8 + {construct}]",
        "add rdx, 2",
        "cmp rdx, 2",
        "ja 3f",
        "mov qword ptr [r8 + {length}], rdi",
        "mov qword ptr [r8 + {construct}], -1",
        "add qword ptr [r8 + {chunks}], 1",
        "3:",
        "ret"
    ],
    wanted = sym observe::WANTED,
    chunk = const 1u32 << CHUNK,
    member = const MEMBER,
    team = const offset_of!(Member, team),
    num = const offset_of!(Member, num),
    size = const offset_of!(Team, size),
    construct = const offset_of!(Member, ledger) + CONSTRUCT,
    length = const offset_of!(Member, ledger) + LENGTH,
    chunks = const offset_of!(Member, ledger) + CHUNKS,
}
const _: () = assert!(Ledger::DEALT == u64::MAX && Ledger::DEALT_CHUNK == u64::MAX - 1);

stub! {
    promp_static_loop => begin;
    GOMP_loop_static_worksharing_start => begin_told;
    GOMP_loop_static_worksharing_dispatch => dispatch;
    GOMP_loop_static_worksharing_end => end;
    GOMP_has_masked_thread_num_with_end => masked_with_end;
    GOMP_masked_end => masked_end;
    GOMP_single_end => single_end;
    GOMP_scope_end => passed;
}

fn league() -> u64 {
    let (number, teams) = current().league.get();
    complex(teams, number)
}

export! {
    /// The number of teams, and the team's own; the compiled code works the team's share out from them.
    fn GOMP_distribute_static_worksharing(_total: u64) -> u64 { league() }
    /// The same, with the construct's end told.
    fn GOMP_distribute_static_worksharing_start(_total: u64) -> u64 { league() }
    /// A chunk of the team's begins.
    fn GOMP_distribute_static_worksharing_dispatch(_first: u64, _count: u64) {}
    /// The end.
    fn GOMP_distribute_static_worksharing_end() {}
    /// Does the thread of this number in the team ask? `masked` and `master`.
    fn GOMP_has_masked_thread_num(number: i32) -> bool { current().num() as i32 == number }
}
