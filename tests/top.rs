//! `promp top`: a running program's figures, in a terminal and for scripts.
//!
//! The live files are made here, of processes that only sleep, so that what must be shown is known.

use crate::common::*;
use promp_report::live::{self, Cell, Header, Module, SegmentRow, Tables, ThreadRow};
use promp_report::words::{Construct, State, Sync, schedule_code};
use promp_settings::schedules::Sched;
use std::mem::{offset_of, size_of};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

fn cli(args: &[&str]) -> Run {
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.args(args);
    limited(c, LIMIT)
}

/// A process that sleeps, and its live file; both go with this.
struct Sleeper {
    child: Child,
    file: PathBuf,
    words: Vec<u64>,
}

const SEGMENTS: usize = 8;
const TABLES: Tables = Tables::new(2, SEGMENTS, 4);

fn user() -> u32 {
    // SAFETY: no pointers.
    unsafe { libc::geteuid() }
}

impl Sleeper {
    fn new() -> Self {
        let child = Command::new("sleep").arg("3600").spawn().expect("sleep");
        let file = live::path(user(), child.id()).into();
        let mut s = Self { child, file, words: vec![0; TABLES.bytes / 8] };
        // It may not be `sleep` yet, but it is the same process.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", s.child.id())).unwrap();
        let start: u64 =
            stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes to `now`.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        let now = now.tv_sec as u64 * 1_000_000_000;
        for (field, value) in [
            (offset_of!(Header, magic), live::MAGIC),
            (offset_of!(Header, version), live::VERSION),
            (offset_of!(Header, pid), u64::from(s.child.id())),
            (offset_of!(Header, process_start), start),
            (offset_of!(Header, began_ns), now - 20_000_000_000),
            (offset_of!(Header, modules_at), TABLES.modules_at as u64),
            (offset_of!(Header, modules_room), 2),
            (offset_of!(Header, modules), 1),
            (offset_of!(Header, segments_at), TABLES.segments_at as u64),
            (offset_of!(Header, segments_room), SEGMENTS as u64),
            (offset_of!(Header, segments), 2),
            (offset_of!(Header, threads_at), TABLES.threads_at as u64),
            (offset_of!(Header, threads_room), 4),
            (offset_of!(Header, threads), 3),
            (offset_of!(Header, cells_at), TABLES.cells_at as u64),
            (offset_of!(Header, team), 2),
            (offset_of!(Header, regions), 42),
            (offset_of!(Header, failures), 3),
            (offset_of!(Header, recoveries), 3),
            (offset_of!(Header, checkpoints), 5),
        ] {
            s.put(field, value);
        }
        let path = b"/nonexistent/solver";
        s.put(TABLES.modules_at + offset_of!(Module, path_length), path.len() as u64);
        for (i, b) in path.chunks(8).enumerate() {
            let mut w = [0; 8];
            w[..b.len()].copy_from_slice(b);
            s.put(TABLES.modules_at + offset_of!(Module, path) + i * 8, u64::from_le_bytes(w));
        }
        for (i, (tp, mean)) in
            [(4_000_000_000, 3_900_000_000), (6_000_000_000, 4_000_000_000)].into_iter().enumerate()
        {
            let at = TABLES.segments_at + i * size_of::<SegmentRow>();
            s.put(at + offset_of!(SegmentRow, begin_offset), 0x1000 + i as u64);
            s.put(at + offset_of!(SegmentRow, end_offset), 0x2000 + i as u64);
            s.put(at + offset_of!(SegmentRow, from), Sync::Region as u64);
            s.put(at + offset_of!(SegmentRow, to), Sync::Barrier as u64);
            s.put(at + offset_of!(SegmentRow, construct), Construct::Loop as u64);
            s.put(at + offset_of!(SegmentRow, schedule), schedule_code(Sched::Dynamic, 4));
            s.put(at + offset_of!(SegmentRow, threads), 2);
            s.put(at + offset_of!(SegmentRow, visits), 1000);
            s.put(at + offset_of!(SegmentRow, tp_ns), tp);
            s.put(at + offset_of!(SegmentRow, mean_ns), mean);
        }
        for (thread, segment, busy) in
            [(0, 0, 4_000_000_000), (1, 0, 3_800_000_000), (0, 1, 2_000_000_000), (1, 1, 6_000_000_000)]
        {
            let at = TABLES.cells_at + (thread * SEGMENTS + segment) * size_of::<Cell>();
            s.put(at + offset_of!(Cell, busy_ns), busy);
        }
        for (thread, state) in [(0, State::Waiting), (1, State::Busy), (2, State::Free)] {
            let at = TABLES.threads_at + thread * size_of::<ThreadRow>();
            s.put(at + offset_of!(ThreadRow, state), state as u64);
            s.put(at + offset_of!(ThreadRow, number), thread as u64);
            s.put(at + offset_of!(ThreadRow, level), 1);
            s.put(at + offset_of!(ThreadRow, segment), 2);
        }
        s.write();
        s
    }

    fn put(&mut self, at: usize, value: u64) {
        self.words[at / 8] = value;
    }

    fn write(&self) {
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let aside = self.file.with_extension("new");
        std::fs::write(&aside, bytes).and_then(|()| std::fs::rename(&aside, &self.file)).expect("/dev/shm");
    }

    /// Writes one word of the file that is being watched, as a running program does.
    fn change(&self, at: usize, value: u64) {
        use std::os::unix::fs::FileExt;
        let f = std::fs::OpenOptions::new().write(true).open(&self.file).unwrap();
        f.write_all_at(&value.to_le_bytes(), at as u64).unwrap();
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

#[test]
fn once_for_people_and_for_scripts() {
    let s = Sleeper::new();
    let run = cli(&["top", &s.pid(), "--once"]);
    assert_eq!(run.status, 0, "{run:?}");
    for word in
        ["42 regions", "3 failures", "5 checkpoints", "waiting", "solver+0x2001", "dynamic,4", "1000 visits"]
    {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    let json: serde_json::Value = serde_json::from_str(&cli(&["top", &s.pid(), "--json"]).out).unwrap();
    let (first, running) = (&json["segments"][0], json["running"].as_array().unwrap());
    assert!(
        (first["wre"].as_f64().unwrap() - 0.2).abs() < 1e-9 && first["cause"] == "load_balance",
        "{first}"
    );
    assert_eq!(first["busy_s"], serde_json::json!([2.0, 6.0]));
    assert_eq!((running.len(), &running[1]["state"]), (2, &"busy".into()));
    assert!(json["wall_s"].as_f64().unwrap() >= 20.0, "{json}");
}

/// Files that were changed, half of them behind what says whose they are.
#[test]
fn files_that_were_changed() {
    let s = Sleeper::new();
    let good: Vec<u8> = s.words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut rng = Seeded(19);
    for _ in 0..hostile::rounds(100) {
        let mut bytes = hostile::mutated(&good, &[0, 1, 7, 8, 0xff], &mut rng);
        if rng.below(2) == 0 && bytes.len() > 64 {
            bytes[..32].copy_from_slice(&good[..32]);
        }
        let aside = s.file.with_extension("new");
        std::fs::write(&aside, bytes).and_then(|()| std::fs::rename(&aside, &s.file)).expect("/dev/shm");
        for how in ["--once", "--json"] {
            let run = hostile::run(&["top", &s.pid(), how]);
            assert!([0, 65, 66].contains(&run.status), "{run:?}");
        }
    }
}

#[test]
fn what_cannot_be_watched_is_said() {
    let mut s = Sleeper::new();
    let refused = |pid: &str, status: i32, word: &str| {
        let run = cli(&["top", "--once", pid]);
        assert!(run.status == status && run.err.contains(word) && run.out.is_empty(), "{word}: {run:?}");
    };
    let length = s.words.len();
    // Damaged, cut off, foreign, of another version, of another process.
    s.put(offset_of!(Header, cells_at), u64::MAX - 7);
    s.write();
    refused(&s.pid(), 65, "damaged");
    s.put(offset_of!(Header, cells_at), TABLES.cells_at as u64);
    s.words.truncate(100);
    s.write();
    refused(&s.pid(), 65, "cut off");
    s.words.truncate(0);
    s.write();
    refused(&s.pid(), 65, "cut off");
    s.words.resize(length, 7);
    s.write();
    refused(&s.pid(), 65, "not a live file");
    s.put(0, live::MAGIC);
    s.write();
    refused(&s.pid(), 65, "same version");
    let mut s = Sleeper::new();
    s.put(offset_of!(Header, process_start), 1);
    s.write();
    refused(&s.pid(), 66, "left behind");
    // A link to somewhere else, and no file at all.
    std::fs::remove_file(&s.file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &s.file).unwrap();
    refused(&s.pid(), 66, "cannot be read");
    std::fs::remove_file(&s.file).unwrap();
    refused(&s.pid(), 66, "does not run with promp");
    let pid = s.pid();
    drop(s);
    refused(&pid, 66, "no process");
    let run = cli(&["top", "--once", "nobody"]);
    assert!(run.status != 0 && run.err.contains("nobody"), "{run:?}");
}

#[test]
fn processes_of_others_are_refused() {
    if !available("root, to be someone else", user() == 0) {
        return;
    }
    let s = Sleeper::new();
    let mut c = Command::new("setpriv");
    clean(&mut c);
    // The build folder may be closed to others.
    let copy = std::env::temp_dir().join(format!("promp-top-{}", std::process::id()));
    std::fs::copy(library().with_file_name("promp"), &copy).unwrap();
    c.args(["--reuid", "65534", "--clear-groups"]).arg(&copy).args(["top", "--once", &s.pid()]);
    let run = limited(c, LIMIT);
    std::fs::remove_file(&copy).unwrap();
    assert!(run.status == 66 && run.err.contains("belongs to user 0"), "{run:?}");
}

/// A terminal of its own.
struct Terminal(String);

impl Terminal {
    fn start(command: &str) -> Option<Self> {
        let t = Self(format!("promp-top-{}", std::process::id()));
        let there = Command::new("tmux").arg("-V").output().is_ok_and(|o| o.status.success());
        if !available("tmux", there) {
            return None;
        }
        assert!(
            t.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "35", command]).0,
            "tmux"
        );
        Some(t)
    }

    fn tmux(&self, args: &[&str]) -> (bool, String) {
        let out = Command::new("tmux").args(["-L", &self.0]).args(args).output().expect("tmux");
        (out.status.success(), String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// Waits until the screen shows it.
    fn shows(&self, what: &str) -> String {
        let start = Instant::now();
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]).1;
            if screen.contains(what) {
                return screen;
            }
            assert!(start.elapsed() < LIMIT, "{what:?} is not on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn keys(&self, keys: &str) {
        assert!(self.tmux(&["send-keys", keys]).0);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_terminal_shows_it_live() {
    let mut s = Sleeper::new();
    let exe = library().with_file_name("promp");
    let command = format!("{} top {} --every 100ms; echo left $?; exec sleep 3600", exe.display(), s.pid());
    let Some(t) = Terminal::start(&command) else { return };
    for word in [
        "42 regions",
        "since the start",
        "3 failures, 3 recovered",
        "waiting",
        "2 segments by WRE",
        "solver+0x2001",
    ] {
        t.shows(word);
    }
    s.change(offset_of!(Header, regions), 1043);
    t.shows("1043 regions");
    let state = TABLES.threads_at + offset_of!(ThreadRow, state);
    s.change(state, State::Failed as u64);
    t.shows("failed");
    // The chosen segment's advice; the other one by an arrow.
    let screen = t.shows("cause: uneven work");
    assert!(screen.contains("smaller chunks") || screen.contains("longest iterations"), "{screen}");
    t.keys("Down");
    t.shows("to barrier (solver+0x2000)");
    t.keys("s");
    t.shows("segments by time");
    t.keys("i");
    t.shows("last interval");
    t.keys("p");
    t.shows("held");
    s.change(offset_of!(Header, regions), 2000);
    std::thread::sleep(Duration::from_millis(400));
    assert!(!t.tmux(&["capture-pane", "-p"]).1.contains("2000 regions"), "held");
    t.keys("p");
    t.shows("2000 regions");
    // The process ends: what it did stays on the screen.
    s.child.kill().and_then(|()| s.child.wait()).unwrap();
    t.shows("ENDED");
    t.keys("q");
    t.shows("left 0");
}
