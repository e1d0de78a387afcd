//! A live file read back, whole and damaged.

use promp_report::live::*;
use promp_report::words::{Construct, Sync, schedule_code};
use promp_values::schedules::Sched;
use proptest::prelude::*;
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicU64, Ordering::*};

const MODULES: usize = 3;
const SEGMENTS: usize = 5;
const THREADS: usize = 4;

fn words(n: usize) -> Vec<AtomicU64> {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}

/// Two modules, three segments, two threads; cell (t, s) has busy time 100 t + s.
fn file() -> Vec<AtomicU64> {
    let t = Tables::new(MODULES, SEGMENTS, THREADS);
    let w = words(t.bytes / 8);
    let put = |at: usize, value: u64| w[at / 8].store(value, Relaxed);
    for (field, value) in [
        (offset_of!(Header, version), VERSION),
        (offset_of!(Header, pid), 77),
        (offset_of!(Header, process_start), 1234),
        (offset_of!(Header, modules_at), t.modules_at as u64),
        (offset_of!(Header, modules_room), MODULES as u64),
        (offset_of!(Header, modules), 2),
        (offset_of!(Header, segments_at), t.segments_at as u64),
        (offset_of!(Header, segments_room), SEGMENTS as u64),
        (offset_of!(Header, segments), 3),
        (offset_of!(Header, threads_at), t.threads_at as u64),
        (offset_of!(Header, threads_room), THREADS as u64),
        (offset_of!(Header, threads), 2),
        (offset_of!(Header, cells_at), t.cells_at as u64),
        (offset_of!(Header, failures), 9),
    ] {
        put(field, value);
    }
    for (i, (path, id)) in
        [("/usr/bin/app", &[0xabu8, 1][..]), ("/usr/lib/liba.so", &[])].into_iter().enumerate()
    {
        let m = Module {
            path_length: AtomicU64::new(0),
            build_id_length: AtomicU64::new(0),
            base: AtomicU64::new(0),
            unloaded: AtomicU64::new(0),
            build_id: [const { AtomicU64::new(0) }; BUILD_ID / 8],
            path: [const { AtomicU64::new(0) }; PATH / 8],
        };
        m.fill(path.as_bytes(), id, 0x1000);
        let at = t.modules_at + i * size_of::<Module>();
        put(at + offset_of!(Module, path_length), m.path_length.load(Relaxed));
        put(at + offset_of!(Module, build_id_length), m.build_id_length.load(Relaxed));
        put(at + offset_of!(Module, build_id), m.build_id[0].load(Relaxed));
        for (j, p) in m.path.iter().enumerate() {
            put(at + offset_of!(Module, path) + j * 8, p.load(Relaxed));
        }
    }
    for s in 0..3 {
        let at = t.segments_at + s * size_of::<SegmentRow>();
        put(at + offset_of!(SegmentRow, begin_module), if s == 2 { u64::MAX } else { s as u64 });
        put(at + offset_of!(SegmentRow, begin_offset), 0x400 + s as u64);
        put(at + offset_of!(SegmentRow, from), Sync::Region as u64);
        put(at + offset_of!(SegmentRow, construct), Construct::Loop as u64);
        put(at + offset_of!(SegmentRow, schedule), schedule_code(Sched::Dynamic, 8));
    }
    for thread in 0..2 {
        for s in 0..3 {
            let at = t.cells_at + (thread * SEGMENTS + s) * size_of::<Cell>();
            put(at + offset_of!(Cell, busy_ns), (100 * thread + s) as u64);
        }
        put(t.threads_at + thread * size_of::<ThreadRow>() + offset_of!(ThreadRow, number), thread as u64);
    }
    put(0, MAGIC);
    w
}

fn copy(of: &[AtomicU64]) -> Vec<u64> {
    of.iter().map(|w| w.load(Relaxed)).collect()
}

fn again(of: &[u64]) -> Vec<AtomicU64> {
    of.iter().map(|w| AtomicU64::new(*w)).collect()
}

#[test]
fn what_was_written_is_read_back() {
    let w = file();
    let s = View::new(&w).unwrap().read();
    assert_eq!((s.header.pid, s.header.failures), (77, 9));
    assert_eq!(s.modules.len(), 2);
    assert_eq!((s.modules[0].module.as_str(), s.modules[0].build_id.as_str()), ("/usr/bin/app", "ab01"));
    assert_eq!((s.modules[1].module.as_str(), s.modules[1].build_id.as_str()), ("/usr/lib/liba.so", ""));
    assert_eq!(s.segments.len(), 3);
    let seg = &s.segments[1];
    let site = s.site(seg.begin_module, seg.begin_offset).unwrap();
    assert_eq!((site.module.as_str(), site.offset), ("/usr/lib/liba.so", 0x401));
    assert!(s.site(s.segments[2].begin_module, 0).is_none());
    assert_eq!(s.threads.iter().map(|t| t.number).collect::<Vec<_>>(), [0, 1]);
    let busy: Vec<Vec<u64>> = s.cells.iter().map(|t| t.iter().map(|c| c.busy_ns).collect()).collect();
    assert_eq!(busy, [[0, 1, 2], [100, 101, 102]]);
}

#[test]
fn a_file_that_is_none_says_so() {
    assert!(matches!(View::new(&words(0)), Err(Problem::Short { have: 0, .. })));
    assert!(matches!(View::new(&words(1000)), Err(Problem::Foreign)));
    let w = file();
    w[offset_of!(Header, version) / 8].store(VERSION + 1, Relaxed);
    let said = View::new(&w).err().unwrap();
    assert_eq!(said, Problem::Version(VERSION + 1));
    assert!(said.to_string().contains("same version"));
    for n in 1..copy(&file()).len() {
        assert!(matches!(View::new(&file()[..n]), Err(Problem::Short { .. })), "{n} words");
    }
}

#[test]
fn counts_beyond_the_room_are_cut_to_it() {
    let w = file();
    w[offset_of!(Header, segments) / 8].store(u64::MAX, Relaxed);
    w[offset_of!(Header, threads) / 8].store(u64::MAX, Relaxed);
    let s = View::new(&w).unwrap().read();
    assert_eq!((s.segments.len(), s.threads.len(), s.cells[3].len()), (SEGMENTS, THREADS, SEGMENTS));
}

#[test]
fn tables_do_not_move_under_a_reader() {
    let w = file();
    let v = View::new(&w).unwrap();
    w[offset_of!(Header, cells_at) / 8].store(u64::MAX - 7, Relaxed);
    w[offset_of!(Header, segments_room) / 8].store(u64::MAX, Relaxed);
    assert_eq!(v.read().cells[1][2].busy_ns, 102);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Any words of the header or the tables changed to any value: read or refused, never a panic.
    #[test]
    fn damage_is_read_or_refused(
        changes in prop::collection::vec(
            (0usize..40, prop_oneof![any::<u64>(), 0u64..1 << 26, Just(u64::MAX)]),
            1..8,
        ),
        cut in 0usize..2000,
    ) {
        let mut w = copy(&file());
        for (at, value) in changes {
            w[at] = value;
        }
        w.truncate(w.len().saturating_sub(cut));
        let w = again(&w);
        match View::new(&w) {
            Ok(v) => {
                let s = v.read();
                for seg in &s.segments {
                    let _ = s.site(seg.begin_module, seg.begin_offset);
                }
            }
            Err(e) => prop_assert!(!e.to_string().is_empty()),
        }
    }

    /// Noise is no live file.
    #[test]
    fn noise_is_refused(noise in prop::collection::vec(any::<u64>(), 0..200)) {
        prop_assume!(noise.first() != Some(&MAGIC));
        let w = again(&noise);
        prop_assert!(View::new(&w).is_err());
    }
}
