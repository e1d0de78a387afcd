//! Who comes first to what a checkpoint was to do without (PROMP_CKPT_POISON=1). After memory was put back
//! its pages are missing, and the kernel lets whoever comes to one of them wait until it is provided
//! (`sys/kernel/uffd.rs`). A host of its own, the *lookout*, hears of that, system calls included. Who writes
//! finds the poison around what it writes. Who reads finds poison, too, and the proof was wrong: which memory
//! that is, at which place it was said to be dead, and who reads it, is said, once for each.
//!
//! Only the first access to a page tells. Of a page that was written to in part the rest holds poison, as
//! ever. So it is where a page is not missing (memory of a file, such as variables with an initial value,
//! and the main stack), and where the system does not let its own accesses wait. An instruction that reads
//! what it then writes is a write for the kernel: so the instruction is looked at. What the runtime reads is
//! nobody's read.
//!
//! It lasts until memory is put back again. A checkpoint does without what nobody has come to since, and
//! gives back to the tracker those ranges in which nothing is left. What the program gives back meanwhile
//! (`munmap`, MADV_DONTNEED) is the kernel's, and reads as zeros; what it moves is looked out for where it
//! goes.

use crate::image::{DeadWord, PAGE};
use crate::say;
use crate::sys::door::Door;
use crate::sys::uffd::{Event, Uffd};
use crate::sys::{blocking_call, host, maps, preserved_memory, syscall};
use crate::{keep as kept, ranges};
use core::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A NaN that no computation makes, as a double and as two floats.
const POISON: u32 = 0x7ffc_dead;
/// So many bytes are filled at once.
const PIECE: usize = 1 << 20;
/// How often it is looked whether a thread waits already that is about to.
const LOOKS: u32 = 10_000;

/// Memory: [start, end), in order, apart from each other.
type Ranges = Vec<(usize, usize)>;

/// So many bytes of poison, at most [`PIECE`].
pub(crate) fn poison(bytes: usize) -> Vec<u8> {
    POISON.to_ne_bytes().repeat(bytes.min(PIECE).div_ceil(size_of::<u32>()))
}

/// What the keeper tells it, and what it knows.
#[derive(Default)]
struct State {
    /// What is missing and nobody has come to yet.
    left: Ranges,
    /// What the kernel lets everybody wait for.
    watched: Ranges,
    /// What the program has said of it,
    words: Vec<DeadWord>,
    /// ... before which checkpoint.
    generation: u64,
    /// What has been said already.
    told: Vec<String>,
}

/// See the module's text. In the kept region, for good.
pub(crate) struct Lookout {
    uffd: Uffd,
    /// A page of ours.
    sign: (usize, usize),
    door: Door,
    state: Mutex<State>,
    found: AtomicBool,
}

impl Lookout {
    /// With its host, which has nothing to do yet. `None` where the system does not allow it.
    pub(crate) fn new() -> Option<&'static Self> {
        let uffd = Uffd::awaiting()?;
        let sign = preserved_memory::pages(PAGE)? as usize;
        let (stack, tp) = (host::new_kept_stack()?, host::own_thread_pointer()?);
        let lookout: &'static Self = preserved_memory::leak(Self {
            uffd,
            sign: (sign, sign + PAGE),
            door: Door::open(),
            state: Mutex::default(),
            found: AtomicBool::new(false),
        });
        // SAFETY: a fresh stack and a control block of its own; `main` keeps to what such a host may do.
        let tid = unsafe { host::spawn_with(stack, tp, main, core::ptr::from_ref(lookout) as usize) }?;
        kept::get().hosts.own[3].store(tid, Relaxed);
        Some(lookout)
    }

    /// Descriptors of ours, which are no files of the program.
    pub(crate) fn descriptors(&self) -> [i32; 2] {
        [self.uffd.0, self.door.0]
    }

    /// Has anybody read what was to be dead?
    pub(crate) fn has_found(&self) -> bool {
        self.found.load(Relaxed)
    }

    /// While the threads are frozen: from here on it looks out for who comes to `range`, all of which is
    /// missing and nobody's affair. False if that cannot be.
    pub(crate) fn begin(&self, range: (usize, usize), words: &[DeadWord], generation: u64) -> bool {
        let mut s = self.state();
        let watches = self.uffd.await_missing(range);
        if watches {
            s.left.push(range);
            s.watched.push(range);
            s.words = words.into();
            s.generation = generation;
        }
        watches
    }

    /// What nobody has come to yet.
    pub(crate) fn left(&self) -> Ranges {
        self.state().left.clone()
    }

    /// While the threads are frozen: what is watched and holds nothing any more that nobody has come to is
    /// nobody's affair from here on; `all`: nothing is looked out for. Returns what that was.
    pub(crate) fn end(&self, all: bool) -> Ranges {
        let mut s = self.state();
        if all {
            s.left.clear();
        }
        let State { left, watched, .. } = &mut *s;
        let done: Ranges = watched.extract_if(.., |w| !ranges::meet(left, w.0, w.1)).collect();
        done.iter().for_each(|&r| self.uffd.unwatch(r));
        done
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host's life.
    fn attend(&self) -> ! {
        let content = poison(PAGE);
        // Pages that the kernel has not taken because something else was happening there.
        let mut again: Vec<(usize, bool)> = Vec::new();
        loop {
            self.uffd.wait((!again.is_empty()).then_some(1_000_000));
            // The descriptor may have been closed, and be another file's.
            if !self.uffd.wake(self.sign) {
                syscall::exit();
            }
            // Whoever waits goes on when its page is there: what is known of it must be true then.
            let mut s = self.state();
            again.retain(|&(page, dead)| !self.provide(page, dead, &content));
            while let Some(event) = self.uffd.read() {
                match event {
                    Event::Write(_) => {}
                    Event::Missing { at, writes, by } => {
                        let page = at / PAGE * PAGE;
                        let dead = ranges::meet(&s.left, page, page + PAGE);
                        if dead {
                            self.first_access(&mut s, at, writes, by);
                            s.left = ranges::without(&s.left, &[(page, page + PAGE)]);
                        }
                        again.retain(|a| a.0 != page);
                        if !self.provide(page, dead, &content) {
                            again.push((page, dead));
                        }
                    }
                    Event::Gone(start, end) => {
                        s.left = ranges::without(&s.left, &[(start, end)]);
                    }
                    Event::Moved(from, to, len) => {
                        let s = &mut *s;
                        for list in [&mut s.left, &mut s.watched] {
                            let moved = ranges::within(list, &[(from, from + len)]);
                            let there = moved.iter().map(|r| (r.0 - from + to, r.1 - from + to)).collect();
                            *list = ranges::ordered([ranges::without(list, &moved), there].concat());
                        }
                    }
                }
            }
        }
    }

    /// Provides a page, with poison if it is dead, and whoever waits for it goes on. False if not now.
    fn provide(&self, page: usize, dead: bool, content: &[u8]) -> bool {
        match self.uffd.provide(page, PAGE, dead.then_some(content)) {
            Err(libc::EAGAIN) => false,
            // It is there already, or nobody's any more.
            Err(_) => self.uffd.wake((page, page + PAGE)),
            Ok(()) => true,
        }
    }

    /// `tid` is the first one that comes to a page that is dead, at `at`.
    fn first_access(&self, s: &mut State, at: usize, writes: bool, tid: u32) {
        // It has been stopped meanwhile, and will come again.
        let Some(by) = self.where_is(tid) else { return };
        // Or by what it has called last, if that copies memory.
        let is_ours = !by.in_call && (is_runtimes(by.pc) || is_runtimes(self.word(by.sp)));
        let reads = !writes || (!by.in_call && self.reads_what_it_writes(by.pc));
        if reads && !is_ours {
            self.found.store(true, Relaxed);
            let k = kept::get();
            let seat = k.seats.iter().find(|seat| seat.host.load(Relaxed) == tid);
            let thread = match seat.and_then(|seat| seat.logical()) {
                Some(t) => format!("thread {}", t.number()),
                None => "a thread of the program's own".into(),
            };
            let code = match by.in_call {
                true => format!("in a system call from {}", described(by.pc, 1)),
                false => format!("at {}", described(by.pc, 0)),
            };
            s.tell(at, &thread, &code);
        }
    }

    /// Where a thread is that waits for a page, as the kernel has it; it may be about to.
    fn where_is(&self, tid: u32) -> Option<Where> {
        for _ in 0..LOOKS {
            if let Some(w) = Where::read(&blocking_call::call(tid)?) {
                return Some(w);
            }
            syscall::sched_yield();
        }
        None
    }

    fn word(&self, at: usize) -> usize {
        let mut word = [0; size_of::<usize>()];
        self.door.read(at, &mut word);
        usize::from_ne_bytes(word)
    }

    /// Does the instruction at `pc` read the memory that it writes?
    fn reads_what_it_writes(&self, pc: usize) -> bool {
        const LONGEST: usize = 15;
        let mut code = [0; LONGEST];
        let n = LONGEST.min(PAGE - pc % PAGE);
        if !self.door.read(pc, &mut code) && !self.door.read(pc, &mut code[..n]) {
            return false;
        }
        changes_memory(&code)
    }
}

/// Does the instruction in `code`, whose operand is memory that it writes, read that, too? By hand: a
/// decoder's tables are made when they are first used, here in memory that no restart has.
fn changes_memory(code: &[u8]) -> bool {
    const PREFIXES: [u8; 11] = [0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65];
    let is_prefix = |b: &u8| PREFIXES.contains(b);
    let first = code.iter().position(|b| !is_prefix(b)).unwrap_or(0);
    let rex = code.get(first).is_some_and(|b| b & 0xf0 == 0x40);
    let at = first + usize::from(rex);
    let &[op, second, third, ..] = &code[at..] else { return false };
    // The middle bits of the byte behind the opcode are a part of it where there is one operand.
    let part = second >> 3 & 7;
    match op {
        0x0f => match second {
            0xb0 | 0xb1 | 0xc0 | 0xc1 => true, // cmpxchg xadd
            0xa4 | 0xa5 | 0xac | 0xad => true, // shld shrd
            0xab | 0xb3 | 0xbb => true,        // bts btr btc
            0xba => third >> 3 & 7 > 4,
            0xc7 => third >> 3 & 7 == 1, // cmpxchg16b
            _ => false,
        },
        0x00..=0x33 => op & 7 < 2,             // add or adc sbb and sub xor
        0x80 | 0x81 | 0x83 => part != 7,       // ... with a number, but cmp
        0x86 | 0x87 => true,                   // xchg
        0xc0 | 0xc1 | 0xd0..=0xd3 => true,     // rotations and shifts
        0xf6 | 0xf7 => part == 2 || part == 3, // not neg
        0xfe => part < 2,                      // inc dec
        0xff => part < 2,
        _ => false,
    }
}

/// Where a thread is.
struct Where {
    sp: usize,
    pc: usize,
    /// In a system call, which has been made there.
    in_call: bool,
}

impl Where {
    /// "-1 SP PC", or a call's number, its arguments, SP, PC; "running": it does not wait (yet).
    fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[first, .., sp, pc] = &words[..] else { return None };
        let hex = |w: &str| usize::from_str_radix(w.trim_start_matches("0x"), 16).ok();
        Some(Self { sp: hex(sp)?, pc: hex(pc)?, in_call: first != "-1" })
    }
}

impl State {
    /// Somebody reads at `at` first.
    fn tell(&mut self, at: usize, thread: &str, code: &str) {
        let word = self.words.iter().find(|w| w.start <= at && at < w.end);
        let (what, offset) = match word {
            Some(w) if !w.what.is_empty() => (w.what.clone(), at - w.start),
            _ => named(at, word),
        };
        let place = match word {
            Some(w) if !w.place.is_empty() => w.place.clone(),
            Some(w) => described(w.at, 1),
            None => "a place that is not known any more".into(),
        };
        let told = format!("{what} {place}");
        if self.told.contains(&told) {
            return;
        }
        self.told.push(told);
        say!(
            "a wrong proof: {what} was left out of checkpoint {}, as dead at {place}, and is read before it \
             is written: {thread} reads {offset} bytes behind its beginning {code}. It holds NaNs there. The \
             checkpoint stays: no other one is taken in this run",
            self.generation
        );
    }
}

/// What lies at `at`: a static variable, or what somebody has said is dead.
fn named(at: usize, word: Option<&DeadWord>) -> (String, usize) {
    let variable = maps::in_a_file(at).and_then(|f| f.symbol);
    match (variable, word) {
        (Some((name, offset)), _) => (name, offset as usize),
        (None, Some(w)) => (format!("memory of {} bytes at {:#x}", w.end - w.start, w.start), at - w.start),
        (None, None) => (format!("memory at {at:#x}"), 0),
    }
}

/// The code at `pc`, less `less`, as users can look it up.
fn described(pc: usize, less: usize) -> String {
    match maps::in_a_file(pc - less) {
        Some(f) => {
            let function = f.symbol.map_or_else(|| "?".into(), |(name, _)| name);
            format!("{function} (addr2line -e {} {:#x})", f.path, f.address)
        }
        None => format!("{pc:#x}"),
    }
}

/// Is it the runtime's code?
fn is_runtimes(pc: usize) -> bool {
    let all = maps::all();
    let file = |at: usize| maps::find(&all, at).map(|m| (&m.dev, m.inode)).filter(|m| m.1 != 0);
    let own = file(is_runtimes as *const () as usize);
    own.is_some() && file(pc) == own
}

/// The lookout's host. Signals are blocked in it, as in the keeper's, from which it is made.
///
/// # Safety
/// For [`host::spawn_with`]; `arg` is a leaked [`Lookout`].
unsafe extern "C" fn main(arg: usize) -> ! {
    crate::sys::follow::begin();
    // SAFETY: by the caller's promise.
    unsafe { &*(arg as *const Lookout) }.attend()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_poison_is_a_quiet_nan() {
        let double = f64::from_bits(u64::from(POISON) << 32 | u64::from(POISON));
        assert!(double.is_nan() && f32::from_bits(POISON).is_nan());
        assert_eq!((poison(PAGE).len(), poison(usize::MAX).len()), (PAGE, PIECE));
    }

    /// As `as` and `objdump -d` have them.
    #[test]
    fn instructions_that_read_what_they_write() {
        let both: [&[u8]; 10] = [
            &[0x48, 0xff, 0x00],             // incq (%rax)
            &[0x48, 0x01, 0x10],             // add %rdx,(%rax)
            &[0x83, 0x2c, 0x88, 0x01],       // subl $1,(%rax,%rcx,4)
            &[0xf0, 0x48, 0x0f, 0xb1, 0x0a], // lock cmpxchg %rcx,(%rdx)
            &[0xf0, 0x0f, 0xc1, 0x07],       // lock xadd %eax,(%rdi)
            &[0x87, 0x07],                   // xchg %eax,(%rdi)
            &[0x48, 0xf7, 0x18],             // negq (%rax)
            &[0x66, 0xc1, 0x20, 0x03],       // shlw $3,(%rax)
            &[0x0f, 0xba, 0x28, 0x03],       // btsl $3,(%rax)
            &[0x41, 0x80, 0x08, 0x01],       // orb $1,(%r8)
        ];
        let one: [&[u8]; 7] = [
            &[0x48, 0x89, 0x10],       // mov %rdx,(%rax)
            &[0xc6, 0x00, 0x01],       // movb $1,(%rax)
            &[0x83, 0x38, 0x01],       // cmpl $1,(%rax)
            &[0x0f, 0x11, 0x00],       // movups %xmm0,(%rax)
            &[0xc5, 0xfd, 0x11, 0x00], // vmovupd %ymm0,(%rax)
            &[0xf3, 0x48, 0xab],       // rep stos
            &[0xff, 0x30],             // push (%rax)
        ];
        let changes = |code: &&[u8]| changes_memory(&[code, &[0; 12][..]].concat());
        assert!(both.iter().all(&changes));
        assert!(!one.iter().any(changes));
    }

    #[test]
    fn where_threads_wait() {
        let read = |text: &str| Where::read(text).map(|w| (w.sp, w.pc, w.in_call));
        assert_eq!(read("-1 0x7ffc10 0x401000\n"), Some((0x7ffc10, 0x401000, false)));
        let call = "1 0x1 0x7f00 0x10 0x0 0x0 0x0 0x7ffc10 0x401000\n";
        assert_eq!(read(call), Some((0x7ffc10, 0x401000, true)));
        assert_eq!((read("running\n"), read("")), (None, None));
    }
}
