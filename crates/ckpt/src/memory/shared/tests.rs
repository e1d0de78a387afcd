//! Who has shared memory.

use super::{Owners, note_fork};
use crate::image::{PAGE, SHARED};
use crate::sys::maps;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Looks until it is known who has the memory at `at`: other tests of this process fork, too, and what
/// was seen before a fork is not believed after it.
fn looked<const N: usize>(known: &mut Owners, at: [usize; N]) -> [bool; N] {
    for _ in 0..10_000 {
        let all = maps::all();
        known.look(&all);
        let owns = at.map(|at| known.is_own(maps::find(&all, at).unwrap()));
        if owns.iter().all(Option::is_some) {
            return owns.map(Option::unwrap);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("a fork between every look and its question");
}

#[test]
fn who_has_it() {
    // SAFETY (all): memory and a process of this test's own; the child makes system calls only.
    let (fd, at) = unsafe {
        let fd = libc::memfd_create(SHARED.as_ptr(), libc::MFD_CLOEXEC);
        libc::ftruncate(fd, PAGE as i64);
        (fd, map(fd, libc::MAP_SHARED))
    };
    let none = unsafe { map(-1, libc::MAP_SHARED | libc::MAP_ANONYMOUS) };
    let (mut known, both) = (Owners::default(), [at, none]);
    let asked = |known: &Owners| {
        let all = maps::all();
        both.map(|at| known.is_own(maps::find(&all, at).unwrap()))
    };
    assert_eq!(asked(&known), [None; 2]);
    assert_eq!(looked(&mut known, both), [true; 2]);
    unsafe { map(fd, libc::MAP_SHARED) };
    assert_eq!(looked(&mut known, both), [true; 2], "in two places");
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            unsafe { libc::pause() };
        }
    }
    note_fork();
    assert_eq!(asked(&known), [None; 2]);
    assert_eq!(looked(&mut known, both), [false; 2], "a child has it");
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, core::ptr::null_mut(), 0);
    }
    assert_eq!(looked(&mut known, both), [true; 2]);
    let all = maps::all();
    let code = all.iter().find(|m| m.prot & libc::PROT_EXEC != 0).unwrap();
    assert_eq!(known.is_own(code), Some(false));
}

/// A descriptor is enough to have it.
#[test]
fn who_has_it_open() {
    let path = std::env::temp_dir().join(format!("promp-owners-{}", std::process::id()));
    fs::write(&path, [0; PAGE]).unwrap();
    let file = fs::File::options().read(true).write(true).open(&path).unwrap();
    // SAFETY: a new mapping.
    let at = unsafe { map(std::os::fd::AsRawFd::as_raw_fd(&file), libc::MAP_SHARED) };
    let own = || looked(&mut Owners::default(), [at]) == [true];
    assert!(own());
    let mut other = std::process::Command::new("sleep").arg("60").stdin(file).spawn().unwrap();
    assert!(!own());
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(own());
    let permit = |mode| fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    permit(0o666);
    assert!(!own());
    permit(0o664);
    assert!(own());
    fs::remove_file(path).unwrap();
}

unsafe fn map(fd: i32, flags: i32) -> usize {
    // SAFETY: a new mapping.
    let p =
        unsafe { libc::mmap(core::ptr::null_mut(), PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) };
    assert_ne!(p, libc::MAP_FAILED);
    p as usize
}
