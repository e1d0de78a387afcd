//! Semaphores that could be shared with other processes and are not.
//!
//! `sem_open` followed by `sem_unlink` is how Python's multiprocessing makes its locks, and the modules that use them theirs (tqdm, numba): a
//! page of a file in /dev/shm, mapped so that others can share it. Writable memory that others have makes a checkpoint impossible: a
//! rollback would change it under their hands. A semaphore that has no name any more, and that nobody else has mapped, is this process' own: it is
//! saved like its other memory, and put back as a new one, which a child made since does not have. Who has it is asked when it is first
//! seen, and again when the process has made children since: nobody else can get it later. (A checkpoint is refused while there are children.)

use super::image::Map;
use crate::sys;
use crate::sys::{maps, syscall};
use core::sync::atomic::{AtomicU32, Ordering::*};

/// Calls of `fork` that have begun or ended. Edge: a checkpoint that sees the number it saw when it looked knows that no child made before
/// it was stopped has what it looked at, but for children that it sees.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Around `fork`: before, and in the parent afterwards.
pub fn note_fork() {
    FORKS.fetch_add(1, AcqRel);
}

/// What is known of the semaphores among the mappings.
#[derive(Debug, Default)]
pub struct Semaphores {
    seen: Vec<Seen>,
    /// [`FORKS`] at that time.
    forks: u32,
}

/// A semaphore.
#[derive(Debug)]
struct Seen {
    dev: String,
    inode: u64,
    /// Does nobody else have it?
    own: bool,
}

impl Seen {
    fn is(&self, m: &Map) -> bool {
        m.inode == self.inode && m.dev == self.dev
    }
}

/// Why a mapping keeps a checkpoint from being taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Others may have it.
    Shared,
    /// It has to be looked at first.
    Unknown,
}

impl Semaphores {
    /// Looks whose the semaphores in `maps` are, as far as that may have changed. While the program runs.
    pub fn look(&mut self, maps: &[Map]) {
        let forks = FORKS.load(Acquire);
        let same = forks == self.forks;
        self.forks = forks;
        // In this process, too, it must be in one place.
        let once = |s: &Seen| maps.iter().filter(|m| s.is(m)).count() == 1;
        self.seen.retain(|s| s.own && same && once(s));
        let known = self.seen.len();
        for m in maps.iter().filter(|m| m.is_semaphore()) {
            if !self.seen.iter().any(|s| s.is(m)) {
                let mut s = Seen { dev: m.dev.clone(), inode: m.inode, own: false };
                s.own = once(&s) && !may_have_a_name(m);
                self.seen.push(s);
            }
        }
        let new = &mut self.seen[known..];
        if new.is_empty() {
            return;
        }
        for m in processes().flat_map(maps::of) {
            if let Some(s) = new.iter_mut().find(|s| s.is(&m)) {
                s.own = false;
            }
        }
    }

    /// What keeps `m`, a mapping of the process at rest, from being saved.
    pub fn obstacle(&self, m: &Map) -> Option<Obstacle> {
        if !m.shared || m.prot & libc::PROT_WRITE == 0 {
            return None;
        }
        if !m.is_semaphore() {
            return Some(Obstacle::Shared);
        }
        match self.seen.iter().find(|s| s.is(m)) {
            Some(s) if self.forks == FORKS.load(Acquire) => (!s.own).then_some(Obstacle::Shared),
            _ => Some(Obstacle::Unknown),
        }
    }
}

/// Is there still a name for it where semaphores have theirs, or can that not be known?
fn may_have_a_name(m: &Map) -> bool {
    const FOLDER: &core::ffi::CStr = c"/dev/shm";
    if !m.path.as_bytes().starts_with(FOLDER.to_bytes()) {
        return false;
    }
    // SAFETY: numbers only; the kernel fills it in.
    let mut about: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: a C string; see above.
    let r = unsafe { sys!(libc::SYS_statfs, FOLDER.as_ptr(), &raw mut about) };
    // Other file systems may show other numbers.
    r < 0 || about.f_type != libc::TMPFS_MAGIC || maps::entries(FOLDER).iter().any(|e| e.inode == m.inode)
}

/// All processes but this one.
fn processes() -> impl Iterator<Item = u32> {
    let here = syscall::getpid();
    maps::entries(c"/proc").into_iter().filter_map(|e| e.name.parse().ok()).filter(move |&pid| pid != here)
}

#[cfg(test)]
mod tests {
    use super::super::image::{PAGE, SEMAPHORE};
    use super::*;

    #[test]
    fn who_has_it() {
        // SAFETY (all): memory and a process of this test's own; the child makes system calls only.
        let (fd, at) = unsafe {
            let fd = libc::memfd_create(SEMAPHORE.as_ptr(), libc::MFD_CLOEXEC);
            libc::ftruncate(fd, PAGE as i64);
            (fd, map(fd))
        };
        let mut known = Semaphores::default();
        let asked = |known: &Semaphores| {
            let all = maps::all();
            known.obstacle(maps::find(&all, at).unwrap())
        };
        assert_eq!(asked(&known), Some(Obstacle::Unknown));
        known.look(&maps::all());
        assert_eq!(asked(&known), None);
        let second = unsafe { map(fd) };
        known.look(&maps::all());
        assert_eq!(asked(&known), Some(Obstacle::Shared), "in two places");
        unsafe { libc::munmap(second as *mut libc::c_void, PAGE) };
        known.look(&maps::all());
        assert_eq!(asked(&known), None);
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                unsafe { libc::pause() };
            }
        }
        note_fork();
        assert_eq!(asked(&known), Some(Obstacle::Unknown));
        known.look(&maps::all());
        assert_eq!(asked(&known), Some(Obstacle::Shared), "a child has it");
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, core::ptr::null_mut(), 0);
        }
        known.look(&maps::all());
        assert_eq!(asked(&known), None);
        let all = maps::all();
        let code = all.iter().find(|m| m.prot & libc::PROT_EXEC != 0).unwrap();
        assert_eq!(known.obstacle(code), None);
    }

    unsafe fn map(fd: i32) -> usize {
        // SAFETY: a new mapping.
        let p = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        assert_ne!(p, libc::MAP_FAILED);
        p as usize
    }
}
