//! Threads go back: each that the checkpoint has gets a host, the one that carries it or a new one, and a
//! seat in which to take up its context.

use crate::attributes;
use crate::image::Context;
use crate::keep;
use crate::seats::{self, LEAVE, Seat};
use crate::sys::{cpu_time::Used, host, syscall};
use core::sync::atomic::Ordering::*;

/// A frozen host, the seat in which it waits, and the thread that it carries.
#[derive(Clone, Copy)]
pub(super) struct Carrier {
    pub(super) seat: u32,
    pub(super) thread_pointer: usize,
}

impl Carrier {
    /// The kernel's number of the host.
    pub(super) fn host(&self) -> u32 {
        keep::get().seats[self.seat as usize].host.load(Relaxed)
    }
}

/// Those in `seats` that carry threads of `contexts`. The others end: the kernel writes to their threads'
/// memory as they do.
pub(super) fn of(seats: &[&'static Seat], contexts: &[Context]) -> Vec<Carrier> {
    let k = keep::get();
    let stays = |s: &&Seat| contexts.iter().any(|c| c.thread_pointer == s.thread_pointer.load(Relaxed));
    let (staying, leaving): (Vec<&Seat>, Vec<&Seat>) = seats.iter().partition(|s| stays(s));
    leaving.iter().for_each(|s| s.order(LEAVE));
    k.freeze.send_orders();
    // The first host's id stays as long as the process.
    for tid in leaving.iter().map(|s| s.host.load(Relaxed)).filter(|tid| *tid != syscall::getpid()) {
        while syscall::tgkill(tid, 0) {
            syscall::sched_yield();
        }
    }
    let carrier = |s: &Seat| Carrier { seat: k.number(s), thread_pointer: s.thread_pointer.load(Relaxed) };
    staying.into_iter().map(carrier).collect()
}

/// A thread in the seat where it goes on.
struct Thread<'a> {
    seat: &'static Seat,
    has_host: bool,
    saved: &'a Context,
}

/// What [`Threads::get_hosts`] has found.
#[derive(Default)]
pub(super) struct Got {
    /// Some threads have to do without capabilities.
    pub(super) without: bool,
    /// The host of the thread that has recorded the program's end, and the status.
    pub(super) ends: Option<(u32, i32)>,
}

/// All threads of a checkpoint, in their seats.
pub(super) struct Threads<'a>(Vec<Thread<'a>>);

impl<'a> Threads<'a> {
    /// Gives each of `contexts` a seat: that of its carrier, or any.
    pub(super) fn sit_down(contexts: &'a [Context], carriers: &[Carrier]) -> Result<Self, String> {
        let k = keep::get();
        // A thread that has got another seat since: its host waits in that one.
        let hosts: Vec<u32> = carriers.iter().map(Carrier::host).collect();
        let mut taken: Vec<u32> = carriers.iter().map(|c| c.seat).collect();
        k.seats.iter().for_each(Seat::leave);
        let mut threads = Vec::new();
        for c in contexts {
            let carrier = carriers.iter().position(|carrier| carrier.thread_pointer == c.thread_pointer);
            let number = match carrier {
                Some(i) => carriers[i].seat,
                None => core::iter::once(c.seat)
                    .chain(0..seats::SEATS as u32)
                    .find(|n| !taken.contains(n))
                    .ok_or("too many threads")?,
            };
            taken.push(number);
            let seat = &k.seats[number as usize];
            seat.context.store(c.context, Relaxed);
            seat.thread_pointer.store(c.thread_pointer, Relaxed);
            seat.robust_head.store(c.robust_head, Relaxed);
            seat.assign(c.thread);
            seat.initial.store(u32::from(c.initial), Relaxed);
            seat.host.store(carrier.map_or(u32::MAX, |i| hosts[i]), Relaxed);
            // The thread's own note of its seat, in memory that was put back.
            if let Some(thread) = seat.logical() {
                thread.seat_number().set(number + 1);
            }
            threads.push(Thread { seat, has_host: carrier.is_some(), saved: c });
        }
        Ok(Self(threads))
    }

    /// Each gets a host, whose attributes are the thread's, with what all have in common (`values`);
    /// `rollback`: the process is that of the checkpoint.
    pub(super) fn get_hosts(&self, values: &[(String, u64)], rollback: bool) -> Result<Got, String> {
        let mut got = Got::default();
        for t in &self.0 {
            let (tid, less) = t.gets_a_host(values, rollback)?;
            got.without |= less;
            got.ends = got.ends.or(t.saved.ends.map(|status| (tid, status)));
        }
        Ok(got)
    }

    /// Where they wait.
    pub(super) fn seats(&self) -> Vec<&'static Seat> {
        self.0.iter().map(|t| t.seat).collect()
    }
}

impl Thread<'_> {
    /// Returns its kernel id. Has it to do without capabilities?
    fn gets_a_host(&self, values: &[(String, u64)], rollback: bool) -> Result<(u32, bool), String> {
        let (s, of_thread) = (self.seat, &self.saved.attributes);
        let tid = match self.has_host {
            true => s.host.load(Relaxed),
            false => s.make_host().ok_or("the system gives no host for a thread (ulimit -u?)")?,
        };
        // Before any of them goes on, and sends it a signal, say: it would hear that there is no such thread.
        // SAFETY: libc has made all threads that are saved, their memory has been put back, and the host
        // waits.
        unsafe { host::is_carried_by(s.thread_pointer.load(Relaxed), tid) };
        let now = self.has_host.then_some(&s.own);
        let (calls, less) = attributes::changes(tid, now, of_thread, values, rollback)?;
        s.changes.set(&calls);
        // What it has used since the checkpoint it has used.
        let [ns, user, system] = of_thread.own.as_ref().map_or([0; 3], |o| o.used);
        if !self.has_host || s.own.used().ns < ns {
            s.own.set_used(Used { ns, user, system });
        }
        attributes::put_back(tid, of_thread)?;
        Ok((tid, less))
    }
}
