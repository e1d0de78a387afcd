//! The time in which everything is copied and written.

use super::work::{Failure, How};
use super::{Buffer, Guard};
use crate::image::Entry;
use crate::slots::Slots;
use crate::store::Store;
use crate::sys::time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is told which pages are in the file now.
pub(crate) type Wrote<'a> = &'a mut (dyn FnMut(&[Entry]) + Send);

/// The time from the moment when the threads go on until everything is copied and written. Keeper and helpers do the same: they copy, and
/// they write what is copied, so that all have as much to do: their CPUs are the program's, whose threads wait for each other.
pub(crate) struct Window<'a> {
    guard: &'a Guard,
    how: &'a How,
    store: Mutex<&'a mut Store>,
    slots: Arc<Slots>,
    wrote: Mutex<Wrote<'a>>,
}

impl<'a> Window<'a> {
    /// For what [`Guard::expect`] has been told of.
    pub(crate) fn open(guard: &'a Guard, how: &'a How, store: &'a mut Store, wrote: Wrote<'a>) -> Self {
        let slots = store.slots();
        Self { guard, how, store: Mutex::new(store), slots, wrote: Mutex::new(wrote) }
    }

    /// A part of the work, until there is nothing more to do.
    pub(crate) fn work(&self) {
        let mut buffer = Buffer::NEW;
        let mut w = self.guard.work();
        loop {
            let failed = w.failed.is_some();
            let waits = w.waits();
            if !waits {
                w.trays.close();
            }
            let is_urgent = !w.urgent.is_empty();
            let may_copy = waits && w.trays.has_room() && (!w.trays.are_ahead() || is_urgent);
            let first_write = w.trays.are_to_be_written() && !is_urgent;
            if !failed && w.trays.has_full() && (first_write || !may_copy) {
                let Some((tray, parts)) = w.trays.write() else { continue };
                drop(w);
                let began = time::now_ns();
                let written = self.write(tray, parts);
                w = self.guard.work();
                w.trays.written(tray, time::now_ns() - began);
                if let Err(why) = written {
                    w.fail(Failure::Store(why));
                }
            } else if !failed && may_copy {
                drop(w);
                w = self.guard.copy_one(&mut buffer, false);
            } else if w.moving > 0 || w.trays.is_writing() || (waits && !failed) {
                w = self.guard.sleep(w);
                continue;
            } else {
                break;
            }
            self.guard.bell.notify_all();
        }
        self.guard.bell.notify_all();
    }

    /// How many trays were used; or why what was to be saved is not.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) fn close(self) -> Result<usize, Failure> {
        let mut w = self.guard.work();
        w.how = None;
        let trays = w.trays.used();
        let failed = w.failed.take();
        drop(w);
        failed.map_or(Ok(trays), |why| {
            self.guard.give_up();
            Err(why)
        })
    }

    /// Writes what is in so many parts of a tray.
    fn write(&self, tray: usize, parts: usize) -> Result<(), String> {
        // SAFETY: nobody else uses the tray until it is free again.
        let (content, entries) = unsafe { self.how.parts(tray, 0, parts) };
        let rows = locked(&self.store).place(entries);
        self.slots.write(content, &rows)?;
        locked(&self.wrote)(entries);
        Ok(())
    }
}

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
