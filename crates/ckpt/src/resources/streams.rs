//! Pipes and terminals between the program and others: what it has read from them, or sent, since a checkpoint does not come back with
//! its memory. inotify tells exactly whether it has: the kernel notes a read or a write before it returns from it.
//!
//! A stream is watched until its first event ([`libc::IN_ONESHOT`]), which costs that one call a microsecond, and anew from each checkpoint
//! on. Who shares the stream counts like the program itself.

use super::resource::{Back, Frozen, No, Resource};
use crate::image::{Description, OpenFile};
use crate::sys;
use crate::sys::lock::Locked;
use crate::sys::out;
use crate::{image, keep, open_descriptors};
use std::ffi::CString;
use std::fs;

#[cfg(test)]
mod tests;

/// Streams, and what has happened to them.
pub(crate) struct Streams {
    /// The inotify instance; negative: the system gives none.
    notes: i32,
    watched: Vec<Stream>,
    /// Why there is no instance.
    none: String,
}

/// A stream as it was at the last attempt of a checkpoint.
#[derive(Clone)]
struct Stream {
    /// inotify's number of the watch.
    number: i32,
    fd: i32,
    /// What the kernel calls it (`pipe:[1]`, `/dev/pts/1`).
    path: String,
    kind: Kind,
    /// Has it been read from, or written to, since the last whole checkpoint?
    since: bool,
    /// Ever?
    ever: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What the program reads from it is gone.
    Input,
    /// Somebody sits there who can type it again.
    Terminal,
    /// What the program sends is sent.
    Output,
}

/// What stands against a rollback, and what is to be said if nothing does.
#[derive(Default)]
pub(crate) struct Since {
    /// Input that is gone.
    pub lost: Option<String>,
    /// What is done again in the sight of others.
    pub again: Vec<String>,
}

/// What the library has found when it was loaded: the program may read before its first use of the runtime.
static EARLY: Locked<Option<Streams>> = Locked::new(None);

/// Watches the pipes among `inherited`, the descriptors that the program was started with.
pub(crate) fn begin(inherited: &[i32]) {
    let pipes: Vec<OpenFile> = (inherited.iter())
        .filter(|&&fd| open_descriptors::is_pipe(fd) && open_descriptors::is_readable(fd))
        .map(|&fd| OpenFile { fd, path: path_of(fd), ..Default::default() })
        .collect();
    if !pipes.is_empty() {
        let mut s = Streams::new();
        s.go_back(&pipes);
        EARLY.with(|e| *e = Some(s));
    }
}

impl Default for Streams {
    /// Those that the program was started with. On the keeper's host.
    fn default() -> Self {
        let early = EARLY.with(Option::take);
        // In memory that is not replaced.
        early.as_ref().map_or_else(Self::new, |e| Self {
            watched: e.watched.to_vec(),
            none: e.none.clone(),
            ..*e
        })
    }
}

impl Streams {
    fn new() -> Self {
        // SAFETY: plain call.
        let fd = unsafe { sys!(libc::SYS_inotify_init1, libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        let none = if fd < 0 { format!("inotify: {}", sys::why(fd)) } else { "inotify".into() };
        Self { notes: sys::syscall::high(fd), watched: Vec::new(), none }
    }

    /// The descriptor that is ours.
    pub(crate) fn descriptor(&self) -> i32 {
        self.notes
    }

    /// Looks at the streams among `open` for a checkpoint, while the threads are frozen, and watches them from here on; notes in
    /// `open` what a restart must know of them. The error says why there can be no checkpoint.
    fn look_at(&mut self, open: &mut [OpenFile]) -> Result<(), String> {
        self.note();
        let mut watched: Vec<Stream> = Vec::new();
        for i in 0..open.len() {
            let Some(kind) = kind(&open[i], open) else { continue };
            let f = &mut open[i];
            let it = |s: &&Stream| s.path == f.path && s.kind == kind;
            let (since, ever) = self.watched.iter().find(it).map_or((false, false), |s| (s.since, s.ever));
            if kind == Kind::Input {
                (f.was_read, f.has_ended) = (ever, has_ended(f.fd));
                if f.path.starts_with("socket:") && !f.has_ended {
                    return Err(format!(
                        "descriptor {} is a socket whose other side may still send ({}); start the program with </dev/null if it needs no input",
                        f.fd, f.path
                    ));
                }
            }
            if watched.iter().any(|s| it(&s)) {
                continue;
            }
            let number = self.watch(f.fd, kind);
            if number < 0 && kind == Kind::Input && !f.has_ended {
                return Err(format!(
                    "nobody can tell whether the program reads from descriptor {} ({}; {})",
                    f.fd, f.path, self.none
                ));
            }
            watched.push(Stream { number, fd: f.fd, path: f.path.clone(), kind, since, ever });
        }
        self.watched = watched;
        Ok(())
    }

    /// The program goes on from a checkpoint with the streams among `saved`, in this process or a new one.
    fn go_back(&mut self, saved: &[OpenFile]) {
        self.note();
        self.watched = (saved.iter())
            .filter_map(|f| {
                let kind = kind(f, saved)?;
                let path = path_of(f.fd);
                let number = self.watch(f.fd, kind);
                Some(Stream { number, fd: f.fd, path, kind, since: false, ever: f.was_read })
            })
            .collect();
    }

    /// What has happened since the last whole checkpoint, number `generation`. The threads are frozen. `others`: there were other processes, which may
    /// have read, too.
    pub(crate) fn since(&mut self, generation: u64, saved: &image::Description, others: bool) -> Since {
        self.note();
        let mut s = Since::default();
        let cannot_tell = |w: &&Stream| w.kind == Kind::Input && w.number < 0 && !has_ended(w.fd);
        // An attempt that has failed may have seen others, which the program makes anew.
        let was_there = |w: &&Stream| saved.files.iter().any(|f| f.path == w.path);
        for w in self.watched.iter().filter(|w| w.since || cannot_tell(w)).filter(was_there) {
            let what = format!("{} (descriptor {}) since checkpoint {generation}", w.path, w.fd);
            match w.kind {
                Kind::Input if !others && is_read_again(w.fd, &saved.received) => {}
                Kind::Input => s.lost = Some(format!("the program has read from {what}")),
                Kind::Terminal => s.again.push(format!("what was typed at {what} is asked for again")),
                Kind::Output if is_kept_back(w.fd, &saved.sent) => {}
                Kind::Output => s.again.push(format!("what was sent to {what} is sent again")),
            }
        }
        let new =
            open_descriptors::numbers().into_iter().filter(|fd| !saved.files.iter().any(|f| f.fd == *fd));
        for fd in new {
            let path = path_of(fd);
            if path.starts_with('/') && open_descriptors::is_pipe(fd) && open_descriptors::is_readable(fd) {
                s.lost = Some(format!("the program has opened {path} since checkpoint {generation}"));
            }
        }
        s
    }

    fn watch(&self, fd: i32, kind: Kind) -> i32 {
        let event = if kind == Kind::Output { libc::IN_MODIFY } else { libc::IN_ACCESS };
        let path = CString::new(format!("/proc/thread-self/fd/{fd}")).unwrap_or_default();
        // SAFETY: a C string.
        let r =
            unsafe { sys!(libc::SYS_inotify_add_watch, self.notes, path.as_ptr(), event | libc::IN_ONESHOT) };
        r as i32
    }

    /// Takes note of the events so far.
    fn note(&mut self) {
        let mut text = [0u8; 4096];
        loop {
            // SAFETY: a buffer of that length.
            let n = unsafe { sys!(libc::SYS_read, self.notes, text.as_mut_ptr(), text.len()) };
            if n <= 0 {
                return;
            }
            for (number, mask) in events(&text[..n as usize]) {
                let lost = mask & libc::IN_Q_OVERFLOW != 0;
                for s in &mut self.watched {
                    let it = s.number == number && mask & (libc::IN_ACCESS | libc::IN_MODIFY) != 0;
                    s.since |= it || lost;
                    s.ever |= s.since;
                }
            }
        }
    }
}

impl Resource for Streams {
    fn look(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        Ok(self.look_at(&mut about.files)?)
    }

    /// What had been done before it is a part of it.
    fn whole(&mut self, _: &Description) {
        self.watched.iter_mut().for_each(|s| s.since = false);
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        if to.new_process {
            out::begin_anew(about.files.iter().any(|f| f.fd == 2 && f.inherited));
            keep::get().sent.forget_cut(&about.sent, &about.files);
            // It has been given others in their place.
            for f in about.files.iter_mut().filter(|f| f.inherited && !f.regular) {
                f.path = path_of(f.fd);
            }
        }
        self.go_back(&about.files);
        Ok(())
    }
}

/// Watches and masks of the events in what inotify has written.
fn events(text: &[u8]) -> impl Iterator<Item = (i32, u32)> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let head: &[u8; 16] = rest.first_chunk()?;
        let word = |i: usize| u32::from_ne_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        rest = rest.get(16 + word(12) as usize..).unwrap_or(&[]);
        Some((word(0) as i32, word(4)))
    })
}

/// What `f` is to the program, if a rollback must care.
fn kind(f: &OpenFile, all: &[OpenFile]) -> Option<Kind> {
    if f.path.starts_with("/dev/pts/") || f.path.starts_with("/dev/tty") {
        return Some(Kind::Terminal);
    }
    let socket = f.path.starts_with("socket:");
    if !(socket || open_descriptors::is_pipe(f.fd)) || is_own(f, all) {
        return None;
    }
    // A socket goes both ways; standard output and error are written to. Messages about failures go to the latter.
    match (f.fd, socket || f.is_readable()) {
        (2, _) => None,
        (1, true) if socket => Some(Kind::Output),
        (_, true) => Some(Kind::Input),
        (_, false) => Some(Kind::Output),
    }
}

/// A pipe by which the program sends itself something: that it sends again.
pub(crate) fn is_own(f: &OpenFile, all: &[OpenFile]) -> bool {
    let has = |end: fn(&OpenFile) -> bool| all.iter().any(|g| g.path == f.path && end(g));
    f.path.starts_with("pipe:") && has(OpenFile::is_readable) && has(OpenFile::is_writable)
}

/// Is it known what was read by `fd` since the program was where it is in `saved`? It can read that again.
fn is_read_again(fd: i32, saved: &[image::Received]) -> bool {
    keep::if_on().is_some_and(|k| k.received.covers(fd, saved))
}

/// Is it known what was sent by `fd` since the program was where it is in `saved`? That is not sent again.
fn is_kept_back(fd: i32, saved: &[image::Sent]) -> bool {
    let sent = keep::if_on().and_then(|k| k.sent.since(fd, saved));
    // Something was sent, and not by a call that is known? Our own messages are, too.
    sent.is_some_and(|n| {
        n > 0 || open_descriptors::behind([fd, 2]).windows(2).any(|w| w[0].file == w[1].file)
    })
}

/// What the kernel calls what is behind `fd`; nothing if it is closed.
pub(crate) fn path_of(fd: i32) -> String {
    fs::read_link(format!("/proc/thread-self/fd/{fd}")).unwrap_or_default().display().to_string()
}

/// Is there nothing to be read any more, and nobody who could send?
pub(crate) fn has_ended(fd: i32) -> bool {
    let mut p = libc::pollfd { fd, events: libc::POLLIN | libc::POLLRDHUP, revents: 0 };
    // SAFETY: one entry, and no waiting.
    let r = unsafe { sys!(libc::SYS_poll, &raw mut p, 1, 0) };
    r == 1 && p.revents & (libc::POLLHUP | libc::POLLRDHUP) != 0 && open_descriptors::unread(fd) == 0
}

/// May a new process go on from a checkpoint with the streams `saved`? The error says why not; else, what is to be said. `read_since`: somebody
/// who has watched standard input knows that it was read from.
pub(crate) fn fit(saved: &[image::OpenFile], read_since: bool) -> Result<Vec<String>, String> {
    let mut say = Vec::new();
    for f in saved.iter().filter(|f| f.inherited && !f.has_ended) {
        let (fd, path) = (f.duplicate_of.unwrap_or(f.fd), &f.path);
        let now = path_of(fd);
        let same = now == f.path;
        if same && (f.was_read || (read_since && fd == 0 && path.starts_with("pipe:"))) {
            return Err(format!(
                "the program reads from {path} (descriptor {fd}); what it has read since the checkpoint cannot be read again. \
                 With the rest of its input from elsewhere (`promp restart DIR <file`) it can go on"
            ));
        }
        if f.was_read {
            let now = if now.is_empty() { "nothing" } else { &now };
            say.push(format!(
                "the program had read from {path} (descriptor {fd}), which had not ended; it goes on reading from {now}"
            ));
        }
    }
    Ok(say)
}
