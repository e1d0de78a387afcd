//! The keeper: a host of its own that takes checkpoints and rolls back. It lives in the kept region and has no part in what
//! it saves.
//!
//! Taking a checkpoint (the repaired protocol; docs/checkpoints.md): Started is set; every thread arrives — wherever it is, the
//! freeze signal finds it, so nobody waits for one who waits for him — and counts Counter down; the keeper waits for
//! Counter = 0, notes the contexts, copies what has changed, arms the tracking of writes anew, and only then lets the
//! threads go and clears Started: what they write afterwards belongs to the next checkpoint. Writing to disk comes after.

use super::files;
use super::image::{Context, Description, Entry, Map, OpenFile, PAGE, Seconds};
use super::keep::{self, Keep};
use super::memory::{self, Door, Run, Tracker};
use super::seats::{self, FROZEN, GO, LEAVE, Seat, TAKE};
use super::staging::Staging;
use super::store::Store;
use super::{Settings, image};
use crate::fault::record::{self, Recovery};
use crate::say;
use crate::sys;
use crate::sys::{futex, host, signals, syscall, time};
use crate::team::region;
use core::sync::atomic::{Ordering::*, fence};

/// How long threads may take to answer the freeze signal.
const PATIENCE_NS: u64 = 2_000_000_000;

/// When something is under way: tried again after this time.
const RETRY_NS: u64 = 500_000;

/// One checkpoint, for the report.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Generation.
    pub generation: u64,
    /// Monotonic time.
    pub at_ns: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Pages written.
    pub dirty_pages: u64,
    /// How long the threads were frozen.
    pub stop_ns: u64,
    /// How long writing took.
    pub write_ns: u64,
}

/// The keeper's own data.
pub struct Keeper {
    settings: Settings,
    store: Store,
    tracker: Tracker,
    door: Door,
    /// What was saved last, but for the pages.
    last: Description,
    generation: u64,
    /// What has changed since the last checkpoint is not known: everything may have.
    unknown: bool,
    staging: Staging,
    refused: Vec<String>,
    /// A thread without a seat, and since when it has been seen.
    stranger: Option<(u32, u64)>,
    taken: &'static super::TakenList,
    mapped: Vec<image::MappedFile>,
    cpu: Vec<String>,
    started_ns: u64,
}

/// Why there is no checkpoint now.
enum No {
    /// Try again soon: something is under way.
    Later,
    /// Not possible in this state of the program.
    Refused(String),
}

impl Keeper {
    /// A keeper for `settings`, with the page store open. On the keeper's own stack.
    pub fn new(settings: Settings, store: Store, taken: &'static super::TakenList) -> Self {
        let tracker = Tracker::new(settings.compare);
        Self {
            door: Door::open(),
            store,
            tracker,
            last: Description::default(),
            generation: 0,
            unknown: true,
            staging: Staging::new(),
            refused: Vec::new(),
            stranger: None,
            taken,
            mapped: Vec::new(),
            cpu: image::cpu_features(),
            started_ns: time::now_ns(),
            settings,
        }
    }

    /// Goes on from a generation that a new process has been made from.
    pub fn resume_from(&mut self, g: image::Generation) {
        self.generation = g.number;
        self.last = g.about;
        keep::get().generation.store(g.number, Release);
        keep::get().taken_ns.store(time::now_ns(), Release);
    }

    /// The loop.
    pub fn run(&mut self) -> ! {
        let k = keep::get();
        let mut due = time::now_ns() + self.settings.interval_ns;
        loop {
            let bell = k.bell.load(Acquire);
            if k.failed.load(Acquire) > 0 {
                self.roll_back();
                due = time::now_ns() + self.settings.interval_ns;
                continue;
            }
            let wanted = k.wanted.load(Acquire) > 0;
            let now = time::now_ns();
            if wanted || now >= due {
                k.busy.store(1, Release);
                let taken = self.take();
                k.busy.store(0, Release);
                futex::wake(&k.busy, u32::MAX);
                let soon = match taken {
                    Ok(()) => self.settings.interval_ns,
                    Err(No::Later) => RETRY_NS,
                    Err(No::Refused(why)) => {
                        self.refuse(why);
                        self.settings.interval_ns.max(50_000_000)
                    }
                };
                due = time::now_ns() + soon;
                if soon != RETRY_NS {
                    self.answer();
                } else if wanted {
                    futex::wait_until(&k.bell, k.bell.load(Acquire), due);
                }
                continue;
            }
            futex::wait_until(&k.bell, bell, due);
        }
    }

    /// Says why there is no checkpoint, once for each reason.
    fn refuse(&mut self, why: String) {
        if self.settings.verbose >= 1 && !self.refused.contains(&why) {
            say!("no checkpoint now: {why}; the run goes on");
            self.refused.push(why);
        }
    }

    fn ours(&self) -> Vec<i32> {
        [&self.store.descriptors()[..], &self.tracker.descriptors(), &[self.door.0]].concat()
    }

    /// Stops every thread. Afterwards exactly those that have arrived must be let go.
    fn freeze(&mut self) -> Result<Vec<&'static Seat>, No> {
        let k = keep::get();
        // Pairs with `Transition::begin`: whoever sees the other one's word gives way.
        k.started.store(1, SeqCst);
        fence(SeqCst);
        if k.transitions.load(SeqCst) > 0 || k.seats.iter().any(|s| s.going.load(Acquire) != 0) {
            self.thaw(&[]);
            return Err(No::Later);
        }
        if k.agent.load(Acquire) != 0 {
            k.agent_rests.store(1, Release);
            crate::fault::agent::ring();
            let until = time::now_ns() + PATIENCE_NS;
            while k.agent_rests.load(Acquire) != 2 && time::now_ns() < until {
                syscall::sched_yield();
            }
        }
        let seats: Vec<&'static Seat> = k
            .seats
            .iter()
            .filter(|s| !s.thread.load(Acquire).is_null() && s.host.load(Acquire) != 0)
            .collect();
        // Threads without a seat: of the program's own, or on their way (a worker that is being made).
        let strangers = |tids: &[u32]| {
            tids.iter().copied().find(|&t| {
                !seats.iter().any(|s| s.host.load(Relaxed) == t)
                    && !k.own_hosts.iter().any(|o| o.load(Relaxed) == t)
                    && k.parked.load(Relaxed) != t
            })
        };
        if let Some(t) = strangers(&hosts()) {
            self.thaw(&[]);
            return Err(self.stranger(t));
        }
        if let Some(s) = seats.iter().find(|s| s.is_the_programs_own()) {
            let t = s.host.load(Relaxed);
            self.thaw(&[]);
            return Err(No::Refused(format!("the program has threads of its own (kernel thread {t})")));
        }
        k.counter.store(seats.len() as u32, Release);
        for s in &seats {
            syscall::tgkill(s.host.load(Relaxed), seats::signal());
        }
        let until = time::now_ns() + PATIENCE_NS;
        loop {
            let left = k.counter.load(Acquire);
            // One that failed meanwhile does not arrive.
            let gone = seats.iter().filter(|s| s.host.load(Acquire) == 0).count() as u32;
            if left <= gone {
                break;
            }
            if time::now_ns() > until || k.transitions.load(SeqCst) > 0 {
                let late = k.transitions.load(SeqCst) == 0;
                self.thaw(&seats);
                return Err(if late {
                    No::Refused("a thread does not answer (it blocks signals)".into())
                } else {
                    No::Later
                });
            }
            futex::wait_until(&k.counter, left, time::now_ns() + 200_000);
        }
        // Threads made while the others were stopped.
        let all = hosts();
        if let Some(t) = strangers(&all) {
            self.thaw(&seats);
            return Err(self.stranger(t));
        }
        Ok(seats.into_iter().filter(|s| s.state.load(Acquire) == FROZEN).collect())
    }

    /// Kernel thread `tid` has no seat. A new worker takes its seat, and a failed host ends, within microseconds.
    fn stranger(&mut self, tid: u32) -> No {
        const PASSING_NS: u64 = 100_000_000;
        let now = time::now_ns();
        match self.stranger {
            Some((t, since)) if t == tid && now - since > PASSING_NS => {
                No::Refused(format!("the program has threads of its own (kernel thread {tid})"))
            }
            Some((t, _)) if t == tid => No::Later,
            _ => {
                self.stranger = Some((tid, now));
                No::Later
            }
        }
    }

    /// Lets the threads go on as before.
    fn thaw(&self, seats: &[&'static Seat]) {
        let k = keep::get();
        k.started.store(0, SeqCst);
        for s in seats {
            if s.state.load(Acquire) == FROZEN {
                s.order(GO);
            }
        }
        self.wake_agent();
    }

    fn wake_agent(&self) {
        let k = keep::get();
        k.agent_rests.store(0, Release);
        futex::wake(&k.agent_rests, 1);
    }

    fn take(&mut self) -> Result<(), No> {
        let k = keep::get();
        if !self.store.intact() {
            return Err(No::Refused("the program has closed descriptors of the runtime's".into()));
        }
        let expected = self.estimate();
        self.staging.prepare(expected);
        let began = time::now_ns();
        let seats = self.freeze()?;
        if k.failed.load(Acquire) > 0 || seats.iter().any(|s| s.is_about_to_stop()) {
            // One failed while the others were being stopped: first the rollback. Or a stop waits for a call's exit: saved, it
            // would strike again after every rollback.
            self.thaw(&seats);
            return Err(No::Later);
        }
        let copied = self.copy(&seats);
        if copied.is_ok() {
            self.unknown = true; // until it is whole
        }
        self.thaw(&seats);
        let stop_ns = time::now_ns() - began;
        let (about, held, entries) = copied?;
        self.answer();
        let dirty_pages = held.pages.len() + entries.len();
        self.finish(about, held, entries, stop_ns, began).map_err(No::Refused)?;
        self.unknown = false;
        if self.settings.verbose >= 2 {
            say!(
                "checkpoint {} taken: {dirty_pages} pages, {:.1} ms stopped",
                self.generation,
                stop_ns as f64 / 1e6
            );
        }
        Ok(())
    }

    /// Bytes that a checkpoint taken now would copy, and something for what changes meanwhile.
    fn estimate(&mut self) -> usize {
        let mut runs = Vec::new();
        for m in &memory::mappings() {
            self.tracker.runs(m, false, &mut runs);
        }
        let bytes: usize = runs.iter().filter(|r| r.changed || self.unknown).map(|r| r.end - r.start).sum();
        bytes + bytes / 8 + (1 << 20)
    }

    /// Those who asked for a checkpoint go on: it is safe in memory, or there is none.
    fn answer(&self) {
        let k = keep::get();
        if k.wanted.swap(0, AcqRel) != 0 {
            k.attempts.fetch_add(1, Release);
            futex::wake(&k.attempts, u32::MAX);
        }
    }

    /// Describes the frozen process and copies the pages that have changed.
    fn copy(&mut self, seats: &[&'static Seat]) -> Result<(Description, Held, Vec<Entry>), No> {
        let maps = memory::mappings();
        if let Some(m) = maps.iter().find(|m| m.shared && m.prot & libc::PROT_WRITE != 0) {
            return Err(No::Refused(format!(
                "memory is shared with others ({:x}-{:x} {})",
                m.start, m.end, m.path
            )));
        }
        let files = files::open_files(&self.ours(), &self.settings.inherited).map_err(No::Refused)?;
        if let Some(why) = files::obstacles(syscall::getpid()) {
            return Err(No::Refused(why));
        }
        let about = self.describe(&maps, files, seats);
        let mut runs: Vec<Run> = Vec::new();
        for m in &maps {
            self.tracker.runs(m, true, &mut runs);
        }
        let mut held = Held { pages: Vec::new(), kept: Vec::new() };
        let mut entries = Vec::new();
        self.staging.clear();
        self.store.drop_older(self.generation);
        let old = core::mem::take(&mut self.store.index);
        let result = self.copy_runs(&maps, &runs, &old, &mut held, &mut entries);
        self.store.index = old;
        if let Err(why) = result {
            self.unknown = true;
            return Err(No::Refused(why));
        }
        for m in &maps {
            self.tracker.rearm(m);
        }
        Ok((about, held, entries))
    }

    fn copy_runs(
        &mut self,
        maps: &[Map],
        runs: &[Run],
        old: &[Entry],
        held: &mut Held,
        entries: &mut Vec<Entry>,
    ) -> Result<(), String> {
        let mut at = 0; // in `old`
        let mut map = 0;
        for r in runs {
            while maps[map].end <= r.start {
                map += 1;
            }
            let (readable, anonymous) = (maps[map].prot & libc::PROT_READ != 0, maps[map].inode == 0);
            let mut p = r.start;
            while p < r.end {
                let page = (p / PAGE) as u64;
                while at < old.len() && old[at].page < page {
                    at += 1;
                }
                let known = old.get(at).filter(|e| e.page == page);
                if let (false, false, Some(e)) = (r.changed, self.unknown, known) {
                    held.kept.push(*e);
                    p += PAGE;
                    continue;
                }
                if self.staging.is_full() {
                    self.store.write(self.staging.content(), &held.pages, entries)?;
                    self.staging.clear();
                    held.pages.clear();
                }
                let slot = self.staging.place();
                if readable {
                    // SAFETY: a present, readable page; the threads that could write it are frozen.
                    let page = unsafe { core::slice::from_raw_parts(p as *const u8, PAGE) };
                    if anonymous && is_zero(page) {
                        p += PAGE;
                        continue;
                    }
                    slot.copy_from_slice(page);
                } else if !self.door.read(p, slot) {
                    return Err(format!("the page at {p:x} cannot be read"));
                } else if anonymous && is_zero(slot) {
                    p += PAGE;
                    continue;
                }
                match known.filter(|e| self.unknown && image::page_sum(page, slot) == e.sum) {
                    Some(e) => held.kept.push(*e),
                    None => {
                        held.pages.push(page);
                        self.staging.keep();
                    }
                }
                p += PAGE;
            }
        }
        Ok(())
    }

    fn describe(&mut self, maps: &[Map], files: Vec<OpenFile>, seats: &[&'static Seat]) -> Description {
        let k = keep::get();
        let contexts = seats
            .iter()
            .map(|s| Context {
                seat: k.number(s),
                thread: s.thread.load(Relaxed) as usize,
                context: s.context.load(Relaxed),
                thread_pointer: s.thread_pointer.load(Relaxed),
                robust_head: s.robust_head.load(Relaxed),
                initial: s.initial.load(Relaxed) != 0,
            })
            .collect();
        let read = |p: &core::ffi::CStr| sys::maps::read_file(p).unwrap_or_default();
        let (program, arguments, environment) = self.command();
        let directory = std::fs::read_link("/proc/self/cwd").map(|l| l.to_string_lossy().into_owned());
        let status = String::from_utf8_lossy(&read(c"/proc/self/status")).into_owned();
        let umask =
            status.lines().find_map(|l| u32::from_str_radix(l.strip_prefix("Umask:")?.trim(), 8).ok());
        // SAFETY: asks for the break.
        let brk = unsafe { sys!(libc::SYS_brk, 0) } as usize;
        Description {
            promp: env!("CARGO_PKG_VERSION").into(),
            program,
            arguments,
            environment,
            directory: directory.unwrap_or_default(),
            umask: umask.unwrap_or(0o022),
            pid: syscall::getpid(),
            written: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
            at_s: Seconds((time::now_ns() - self.started_ns) as f64 / 1e9),
            region: region::count(),
            threads: self.settings.threads,
            brk,
            vdso: memory::vdso(),
            cpu: self.cpu.clone(),
            maps: maps.to_vec(),
            mapped: Vec::new(),
            contexts,
            files,
            signals: files::dispositions(),
        }
    }

    /// The program, its arguments and its environment, as they were when it began. The kernel shows a restarted process' own.
    fn command(&self) -> (String, Vec<String>, Vec<String>) {
        if self.generation > 0 {
            let l = &self.last;
            return (l.program.clone(), l.arguments.clone(), l.environment.clone());
        }
        let list = |p: &core::ffi::CStr| {
            let bytes = sys::maps::read_file(p).unwrap_or_default();
            let mut words: Vec<String> =
                bytes.split(|&b| b == 0).map(|s| String::from_utf8_lossy(s).into_owned()).collect();
            words.pop();
            words
        };
        let program = std::fs::read_link("/proc/self/exe")
            .map(|l| l.to_string_lossy().into_owned())
            .unwrap_or_default();
        (program, list(c"/proc/self/cmdline"), list(c"/proc/self/environ"))
    }

    /// Writes what was copied, and makes it the last whole checkpoint.
    fn finish(
        &mut self,
        mut about: Description,
        held: Held,
        mut entries: Vec<Entry>,
        stop_ns: u64,
        began: u64,
    ) -> Result<(), String> {
        let t = time::now_ns();
        let k = keep::get();
        self.store.write(self.staging.content(), &held.pages, &mut entries)?;
        self.staging.clear();
        let dirty_pages = entries.len() as u64;
        about.mapped = self.recognise(&about.maps);
        // Two sorted lists; pages that had no slot before may lie anywhere.
        entries.extend(held.kept);
        entries.sort_unstable_by_key(|e| e.page);
        let number = self.generation + 1;
        let total = entries.len() as u64;
        let bytes = self.store.commit(number, &about, entries)? - (total - dirty_pages) * PAGE as u64;
        self.generation = number;
        self.last = about;
        k.crashes.store(0, Relaxed);
        k.taken_ns.store(began, Relaxed);
        k.generation.store(number, Release);
        self.taken.push(Taken {
            generation: number,
            at_ns: began,
            bytes,
            dirty_pages,
            stop_ns,
            write_ns: time::now_ns() - t,
        });
        Ok(())
    }

    fn recognise(&mut self, maps: &[Map]) -> Vec<image::MappedFile> {
        let mut out: Vec<image::MappedFile> = Vec::new();
        for m in maps.iter().filter(|m| m.inode != 0) {
            if out.iter().any(|f| f.path == m.path) {
                continue;
            }
            let known = self.mapped.iter().find(|f| f.path == m.path).cloned();
            if let Some(f) = known.or_else(|| image::recognise(&m.path)) {
                out.push(f);
            }
        }
        self.mapped.clone_from(&out);
        out
    }

    /// Puts everything back to the last checkpoint.
    fn roll_back(&mut self) {
        let k = keep::get();
        let began = time::now_ns();
        let seats = loop {
            match self.freeze() {
                Ok(s) => break s,
                Err(No::Later) => syscall::sched_yield(),
                Err(No::Refused(why)) => {
                    stop(&format!("the threads cannot be stopped for a rollback: {why}"))
                }
            }
        };
        // Hosts that have failed may still be on their way out, on stacks that will be written to.
        for s in &k.seats {
            while s.going.load(Acquire) != 0 {
                futex::wait_until(&s.going, 1, time::now_ns() + 100_000);
            }
        }
        k.failed.store(0, Release);
        if let Err(why) = self.put_back(&seats, began) {
            stop(&why);
        }
    }

    /// Says what the rollback that began at `began` has done for those who asked for it.
    fn close_records(&self, began: u64) {
        let k = keep::get();
        let lost = began.saturating_sub(k.taken_ns.load(Relaxed));
        k.taken_ns.store(time::now_ns(), Relaxed);
        for r in record::all() {
            if r.recovery.get() == Recovery::Rollback && r.took_ns.load(Acquire) == 0 {
                r.back_to.set((self.generation, self.last.region, lost));
                record::close(r);
            }
        }
    }

    /// Memory, files, dispositions and threads become what they were; threads that are frozen in `seats` take their contexts.
    fn put_back(&mut self, seats: &[&'static Seat], began: u64) -> Result<(), String> {
        let k = keep::get();
        let contexts = self.last.contexts.clone();
        // Threads that did not exist then go first: the kernel writes to their memory as they end.
        let stays = |s: &Seat| contexts.iter().any(|c| c.thread_pointer == s.thread_pointer.load(Relaxed));
        for s in seats.iter().filter(|s| !stays(s)) {
            let tid = s.host.load(Relaxed);
            s.order(LEAVE);
            if tid != syscall::getpid() {
                while syscall::tgkill(tid, 0) {
                    syscall::sched_yield();
                }
            }
        }
        let carriers: Vec<(u32, usize)> = seats
            .iter()
            .filter(|s| stays(s))
            .map(|s| (k.number(s), s.thread_pointer.load(Relaxed)))
            .collect();
        self.put_memory_back()?;
        files::put_back(&self.last.files, &self.ours(), false)?;
        files::dispose(&self.last.signals);
        // Before the threads go on: the program may end at once.
        self.close_records(began);
        self.hand_out(&contexts, &carriers)
    }

    /// Gives every context a host: the frozen one of the same thread, or a new one. `carriers`: seats of frozen hosts, with
    /// the threads they carry.
    fn hand_out(&mut self, contexts: &[Context], carriers: &[(u32, usize)]) -> Result<(), String> {
        let k = keep::get();
        // A thread that has got another seat since: its host waits in that one.
        let mut orders: Vec<(&'static Seat, bool)> = Vec::new();
        let mut taken: Vec<u32> = carriers.iter().map(|(n, _)| *n).collect();
        let hosts: Vec<u32> = carriers.iter().map(|(n, _)| k.seats[*n as usize].host.load(Relaxed)).collect();
        for s in &k.seats {
            s.thread.store(core::ptr::null_mut(), Relaxed);
        }
        for c in contexts {
            let carrier = carriers.iter().position(|(_, tp)| *tp == c.thread_pointer);
            let seat = match carrier {
                Some(i) => carriers[i].0,
                None => core::iter::once(c.seat)
                    .chain(0..seats::SEATS as u32)
                    .find(|n| !taken.contains(n))
                    .ok_or("too many threads")?,
            };
            taken.push(seat);
            let s = &k.seats[seat as usize];
            s.context.store(c.context, Relaxed);
            s.thread_pointer.store(c.thread_pointer, Relaxed);
            s.robust_head.store(c.robust_head, Relaxed);
            s.thread.store(c.thread as *mut _, Relaxed);
            s.initial.store(u32::from(c.initial), Relaxed);
            s.host.store(carrier.map_or(u32::MAX, |i| hosts[i]), Relaxed);
            // The thread's own note of its seat, in memory that was put back.
            // SAFETY: the thread existed at the checkpoint; its memory is as it was; nobody runs.
            unsafe { (*(c.thread as *const crate::team::thread::Thread)).seat_number.set(seat + 1) };
            orders.push((s, carrier.is_some()));
        }
        k.epoch.fetch_add(1, Relaxed);
        k.started.store(0, SeqCst);
        for (s, has_host) in orders {
            if has_host {
                s.order(TAKE);
            } else if !s.send_new_host() {
                return Err("the system gives no thread for one that failed".into());
            }
        }
        self.wake_agent();
        Ok(())
    }

    fn put_memory_back(&mut self) -> Result<(), String> {
        memory::reshape(&self.last.maps, self.last.brk)?;
        let maps = self.last.maps.clone();
        let index = core::mem::take(&mut self.store.index);
        let mut runs = Vec::new();
        for m in &maps {
            self.tracker.runs(m, true, &mut runs);
        }
        let r = self.put_pages_back(&maps, &runs, &index);
        self.store.index = index;
        r?;
        for m in &maps {
            self.tracker.rearm(m);
        }
        self.unknown = !self.tracker.notes_writes();
        Ok(())
    }

    fn put_pages_back(&mut self, maps: &[Map], runs: &[Run], index: &[Entry]) -> Result<(), String> {
        // Present pages that the checkpoint does not have were zero, or the file's.
        let mut i = 0;
        let mut unchanged: Vec<(u64, u64)> = Vec::new(); // page ranges that are as they were
        for r in runs {
            let (mut p, end) = ((r.start / PAGE) as u64, (r.end / PAGE) as u64);
            if !r.changed && !self.unknown {
                unchanged.push((p, end));
            }
            while p < end {
                while i < index.len() && index[i].page < p {
                    i += 1;
                }
                let next = index.get(i).map_or(end, |e| e.page.min(end));
                if next > p {
                    self.empty(maps, p as usize * PAGE, next as usize * PAGE)?;
                }
                p = next.max(p + 1);
            }
        }
        // The rest: saved pages but those that have not changed.
        let mut content = vec![0u8; 1 << 20];
        let mut u = 0;
        let mut i = 0;
        while i < index.len() {
            let e = index[i];
            while u < unchanged.len() && unchanged[u].1 <= e.page {
                u += 1;
            }
            let stop = match unchanged.get(u) {
                Some((a, b)) if *a <= e.page => {
                    i += index[i..].partition_point(|x| x.page < *b);
                    continue;
                }
                Some((a, _)) => *a,
                None => u64::MAX,
            };
            let mut n = 1;
            while n < content.len() / PAGE
                && index.get(i + n).is_some_and(|x| {
                    x.page == e.page + n as u64 && x.slot == e.slot + n as u64 && x.page < stop
                })
            {
                n += 1;
            }
            let bytes = &mut content[..n * PAGE];
            self.store.read(e.slot, bytes)?;
            for (k, chunk) in bytes.chunks_exact(PAGE).enumerate() {
                if image::page_sum(e.page + k as u64, chunk) != index[i + k].sum {
                    return Err(format!(
                        "page {:x} of the checkpoint is damaged (checksum)",
                        (e.page + k as u64) * PAGE as u64
                    ));
                }
            }
            let to = e.page as usize * PAGE;
            if !self.door.write(to, bytes) {
                return Err(format!("the memory at {to:x} cannot be written"));
            }
            i += n;
        }
        Ok(())
    }

    /// Makes pages what they are without a saved content.
    fn empty(&self, maps: &[Map], a: usize, b: usize) -> Result<(), String> {
        // SAFETY: private memory of the program, whose threads are frozen.
        let r = unsafe { sys!(libc::SYS_madvise, a, b - a, libc::MADV_DONTNEED) };
        if r < 0 {
            let zero = [0u8; PAGE];
            let anonymous = maps.iter().any(|m| m.start <= a && b <= m.end && m.inode == 0);
            if !anonymous || !(a..b).step_by(PAGE).all(|p| self.door.write(p, &zero)) {
                return Err(format!("the memory at {a:x} cannot be emptied (error {})", -r));
            }
        }
        Ok(())
    }

    /// In a new process: makes it the one that `generation` describes. The first host waits in `first`.
    pub fn become_generation(&mut self, first: &'static Seat) -> Result<(), String> {
        let contexts = self.last.contexts.clone();
        self.unknown = true;
        self.put_memory_back()?;
        files::put_back(&self.last.files, &self.ours(), true)?;
        files::dispose(&self.last.signals);
        let tp = contexts.iter().find(|c| c.initial).map_or(0, |c| c.thread_pointer);
        let k = keep::get();
        let number = k.number(first);
        self.hand_out(&contexts, &[(number, tp)])
    }
}

/// Pages copied but not written yet, and those that are as they were.
struct Held {
    pages: Vec<u64>,
    kept: Vec<Entry>,
}

fn is_zero(page: &[u8]) -> bool {
    // SAFETY: any bytes are words.
    let (head, words, tail) = unsafe { page.align_to::<u64>() };
    head.iter().chain(tail).all(|&b| b == 0) && words.iter().all(|&w| w == 0)
}

/// Kernel ids of all hosts of the process.
fn hosts() -> Vec<u32> {
    sys::maps::names(c"/proc/self/task").iter().filter_map(|n| n.parse().ok()).collect()
}

/// A rollback that cannot be finished leaves nothing to go on with.
fn stop(why: &str) -> ! {
    say!(
        "the rollback failed: {why}; stopping. `promp restart` may still go on from the checkpoint directory."
    );
    syscall::exit_group(70)
}

impl Keep {
    /// The number of a seat.
    pub fn number(&self, s: &Seat) -> u32 {
        ((core::ptr::from_ref(s) as usize - self.seats.as_ptr() as usize) / size_of::<Seat>()) as u32
    }
}

/// The keeper's host.
///
/// # Safety
/// For [`host::spawn_with`]; `arg` is a leaked [`super::Start`].
pub unsafe extern "C" fn main(arg: usize) -> ! {
    // SAFETY: by the caller's promise.
    let start = unsafe { &*(arg as *const super::Start) };
    let k = keep::get();
    k.own_hosts[0].store(syscall::gettid(), Relaxed);
    signals::block_all();
    let _ = host::STACK_BYTES;
    start.work()
}
