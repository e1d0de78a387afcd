//! What the program has said of mappings beside their protection: madvise(2), mlock(2), mseal(2), mbind(2),
//! and unusual kinds of memory (mmap(2)).
//! Random number generators count on MADV_WIPEONFORK, keepers of secrets on MADV_DONTDUMP and locks.
//!
//! The kernel tells it in /proc/self/smaps alone, where it looks at every page: 15 ms a GiB. So it is asked
//! at the first checkpoint, when the program has said something since that changes more than speed, and from
//! then on for as long as there is something of the kind.

use crate::image::{Description, Map};
use crate::resources::resource::{Back, Frozen, No, Resource};
use crate::sys;
use crate::sys::got::calls_instead;
use crate::sys::{guards, maps};
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often the program has said something. In its memory: a rollback puts it back, and so it is another
/// number than the last one looked at, or the same state.
pub(crate) static SAID: AtomicU64 = AtomicU64::new(0);

/// One of the kernel's names for it, and how it comes and goes.
struct Flag {
    name: &'static str,
    on: c_int,
    off: c_int,
    /// It changes more than speed.
    matters: bool,
}

const fn flag(name: &'static str, on: c_int, off: c_int, matters: bool) -> Flag {
    Flag { name, on, off, matters }
}

/// By madvise(2).
const FLAGS: [Flag; 8] = [
    flag("dc", libc::MADV_DONTFORK, libc::MADV_DOFORK, true),
    flag("dd", libc::MADV_DONTDUMP, libc::MADV_DODUMP, true),
    flag("wf", libc::MADV_WIPEONFORK, libc::MADV_KEEPONFORK, true),
    flag("mg", libc::MADV_MERGEABLE, libc::MADV_UNMERGEABLE, false),
    flag("sr", libc::MADV_SEQUENTIAL, libc::MADV_NORMAL, false),
    flag("rr", libc::MADV_RANDOM, libc::MADV_NORMAL, false),
    // Nothing makes it as if neither had been said.
    flag("hg", libc::MADV_HUGEPAGE, libc::MADV_HUGEPAGE, false),
    flag("nh", libc::MADV_NOHUGEPAGE, libc::MADV_NOHUGEPAGE, false),
];
/// Others: locked, when it is touched; sealed.
const LOCKED: &str = "lo";
const ON_FAULT: &str = "lf";
const SEALED: &str = "sl";
/// Kinds of memory: their names, and mmap(2)'s words for them (the second is new in Linux 6.11).
const KINDS: [(&str, c_int); 2] = [("gd", libc::MAP_PRIVATE | libc::MAP_GROWSDOWN), ("dp", 8)];

/// What the keeper knows of it.
#[derive(Default)]
pub(crate) struct Advice {
    /// [`SAID`] when it looked last; none: it has not.
    looked: Option<u64>,
    /// It has found something that matters.
    matters: bool,
}

impl Resource for Advice {
    fn look(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        let said = SAID.load(Relaxed);
        if self.looked != Some(said) || self.matters {
            if !look(&mut about.maps) && said != 0 {
                return Err(NOT_TOLD.into());
            }
            self.looked = Some(said);
            self.matters = about.maps.iter().any(matters);
        }
        Ok(())
    }

    /// With memory goes what is known of what the program has said since.
    fn leave(&mut self) {
        self.looked = self.looked.filter(|said| *said == SAID.load(Relaxed));
    }

    /// After all else of the memory.
    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        let want = &about.maps;
        let nothing = want.iter().all(|w| w.said.is_empty() && w.policy.is_none());
        if nothing && !self.matters && (to.new_process || self.looked.is_some()) {
            return Ok(());
        }
        let mut have = crate::memory::mappings();
        if !look(&mut have) {
            return Err(NOT_TOLD.into());
        }
        self.looked = None;
        for h in &have {
            let first = want.partition_point(|w| w.end <= h.start);
            for w in want[first..].iter().take_while(|w| w.start < h.end) {
                change(h, w, (h.start.max(w.start), h.end.min(w.end)))?;
            }
        }
        Ok(())
    }
}

fn matters(m: &Map) -> bool {
    let flag = |word: &str| FLAGS.iter().any(|f| f.matters && f.name == word);
    let others = |word: &str| [LOCKED, SEALED].contains(&word) || KINDS.iter().any(|k| k.0 == word);
    m.policy.is_some() || m.said.split(' ').any(|word| flag(word) || others(word))
}

/// As what a mapping of the process's own is made again, for mmap(2).
pub(crate) fn kind(m: &Map) -> c_int {
    let known = KINDS.iter().find(|k| m.said.split(' ').any(|word| word == k.0));
    known.map_or(libc::MAP_PRIVATE, |k| k.1)
}

/// Is memory of an unusual kind mapped so?
pub(crate) fn is_unusual(how: c_int) -> bool {
    how & libc::MAP_GROWSDOWN != 0 || how & libc::MAP_TYPE == KINDS[1].1
}

/// Why it is not known.
const NOT_TOLD: &str = "the system does not tell what the program has said of its memory (/proc/self/smaps)";

/// Asks the kernel about `maps`; false if it does not tell of all of them.
fn look(maps: &mut [Map]) -> bool {
    let text = maps::read_file(c"/proc/self/smaps").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let (mut at, mut told) = (0, 0);
    for (start, flags) in flags_of(&text) {
        at += maps[at..].partition_point(|m| m.start < start);
        if let Some(m) = maps.get_mut(at).filter(|m| m.start == start) {
            // Of the stack that is known.
            m.said = if m.path == "[stack]" { flags.replace(KINDS[0].0, "").trim().into() } else { flags };
            told += 1;
        }
    }
    for m in maps.iter_mut() {
        m.policy = policy(m.start);
    }
    told == maps.len()
}

/// Where mappings begin, and what was said of them.
fn flags_of(smaps: &str) -> impl Iterator<Item = (usize, String)> {
    let mut start = 0;
    smaps.lines().filter_map(move |line| {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            let others = KINDS.map(|k| k.0).into_iter().chain([LOCKED, ON_FAULT, SEALED]);
            let names: Vec<&str> = FLAGS.iter().map(|f| f.name).chain(others).collect();
            let known = |w: &&str| names.contains(w);
            let words: Vec<&str> = flags.split_whitespace().filter(known).collect();
            return Some((start, words.join(" ")));
        }
        if let Some((first, _)) = line.split_once('-')
            && let Ok(at) = usize::from_str_radix(first, 16)
        {
            start = at;
        }
        None
    })
}

/// Words of a set of memory nodes: as many as the kernel can have.
const NODES: usize = 16;

/// The policy of the mapping at `at`: mode and nodes. None: its threads' own one.
fn policy(at: usize) -> Option<(u32, Vec<u64>)> {
    const OF_ADDRESS: usize = 2;
    let (mut mode, mut nodes) = (0u32, vec![0u64; NODES]);
    // SAFETY: the kernel writes a word and a set of that many bits.
    let r = unsafe {
        sys!(libc::SYS_get_mempolicy, &raw mut mode, nodes.as_mut_ptr(), 64 * NODES, at, OF_ADDRESS, 0)
    };
    (r == 0 && mode != 0).then_some((mode, nodes))
}

/// Makes what is said of `h` in [a, b) what was said of `w`.
fn change(h: &Map, w: &Map, (a, b): (usize, usize)) -> Result<(), String> {
    let has = |m: &Map, flag: &str| m.said.split(' ').any(|word| word == flag);
    // SAFETY: no memory changes.
    let advise = |how: c_int| unsafe { sys!(libc::SYS_madvise, a, b - a, how) };
    let failed = |what: &str, r: isize| {
        Err(format!("what the program has said of its memory at {a:x} ({what}): {}", sys::why(r)))
    };
    for f in FLAGS.iter().filter(|f| has(h, f.name) && !has(w, f.name) && f.on != f.off) {
        let r = advise(f.off);
        if r < 0 && f.matters {
            return failed(f.name, r);
        }
    }
    for f in FLAGS.iter().filter(|f| has(w, f.name) && !has(h, f.name)) {
        let r = advise(f.on);
        if r < 0 && f.matters {
            return failed(f.name, r);
        }
    }
    let lock = |m: &Map| has(m, LOCKED).then(|| has(m, ON_FAULT));
    if lock(h) != lock(w) {
        // SAFETY (both): memory of the program, whose threads are frozen.
        let lock_so = |on_fault: bool| unsafe { sys!(libc::SYS_mlock2, a, b - a, usize::from(on_fault)) };
        let r = match lock(w) {
            None => unsafe { sys!(libc::SYS_munlock, a, b - a) },
            // What may not be touched is locked, and not there: the kernel says so when it has locked it.
            Some(false) if lock_so(true) == 0 && may_not_be_touched(w, (a, b)) => {
                lock_so(false);
                0
            }
            Some(on_fault) => lock_so(on_fault),
        };
        if r < 0 {
            return failed("mlock", r);
        }
    }
    if h.policy != w.policy {
        let (mode, mut nodes) = w.policy.clone().unwrap_or_default();
        nodes.resize(NODES, 0);
        let empty = nodes.iter().all(|n| *n == 0);
        let (at, bits) = if empty { (0, 0) } else { (nodes.as_ptr() as usize, 64 * NODES) };
        // SAFETY: the kernel reads a set of that many bits.
        let r = unsafe { sys!(libc::SYS_mbind, a, b - a, mode, at, bits, 0) };
        if r < 0 {
            return failed("mbind", r);
        }
    }
    match (has(h, SEALED), has(w, SEALED)) {
        (true, false) => failed("mseal", -(libc::EPERM as isize)),
        (false, true) => {
            // SAFETY: memory of the program, which has sealed it.
            match unsafe { sys!(MSEAL, a, b - a, 0) } {
                0 => Ok(()),
                r => failed("mseal", r),
            }
        }
        _ => Ok(()),
    }
}

/// Is there anything in [a, b) of `m` that nobody may read?
fn may_not_be_touched(m: &Map, (a, b): (usize, usize)) -> bool {
    m.prot & libc::PROT_READ == 0 || m.guards.iter().any(|g| g.0 < b && a < g.1)
}

const MSEAL: i64 = 462;

/// Is memory locked as soon as it is mapped (1), or touched (2)?
pub(super) fn locks_future() -> Option<u64> {
    const LEN: usize = 4096;
    let mut there = 0u8;
    let probe = |f: &mut dyn FnMut(usize)| {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping at an address of the kernel's choice, which nobody else knows.
        unsafe {
            let at = sys!(libc::SYS_mmap, 0, LEN, prot, flags, usize::MAX, 0);
            if at > 0 {
                f(at as usize);
                sys!(libc::SYS_munmap, at, LEN);
            }
        }
    };
    if SAID.load(Relaxed) == 0 {
        return Some(0);
    }
    let before = locked_kib()?;
    let (mut after, mut mapped) = (before, false);
    probe(&mut |at| {
        mapped = true;
        after = locked_kib().unwrap_or(before);
        // SAFETY: the kernel writes a byte.
        unsafe { sys!(libc::SYS_mincore, at, LEN, &raw mut there) };
    });
    // None of it is left: it would have been locked.
    let full = !mapped && before > 0;
    Some(if full {
        1
    } else if after <= before {
        0
    } else {
        2 - u64::from(there & 1)
    })
}

/// Makes [`locks_future`] `v`. What is locked is not changed but where nothing is to be locked any more: that
/// is locked anew.
pub(super) fn lock_future(v: u64) -> isize {
    let flags = match v {
        1 => libc::MCL_FUTURE,
        2 => libc::MCL_FUTURE | libc::MCL_ONFAULT,
        _ => 0,
    };
    // SAFETY: no pointers.
    unsafe {
        match flags {
            0 => sys!(libc::SYS_munlockall),
            _ => sys!(libc::SYS_mlockall, flags),
        }
    }
}

fn locked_kib() -> Option<u64> {
    let status = maps::read_file(c"/proc/thread-self/status")?;
    let status = String::from_utf8_lossy(&status);
    status.lines().find_map(|l| l.strip_prefix("VmLck:")?.split_whitespace().next()?.parse().ok())
}

/// The program has said something; where that has failed, it holds for a part all the same.
pub(crate) fn said(r: c_int) -> c_int {
    SAID.fetch_add(1, Relaxed);
    r
}

/// Does it change more than speed, which some ask for with every array?
fn counts(advice: c_int) -> bool {
    FLAGS.iter().any(|f| f.matters && f.on == advice)
}

calls_instead! {
    fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int {
        let advice = guards::may_be(advice, at as usize);
    } = |real| {
        let r = real();
        if counts(advice) { said(r) } else { r }
    };
    fn mlock(at: *const c_void, len: usize) -> c_int = |real| said(real());
    fn mlock2(at: *const c_void, len: usize, flags: c_uint) -> c_int = |real| said(real());
    fn mlockall(flags: c_int) -> c_int = |real| said(real());
    fn mseal(at: *mut c_void, len: usize, flags: c_ulong) -> c_int = |real| said(real());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words() {
        let text = "00400000-00401000 r-xp 00000000 fe:00 1 /bin/a-b\nRss: 4 kB\nVmFlags: rd ex mr mw me \n\
                    7f00-7f10 rw-p 00000000 00:00 0 \nVmFlags: rd wr mr dc me ac dd wf lo lf zz gd\n";
        let all: Vec<_> = flags_of(text).collect();
        assert_eq!(all, [(0x40_0000, String::new()), (0x7f00, "dc dd wf lo lf gd".into())]);
    }

    #[test]
    fn kinds_of_memory_are_made_again() {
        let of = |said: &str| kind(&Map { said: said.into(), ..Map::default() });
        assert_eq!(of("dd gd"), libc::MAP_PRIVATE | libc::MAP_GROWSDOWN);
        assert_eq!([of("dp wf"), of("wf"), of("")], [8, libc::MAP_PRIVATE, libc::MAP_PRIVATE]);
        let usual = [libc::MAP_PRIVATE, libc::MAP_SHARED, libc::MAP_SHARED_VALIDATE];
        assert!(usual.iter().all(|how| !is_unusual(how | libc::MAP_ANONYMOUS | libc::MAP_STACK)));
        assert!([of("dp"), of("gd")].iter().all(|how| is_unusual(how | libc::MAP_ANONYMOUS)));
    }

    #[test]
    fn what_is_said_is_read_and_put_back() {
        let at = crate::sys::syscall::map_anonymous(3 * 4096).expect("memory") as usize;
        let here = || {
            let mut all = maps::all();
            look(&mut all); // other tests map memory meanwhile
            all.into_iter().find(|m| m.start <= at + 4096 && at + 4096 < m.end).expect("mapped")
        };
        let plain = here();
        // SAFETY: memory of this test's.
        unsafe {
            for how in [libc::MADV_DONTFORK, libc::MADV_DONTDUMP, libc::MADV_WIPEONFORK] {
                assert_eq!(sys!(libc::SYS_madvise, at + 4096, 4096, how), 0);
            }
        }
        let said = here();
        assert_eq!((said.said.as_str(), said.start), ("dc wf dd", at + 4096));
        assert!(matters(&said) && !matters(&plain));
        change(&said, &plain, (said.start, said.end)).expect("taken back");
        assert_eq!(here().said, plain.said);
        change(&plain, &said, (at + 4096, at + 8192)).expect("said again");
        assert_eq!(here().said, said.said);
    }

    #[test]
    fn locks_of_the_future() {
        said(0);
        assert_eq!(locks_future(), Some(0));
    }
}
