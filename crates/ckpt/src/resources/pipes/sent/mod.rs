//! Output that a pipe has taken is sent once: after a rollback the program sends again what it has sent
//! since the checkpoint, and that stays here.
//!
//! For each pipe that the program was started with for output, the last 64 MiB that it has taken are noted
//! in a ring, a file that outlives the process, as do the counters. A checkpoint has the position; a
//! rollback puts it back, and what the program hands over until it is `end` again is compared with the
//! notes and dropped. If it differs, from there on whole lines that have been sent are dropped once each,
//! in whatever order they come, and others are sent (`line_checksums.rs`). `piece.rs` sends,
//! `output_calls.rs` has the program's calls.
//!
//! Under a supervisor a piece goes by a private pipe (`private_pipe.rs`), and after a death it is known what
//! of it was taken. Otherwise a process that is killed between sending a piece and noting it leaves one that
//! may have been sent (`tried` is ahead of `end`): a log is asked when it is to be sent again; of a pipe a
//! restart says so, and it is sent again.

mod line_checksums;
pub(crate) mod output_calls;
mod piece;
pub(crate) mod private_pipe;

use super::{Identity, Notes, Stream, behind, one_way};
use crate as ckpt;
use crate::image;
use crate::open_descriptors::{Inherited, flags_of, length_of};
use crate::sys;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::os::fd::AsRawFd;

/// Pipes that are followed; what goes to more of them is sent again.
pub(crate) const STREAMS: usize = 4;

/// The pipes. In the kept region; zeroed memory has none.
#[repr(C)]
pub struct Sent {
    /// Pipes that are followed.
    used: AtomicU32,
    /// PROMP_VERBOSE.
    verbose: AtomicU32,
    sinks: [Sink; STREAMS],
}

/// One pipe.
#[repr(C)]
struct Sink {
    stream: Stream,
    lines: line_checksums::Lines,
    /// 1: it is a file.
    log: AtomicU32,
    private: private_pipe::Private,
}

impl Sink {
    fn is_log(&self) -> bool {
        self.log.load(Relaxed) != 0
    }
}

/// The counters of a pipe, which outlive the process.
#[derive(Clone, Copy)]
struct Counters {
    /// See [`Notes`].
    end: &'static AtomicU64,
    from: &'static AtomicU64,
    /// `end` as it will be when the piece has been written that is being written.
    tried: &'static AtomicU64,
    /// `end` as it will be when the private pipe is empty, if it is ahead.
    staged: &'static AtomicU64,
    /// The number of that pipe.
    by: &'static AtomicU64,
    /// Places of the pipe that is followed, before it was given more. Of a log: where the piece that is being
    /// written is, or behind that.
    places: &'static AtomicU64,
}

/// Words of [`ckpt::state`] that are used here, in front of its last one.
const WORDS: usize = 6 * STREAMS;
const _: () = assert!(WORDS < image::state::WORDS);

impl Counters {
    fn of(slot: usize) -> Self {
        let state = ckpt::state();
        // The second three are younger: a folder that an older version has made does not have them.
        let word = |i: usize| &state[state.len() - 2 - 3 * slot - i - (i / 3) * (3 * STREAMS - 3)];
        let [end, from, tried, staged, by, places] = [0, 1, 2, 3, 4, 5].map(word);
        Self { end, from, tried, staged, by, places }
    }

    fn notes(self, stream: &Stream) -> Notes<'_> {
        Notes { stream, end: self.end, from: self.from }
    }

    /// Nothing is there behind `position`.
    fn begin_again(&self, position: u64) {
        for w in [self.end, self.tried, self.staged] {
            w.store(position, Release);
        }
    }

    /// Another process had these: counts what the pipe has taken of the piece that was on its way when it
    /// died, if this is the private pipe that it was in.
    fn settle(&self, private: &private_pipe::Private) {
        let number = private.number();
        if number != 0 && number == self.by.load(Relaxed) {
            let (end, staged) = (self.end.load(Relaxed), self.staged.load(Relaxed));
            let taken = staged.saturating_sub(end).saturating_sub(private.inside());
            self.end.store(end + taken, Release);
            self.staged.store(end + taken, Release);
        }
    }

    /// So many bytes behind `end` may have been taken.
    fn doubtful(&self) -> u64 {
        let most = self.tried.load(Relaxed).max(self.staged.load(Relaxed));
        most.saturating_sub(self.end.load(Relaxed))
    }

    /// What is sent from here on goes by the private pipe, if there is one and a pipe is followed, which
    /// `pipe` leads to. Where pieces must stay apart (packets) they are written.
    fn go_by(&self, private: &private_pipe::Private, pipe: Option<i32>) {
        let pipe = pipe.filter(|&fd| flags_of(fd) & libc::O_DIRECT == 0);
        if pipe.is_none() {
            private.end();
        }
        if self.places.load(Relaxed) == 0 {
            self.places.store(pipe.map_or(0, private_pipe::places_of), Relaxed);
        }
        let end = self.end.load(Relaxed);
        if let Some(fd) = pipe {
            private.starts(fd, end, self.places.load(Relaxed));
        }
        self.staged.store(end, Release);
        private.clear();
        self.by.store(private.number(), Release);
    }
}

/// Which run of the system this is: the kernel numbers pipes anew in each.
pub(crate) fn boot() -> String {
    let text = sys::maps::read_file(c"/proc/sys/kernel/random/boot_id").unwrap_or_default();
    String::from_utf8_lossy(&text).trim().into()
}

impl Sent {
    /// Follows the pipes among `inherited` into which the program writes. Those that `saved` has, of a
    /// checkpoint that a new process goes on from, go on from there. Returns what is to be said.
    pub fn begin(
        &self,
        inherited: &[Inherited],
        saved: Option<&image::Description>,
        verbose: u32,
    ) -> Vec<String> {
        self.verbose.store(verbose, Relaxed);
        let empty = image::Description::default();
        let same_boot = saved.is_some_and(|d| d.boot == boot() && !d.boot.is_empty());
        let was: &[image::OpenFile] = saved.map_or(&[], |d| &d.files);
        let was_log =
            |id: Identity| was.iter().find(|f| f.inherited && f.regular && [f.device, f.inode] == id);
        let saved = &saved.unwrap_or(&empty).sent;
        let mut said = Vec::new();
        let pipes = one_way(inherited, libc::O_WRONLY);
        let is_log = |pipe: Identity| inherited.iter().any(|i| i.log && [i.file.0, i.file.1] == pipe);
        // A file that is shorter than it was has been emptied, or is another one.
        let goes_on = |s: &&image::Sent| {
            let id = [s.device, s.inode];
            let log = || was_log(id).is_some_and(|f| is_log(id) && length_of(f.fd) >= f.length);
            pipes.contains(&id) && (log() || same_boot && !is_log(id))
        };
        self.sinks.iter().enumerate().for_each(|(slot, s)| s.private.begin(slot));
        for s in saved.iter().filter(|s| (s.slot as usize) < STREAMS) {
            let (slot, c) = (s.slot as usize, Counters::of(s.slot as usize));
            c.settle(&self.sinks[slot].private);
            let (sent, doubtful) = (c.end.load(Relaxed).saturating_sub(s.position), c.doubtful());
            let log = was_log([s.device, s.inode]).is_some();
            if goes_on(&s) && self.follow(slot, [s.device, s.inode], false) {
                self.sinks[slot].log.store(u32::from(log), Relaxed);
                if doubtful > 0 && !log {
                    said.push(format!(
                        "up to {doubtful} bytes may be sent twice to pipe:[{}]: the process died while it sent them",
                        s.inode
                    ));
                }
                if !c.notes(&self.sinks[slot].stream).has(s.position) {
                    said.push(again(sent, s.inode));
                }
                self.go_back_to(slot, s);
            } else if sent > 0 && !log {
                said.push(again(sent, s.inode));
            }
        }
        for pipe in pipes {
            if self.sinks.iter().any(|s| s.stream.is(pipe)) {
                continue;
            }
            if let Some(slot) = (0..STREAMS).find(|&i| !self.sinks[i].stream.follows()) {
                let c = Counters::of(slot);
                let all = [c.end, c.from, c.tried, c.staged, c.places];
                all.iter().for_each(|w| w.store(0, Relaxed));
                self.follow(slot, pipe, true);
                self.sinks[slot].log.store(u32::from(is_log(pipe)), Relaxed);
            }
        }
        self.go_by_private_pipes(inherited);
        said
    }

    /// What is sent from here on goes by the private pipes, where there are some.
    fn go_by_private_pipes(&self, inherited: &[Inherited]) {
        for (slot, s) in self.sinks.iter().enumerate() {
            let it = |i: &&Inherited| i.pipe && s.stream.is([i.file.0, i.file.1]);
            Counters::of(slot).go_by(&s.private, inherited.iter().find(it).map(|i| i.fd));
        }
    }

    /// Follows a pipe in a slot; `anew`: without notes so far.
    fn follow(&self, slot: usize, pipe: Identity, anew: bool) -> bool {
        let s = &self.sinks[slot].stream;
        let there = s.ring.open(&ckpt::keep::get().journal.folder, slot, anew);
        if there {
            s.follow(pipe);
            self.used.fetch_add(1, Release);
        }
        there
    }

    /// Descriptors of ours.
    pub fn descriptors(&self) -> [i32; STREAMS] {
        self.sinks.each_ref().map(|s| s.private.descriptor())
    }

    fn all(&self) -> impl Iterator<Item = (usize, &Sink)> {
        self.sinks.iter().enumerate().filter(|(_, s)| s.stream.follows())
    }

    /// Where the program is in each pipe, for a checkpoint. The threads are frozen.
    pub fn positions(&self) -> Vec<image::Sent> {
        let position = |(slot, s): (usize, &Sink)| {
            let [device, inode] = s.stream.identity();
            let position = s.stream.position.load(Relaxed);
            let end = Counters::of(slot).end.load(Relaxed);
            image::Sent { slot: slot as u32, device, inode, position, end, lines: s.lines.save() }
        };
        self.all().map(position).collect()
    }

    /// The program goes back to where it was in `saved`. The threads are frozen.
    pub fn go_back(&self, saved: &[image::Sent]) {
        for (slot, s) in self.all() {
            let it = |p: &&image::Sent| s.stream.is([p.device, p.inode]);
            let anew = image::Sent::default();
            self.go_back_to(slot, saved.iter().find(it).unwrap_or(&anew));
        }
    }

    fn go_back_to(&self, slot: usize, saved: &image::Sent) {
        let Sink { stream, lines, .. } = &self.sinks[slot];
        let notes = Counters::of(slot).notes(stream);
        // What is not noted is sent again.
        let end = notes.end();
        let there = notes.has(saved.position);
        let position = if there { saved.position } else { end };
        stream.asked.store(position, Relaxed);
        match &saved.lines {
            Some(saved) if there => {
                lines.go_back(saved, position, end, &|place, to| notes.read(place, to));
                stream.position.store(end, Relaxed);
            }
            _ => {
                lines.begin(position);
                stream.position.store(position, Relaxed);
            }
        }
    }

    /// The program goes back to where it was in a log, by `saved`; it is `length` bytes long now. True: the
    /// log stays as it is, and what the program sends again is left out, unless some of it is not there any
    /// more. False: what has been added is the program's own, which is noted no more: it is to be cut, and is
    /// sent anew; or it is no log. `may_be_cut`: nobody else of the run writes to it.
    pub fn keeps_a_log(
        &self,
        f: &image::OpenFile,
        length: u64,
        saved: &[image::Sent],
        may_be_cut: bool,
    ) -> bool {
        let id = [f.device, f.inode];
        let Some((slot, sink)) = self.all().find(|(_, s)| s.is_log() && s.stream.is(id)) else {
            return false;
        };
        if length < f.length {
            return false;
        }
        let (c, none) = (Counters::of(slot), image::Sent::default());
        let notes = c.notes(&sink.stream);
        let saved = saved.iter().find(|s| sink.stream.is([s.device, s.inode])).unwrap_or(&none);
        // What had gone out when the file was that long.
        let begin = saved.end.max(saved.position);
        let (added, own) = (length - f.length, notes.end().saturating_sub(begin));
        let noted = |bytes: u64| notes.has(begin) && is_noted(f, notes, begin, begin + bytes);
        // Somebody may write meanwhile.
        let all_own = || may_be_cut && noted(added) && length_of(f.fd) == length;
        if added == 0 && own == 0 || added >= own && !(added == own && all_own()) {
            return true;
        }
        // It is the program's own, or some of that is gone: then what is gone is sent anew, behind what is
        // there.
        let cut = all_own();
        c.begin_again(if !cut && noted(added) { begin + added } else { begin });
        self.go_back_to(slot, saved);
        !cut
    }

    /// The program has gone back, and its files with it. A log that this process does not write to the end
    /// of is not followed and has been cut: what was noted is not there any more.
    pub fn forget_cut(&self, saved: &[image::Sent], files: &[image::OpenFile]) {
        for s in saved.iter().filter(|s| (s.slot as usize) < STREAMS) {
            let (slot, id) = (s.slot as usize, [s.device, s.inode]);
            let cut =
                |f: &image::OpenFile| f.inherited && f.regular && f.fd != 2 && [f.device, f.inode] == id;
            let log = files.iter().any(cut);
            if log && !self.sinks[slot].stream.follows() && !self.all().any(|(_, k)| k.stream.is(id)) {
                Counters::of(slot).begin_again(s.position);
            }
        }
    }

    /// Bytes that the pipe behind `fd` has taken since the program was where it is in `saved`, if all of
    /// them are known.
    pub fn since(&self, fd: i32, saved: &[image::Sent]) -> Option<u64> {
        let pipe = behind(fd)?;
        let (slot, s) = self.all().find(|(_, s)| s.stream.is(pipe))?;
        let position = saved.iter().find(|p| [p.device, p.inode] == pipe).map_or(0, |p| p.position);
        let notes = Counters::of(slot).notes(&s.stream);
        notes.has(position).then(|| notes.end() - position)
    }

    /// The checkpoint with the positions `saved` is whole.
    pub fn whole(&self, saved: &[image::Sent]) {
        for p in saved {
            if let Some((_, s)) = self.all().find(|(_, s)| s.stream.is([p.device, p.inode])) {
                s.stream.asked.store(p.position, Relaxed);
            }
        }
    }
}

/// Is what has been added to file `f` since it was that long what was noted between two places? Yes, where
/// it cannot be read.
fn is_noted(f: &image::OpenFile, notes: Notes, position: u64, end: u64) -> bool {
    let Ok(file) = promp_files::open_again(f.fd, libc::O_RDONLY) else { return true };
    let (mut there, mut noted) = ([0u8; 4096], [0u8; 4096]);
    (position..end).step_by(there.len()).all(|at| {
        let n = there.len().min((end - at) as usize);
        let place = f.length + (at - position);
        // SAFETY: a buffer of that length, and a descriptor of ours.
        let r = unsafe { sys!(libc::SYS_pread64, file.as_raw_fd(), there.as_mut_ptr(), n, place) };
        r == n as isize && notes.read(at, &mut noted[..n]) && there[..n] == noted[..n]
    })
}

fn again(bytes: u64, inode: u64) -> String {
    format!("{bytes} bytes that were sent to pipe:[{inode}] after the checkpoint are sent again")
}
