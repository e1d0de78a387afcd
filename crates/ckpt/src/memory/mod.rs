//! The program's memory: its mappings, what they hold, making them what they were.

pub(crate) mod anonymous;
pub(crate) mod cow;
pub(crate) mod keeper_crew;
pub mod rewind_request;
pub(crate) mod shared;
pub(crate) mod staging;
pub(crate) mod tracker;

use crate::attributes::memory_advice;
use crate::image::{Map, PAGE};
use crate::sys;
use crate::sys::door::Door;
use crate::sys::{maps, preserved_memory};

/// Why there are no mappings.
pub(crate) const NO_MAPS: &str =
    "/proc/self/maps cannot be read (is /proc mounted? is a descriptor left, ulimit -n?)";

/// All mappings that belong to the program, or the runtime's ordinary memory: not the kernel's own, not the kept region.
pub(crate) fn mappings() -> Vec<Map> {
    let mut all = maps::all();
    all.retain(|m| !is_foreign(m));
    all
}

fn is_foreign(m: &Map) -> bool {
    preserved_memory::holds(m.start)
        || m.path.starts_with("[v")
        || m.path == "[uprobes]"
        || crate::vdso::is_former(m)
}

/// Which of `all` mappings are shared memory that is put back in its own way? (shared/) What is only read of
/// it is, too.
pub(crate) fn apart(all: &[Map]) -> impl Fn(&Map) -> bool + use<> {
    let nameless: Vec<Map> = all.iter().filter(|m| m.is_nameless()).cloned().collect();
    move |m| m.content.is_some() || (m.shared && nameless.iter().any(|o| o.is_of(m)))
}

/// Address of the kernel's vDSO.
pub(crate) fn vdso() -> usize {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) as usize }
}

/// In a new process: files of `maps` that it has mapped are the same as then, whatever number they have now: they
/// may have been copied or installed anew since. Otherwise [`reshape`] would map the code that runs anew. The
/// number of a file that is not mapped may be another one's now.
pub(crate) fn number_anew(maps: &mut [Map]) {
    let have = mappings();
    let is_apart = apart(maps);
    for m in maps.iter_mut().filter(|m| m.inode != 0 && !is_apart(m)) {
        match have.iter().find(|h| h.inode != 0 && h.path == m.path) {
            Some(h) => {
                m.dev.clone_from(&h.dev);
                m.inode = h.inode;
            }
            None => m.inode = u64::MAX,
        }
    }
}

/// Makes the mappings what they were: what is too much goes, what is missing comes back (without its content), protections are
/// set. The error names the mapping that could not be made.
pub(crate) fn reshape(want: &[Map], brk: usize) -> Result<(), String> {
    // SAFETY (whole function): the threads are frozen; the kept region, the kernel's mappings and what is in `want` unchanged
    // are not touched, and the code that runs lies in mappings of both.
    unsafe {
        sys!(libc::SYS_brk, brk);
    }
    let have = mappings();
    if have.is_empty() {
        return Err(NO_MAPS.into());
    }
    let same = |a: &Map, b: &Map| {
        a.inode == b.inode
            && a.dev == b.dev
            && a.shared == b.shared
            && (a.inode == 0 || a.start.wrapping_sub(a.offset) == b.start.wrapping_sub(b.offset))
    };
    let is_apart = apart(want);
    // Cut the address space at every border of either list and look at each piece.
    let mut borders: Vec<usize> = have.iter().chain(want).flat_map(|m| [m.start, m.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    for w in borders.windows(2) {
        let (a, b) = (w[0], w[1]);
        let covers = |m: &&Map| m.start <= a && b <= m.end;
        match (have.iter().find(covers), want.iter().find(covers)) {
            (Some(h), None) if h.path != "[stack]" => {
                // Sealed memory cannot (mseal(2)).
                let r = unsafe { sys!(libc::SYS_munmap, a, b - a) };
                if r < 0 {
                    return Err(format!("the memory at {a:x} cannot be given back: {}", sys::why(r)));
                }
            }
            // See `renew`, and shared/file_mappings.rs.
            (_, Some(t)) if is_apart(t) => {}
            (Some(h), Some(t)) if same(h, t) && h.prot == t.prot => {}
            (Some(h), Some(t)) if same(h, t) => {
                // The program may have forbidden itself to execute it (PR_SET_MDWE).
                let r = unsafe { sys!(libc::SYS_mprotect, a, b - a, t.prot) };
                if r < 0 {
                    return Err(format!(
                        "the memory at {a:x} cannot be protected as it was: {}",
                        sys::why(r)
                    ));
                }
            }
            (h, Some(t)) => {
                if t.path == "[stack]" && h.is_none() {
                    // It grows by being written to.
                    continue;
                }
                map(t, a, b)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// After [`reshape`]: makes those mappings of `want` anew that are not one mapping any more, because what
/// filled a gap does not go together with what is beside it (`mremap` would fail on them), and shared memory
/// without a name, which children made since may have. They are returned; they have no content, and may be
/// written to until [`protect`].
pub(crate) fn renew(want: &[Map]) -> Result<Vec<Map>, String> {
    let have = mappings();
    let is_cut = |t: &Map| {
        let first = have.partition_point(|h| h.end <= t.start);
        t.inode == 0 && !t.shared && t.path.is_empty() && have.get(first).is_some_and(|h| h.end < t.end)
    };
    let mut made = Vec::new();
    for t in want.iter().filter(|t| is_cut(t)) {
        map(t, t.start, t.end)?;
        made.push(t.clone());
    }
    let nameless: Vec<&Map> = want.iter().filter(|t| t.is_nameless()).collect();
    for (i, t) in nameless.iter().enumerate() {
        if !nameless[..i].iter().any(|o| o.is_of(t)) {
            let all: Vec<&Map> = want.iter().filter(|o| o.shared && o.is_of(t)).collect();
            share(&all)?;
            made.extend(all.into_iter().cloned());
        }
    }
    Ok(made)
}

/// New shared memory where `all` mappings of such memory were.
fn share(all: &[&Map]) -> Result<(), String> {
    let bytes = all.iter().map(|m| m.offset + (m.end - m.start)).max().unwrap_or(0);
    // SAFETY: a C string; a descriptor of ours.
    let fd = unsafe {
        let fd = sys!(libc::SYS_memfd_create, crate::image::SHARED.as_ptr(), libc::MFD_CLOEXEC);
        sys!(libc::SYS_ftruncate, fd, bytes);
        fd
    };
    let made = all.iter().try_for_each(|m| {
        let prot = m.prot | if m.is_saved() { libc::PROT_READ | libc::PROT_WRITE } else { 0 };
        let (len, flags) = (m.end - m.start, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: see `reshape`.
        match unsafe { sys!(libc::SYS_mmap, m.start, len, prot, flags, fd, m.offset) } {
            p if p == m.start as isize => Ok(()),
            e => failed(m, (m.start, m.end), e),
        }
    });
    // SAFETY: opened here.
    unsafe { sys!(libc::SYS_close, fd) };
    made
}

/// When `made` mappings have their content: those that may not be written to are protected again.
pub(crate) fn protect(made: &[Map]) {
    for m in made.iter().filter(|m| m.shared) {
        // SAFETY: mapped by `renew`.
        unsafe { sys!(libc::SYS_mprotect, m.start, m.end - m.start, m.prot) };
    }
}

/// Makes the pages [start, end) of `maps` what they are without a saved content. The threads are frozen.
pub(crate) fn empty(maps: &[Map], (start, end): (usize, usize), door: &Door) -> Result<(), String> {
    const MADV_DONTNEED_LOCKED: i32 = 24; // since Linux 5.18
    // SAFETY: private memory of the program, whose threads are frozen.
    let advise = |how: i32| unsafe { sys!(libc::SYS_madvise, start, end - start, how) };
    let r = match advise(libc::MADV_DONTNEED) {
        0 => 0,
        _ => advise(MADV_DONTNEED_LOCKED),
    };
    if r < 0 {
        let zero = [0u8; PAGE];
        let anonymous = maps.iter().any(|m| m.start <= start && end <= m.end && m.inode == 0);
        if !anonymous || !(start..end).step_by(PAGE).all(|p| door.write(p, &zero)) {
            return Err(format!("the memory at {start:x} cannot be emptied (error {})", -r));
        }
    }
    Ok(())
}

fn failed(t: &Map, (a, b): (usize, usize), why: isize) -> Result<(), String> {
    Err(format!("mapping {a:x}-{b:x} {} cannot be made again (error {})", t.path, -why))
}

fn map(t: &Map, a: usize, b: usize) -> Result<(), String> {
    let failed = |why: isize| failed(t, (a, b), why);
    let mut fd = -1isize;
    let mut flags = libc::MAP_FIXED | if t.shared { libc::MAP_SHARED } else { memory_advice::kind(t) };
    let offset = t.offset + (a - t.start);
    if t.inode == 0 {
        flags |= libc::MAP_ANONYMOUS;
    } else {
        let Ok(path) = std::ffi::CString::new(t.path.as_bytes()) else { return failed(-2) };
        // SAFETY: a C string.
        fd = unsafe {
            sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)
        };
        if fd < 0 {
            return failed(fd);
        }
    }
    // SAFETY: see `reshape`.
    let make = |more| unsafe { sys!(libc::SYS_mmap, a, b - a, t.prot, flags | more, fd, offset) };
    // Without more flags it becomes one with what is left of the mapping, which `mremap` needs; address space that is only
    // reserved may be more than the kernel grants so.
    let mut p = make(0);
    if p == -(libc::ENOMEM as isize) {
        p = make(libc::MAP_NORESERVE);
    }
    if fd >= 0 {
        // SAFETY: opened here.
        unsafe { sys!(libc::SYS_close, fd) };
    }
    if p != a as isize { failed(p) } else { Ok(()) }
}
