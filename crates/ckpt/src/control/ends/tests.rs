//! Who records the end, and who takes it back meanwhile: in processes of their own, which have a keeper only
//! as far as its notes go.

use super::*;
use crate::image::Directory;
use promp_files::Scratch;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;

/// Runs `test` in a child, with the keeper's notes and a directory; true: it has come to its end.
fn in_a_process(test: impl FnOnce(&'static Keep, &Path)) -> bool {
    let s = Scratch::new("promp-ends").expect("a folder");
    let dir: PathBuf = s.path().join("ckpt");
    fs::create_dir(&dir).expect("a folder");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("ours");
    fs::write(dir.join("pages"), "").expect("a file");
    fs::set_permissions(dir.join("pages"), fs::Permissions::from_mode(0o600)).expect("ours");
    // SAFETY: a child with one thread, which ends below.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let run = || {
            // SAFETY: it ends by that if it hangs; a fresh mapping where nothing is.
            let state = unsafe {
                libc::alarm(60);
                let (prot, flags) =
                    (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
                sys!(
                    libc::SYS_mmap,
                    region::STATE,
                    image::PAGE,
                    prot,
                    flags | libc::MAP_FIXED_NOREPLACE,
                    usize::MAX,
                    0
                )
            };
            assert!(region::map() && keep::create() && state == region::STATE as isize, "no region");
            let k = keep::get();
            k.hosts.own[0].store(syscall::gettid(), Relaxed);
            let open = File::open(&dir).expect("the folder");
            k.journal.folder.begin(&dir, open.as_raw_fd());
            prepare(k, "/bin/a".into(), vec![]);
            test(k, &dir);
        };
        let went_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(if went_well { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

fn recorded(dir: &Path) -> Option<i32> {
    Directory::open(dir).expect("the directory").ended().map(|e| e.status)
}

#[test]
fn whoever_takes_an_end_back_waits_for_who_records_it() {
    assert!(in_a_process(|k, dir| {
        let (begun, begins) = mpsc::channel();
        let records = std::thread::spawn(move || {
            let mask = begins_to_record(k).expect("the first one");
            begun.send(()).expect("heard");
            std::thread::sleep(Duration::from_millis(300));
            record(k, 3);
            transition_is_over();
            signals::set_mask(mask);
        });
        begins.recv().expect("it begins");
        take_back().expect("taken back");
        records.join().expect("it ends");
        assert_eq!((recorded(dir), ended().load(Relaxed)), (None, 0));
        // Who has recorded it is not waited for.
        mark_as(k, 5);
        assert_eq!(recorded(dir), Some(5));
        let before = Instant::now();
        take_back().expect("taken back");
        assert!(recorded(dir).is_none() && before.elapsed() < Duration::from_secs(5));
    }));
}

/// By the calling thread, which nothing is asked of.
fn mark_as(k: &Keep, status: i32) {
    let mask = begins_to_record(k).expect("the first one");
    record(k, status);
    transition_is_over();
    signals::set_mask(mask);
}

#[test]
fn a_rollback_comes_before_who_has_begun() {
    assert!(in_a_process(|k, dir| {
        // Threads are stopped for it.
        k.freeze.started.store(1, SeqCst);
        let (told, tid) = mpsc::channel();
        let records = std::thread::spawn(move || {
            told.send(syscall::gettid()).expect("heard");
            mark_as(k, 3);
        });
        let first = host(tid.recv().expect("its number"));
        while k.end.who.load(Acquire) != first {
            std::thread::yield_now();
        }
        take_back_now().expect("nothing");
        k.epoch.fetch_add(1, SeqCst);
        k.freeze.started.store(0, SeqCst);
        records.join().expect("it ends");
        let epoch = k.end.who.load(Relaxed) & !TID;
        assert_eq!((epoch, recorded(dir)), (1 << 32, Some(3)), "it ends the process since the rollback");
    }));
}

#[test]
fn what_was_recorded_at_a_checkpoint_is_again() {
    assert!(in_a_process(|k, dir| {
        let me = syscall::gettid();
        assert_eq!(recorded_by(k, me), None);
        mark_as(k, 3);
        assert_eq!((recorded_by(k, me), recorded_by(k, me + 1)), (Some(3), None));
        assert!(!is_to_record(3) && is_to_record(4) && ends_otherwise(4) && !ends_otherwise(3 + 256));
        // Gone back to: the record stands, or is written.
        for meanwhile in [None, Some(7)] {
            match meanwhile {
                Some(status) => mark_as(k, status),
                None => take_back_now().expect("taken back"),
            }
            k.epoch.fetch_add(1, SeqCst);
            assert_eq!(recorded_by(k, me), None, "of another time");
            has_recorded(k, me, 3);
            assert_eq!((recorded(dir), recorded_by(k, me)), (Some(3), Some(3)));
        }
    }));
}
