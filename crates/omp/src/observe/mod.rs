//! Who looks on. What happens in the runtime is *told* once, where it happens, by [`tell`]; *listeners* say
//! which events of the table (event.rs) they want. Fault injection is one, the failures' messages another,
//! the monitor and the tools further ones.
//!
//! While nobody wants an event, telling it is a load of a mask and a branch that is not taken. Calls with
//! light ways (entry/light.rs) take the usual ones as soon as somebody wants what happens in them.
//!
//! Listeners register before the first region begins ([`register`]) and stay. They are called by the thread
//! to which the event happens, in the runtime (so no stop strikes there), one after the other in the order of
//! their registration. A listener may block, allocate and print; what it costs, the program pays. It must not
//! start regions or wait for other members.
//!
//! Threads, teams and tasks carry one word for each listener, which the runtime never looks at: zero at
//! first, and kept when the object is used again.

pub mod event;

use crate::sys::own::Own;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
pub use event::{Event, Set};

/// Most listeners.
pub(crate) const MOST: usize = 6;

/// What a listener is.
#[derive(Clone, Copy)]
pub struct Listener {
    /// The events it wants.
    pub wants: Set,
    /// Called for each; see the module's text.
    pub told: fn(&Told),
}

/// An event and to whom it happens.
pub struct Told<'a> {
    /// The thread; `None` where the row says "of nobody".
    pub thread: Option<&'static OfThread>,
    /// What happens.
    pub event: &'a Event<'a>,
}

/// The words that listeners keep with an object.
#[derive(Default)]
pub struct Words([Own<usize>; MOST]);

/// A listener's place among the words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(usize);

impl Words {
    /// The listener's word. It sees to it that one thread at a time writes it.
    #[inline(always)]
    pub fn of(&self, w: Word) -> &Own<usize> {
        &self.0[w.0]
    }
}

macro_rules! carriers {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $name(Words);

        impl core::ops::Deref for $name {
            type Target = Words;
            #[inline(always)]
            fn deref(&self) -> &Words {
                &self.0
            }
        }
    )* };
}

carriers! {
    /// A thread's words. It is what this layer knows of a thread; `Thread::of` leads back.
    OfThread;
    /// A team's.
    OfTeam;
    /// A task's.
    OfTask;
}

/// The events that somebody wants.
pub static WANTED: AtomicU64 = AtomicU64::new(0);
/// The listeners; the first [`COUNT`] are there (release after each is written, acquire before they are
/// read).
static LISTENERS: [Own<Option<Listener>>; MOST] = [const { Own::new(None) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A listener begins to listen. Called while the runtime is initialised, by one thread. `None`: there are too
/// many.
pub fn register(l: Listener) -> Option<Word> {
    register_for(l, l.wants)
}

/// [`register`] for one that wants only `now` for the beginning, and may [`want`] more of its events later.
/// It can be told of more of them at any time.
pub fn register_for(l: Listener, now: Set) -> Option<Word> {
    let n = COUNT.load(Relaxed);
    debug_assert!(n < MOST, "another listener wants room");
    LISTENERS.get(n)?.set(Some(l));
    COUNT.store(n + 1, Release);
    want(now);
    Some(Word(n))
}

/// A listener comes to want these events. Synchronisation ([`Set::SYNC`]) it must want from the
/// beginning: teams are set up for it.
pub fn want(events: Set) {
    WANTED.fetch_or(events.0, Release);
}

/// Does somebody want one of these?
#[inline(always)]
pub fn wants(events: Set) -> bool {
    WANTED.load(Relaxed) & events.0 != 0
}

/// Is there somebody who wants one of these, or may come to want it?
pub fn somebody_may_want(events: Set) -> bool {
    let all = LISTENERS[..COUNT.load(Acquire)].iter().filter_map(Own::get);
    all.into_iter().any(|l| l.wants.0 & events.0 != 0)
}

/// `event` happens to the calling thread.
#[inline(always)]
pub(crate) fn tell(thread: &'static OfThread, event: Event) {
    if wants(Set::one(event.row())) {
        told(Some(thread), &event);
    }
}

/// `event` happens to the process.
pub fn tell_of_nobody(event: Event) {
    if wants(Set::one(event.row())) {
        told(None, &event);
    }
}

#[cold]
#[inline(never)]
fn told(thread: Option<&'static OfThread>, event: &Event) {
    let this = Set::one(event.row());
    for l in LISTENERS.iter().take(COUNT.load(Acquire)) {
        if let Some(l) = l.peek()
            && l.wants.0 & this.0 != 0
        {
            (l.told)(&Told { thread, event });
        }
    }
}
