//! The time in which everything is copied and written.

use super::super::keeper::Held;
use super::super::slots::Slots;
use super::super::store::Store;
use super::work::{AHEAD, Failure, How};
use super::{Buffer, Guard};
use crate::sys::time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time from the moment when the threads go on until everything is copied and written. Keeper and helpers do the same: they copy, and
/// they write what is copied, so that all have as much to do: their CPUs are the program's, whose threads wait for each other.
pub struct Window<'a> {
    guard: &'a Guard,
    how: &'a How,
    store: Mutex<&'a mut Store>,
    slots: Arc<Slots>,
    held: Mutex<&'a mut Held>,
}

impl<'a> Window<'a> {
    /// For what [`Guard::expect`] has been told of.
    pub fn open(guard: &'a Guard, how: &'a How, store: &'a mut Store, held: &'a mut Held) -> Self {
        let slots = store.slots();
        Self { guard, how, store: Mutex::new(store), slots, held: Mutex::new(held) }
    }

    /// A part of the work, until there is nothing more to do.
    pub fn work(&self) {
        let mut buffer = Buffer::NEW;
        let mut w = self.guard.work();
        loop {
            let failed = w.failed.is_some();
            let waits = w.waits();
            let may_copy = waits && w.has_place() && (w.full.len() < AHEAD || !w.urgent.is_empty());
            let first_write = w.full.len() >= AHEAD / 2 && w.urgent.is_empty();
            if !failed && !w.full.is_empty() && (first_write || !may_copy) {
                let place = w.full.pop_front().unwrap_or_default();
                w.writes_one();
                drop(w);
                let began = time::now_ns();
                let written = self.write(place);
                w = self.guard.work();
                w.has_written(time::now_ns() - began);
                w.free.push(place);
                if let Err(why) = written {
                    w.fail(Failure::Store(why));
                }
            } else if !failed && may_copy {
                drop(w);
                w = self.guard.copy_one(&mut buffer, false);
            } else if w.moving + w.writing > 0 || (waits && !failed) {
                w = self.guard.sleep(w);
                continue;
            } else {
                break;
            }
            self.guard.bell.notify_all();
        }
        self.guard.bell.notify_all();
    }

    /// How many places were used; or why what was to be saved is not.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn close(self) -> Result<usize, Failure> {
        let mut w = self.guard.work();
        w.how = None;
        let places = w.used;
        let failed = w.failed.take();
        drop(w);
        failed.map_or(Ok(places), |why| {
            self.guard.give_up();
            Err(why)
        })
    }

    /// Writes what is in a place.
    fn write(&self, place: usize) -> Result<(), String> {
        // SAFETY: nobody else uses the place until it is given back.
        let (content, entries) = unsafe { self.how.place(place) };
        let rows = locked(&self.store).place(entries);
        self.slots.write(content, &rows)?;
        locked(&self.held).wrote(entries);
        Ok(())
    }
}

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
