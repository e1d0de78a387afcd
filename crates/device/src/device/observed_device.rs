//! A device whose operations are told to those who listen (observe/): put around a device when it is found,
//! if somebody may want to hear of it.

use super::backend::{Addr, Backend, Direction, Failed, Image, Launch, Properties, Queue};
use super::items::{NUM_TEAMS, argument};
use super::signature::Signature;
use crate::acc::profiling_interface::Heard;
use crate::icv::INITIAL_DEVICE as HOST;
use crate::observe;
use crate::observe::event::{DataOp, Event, Mapping, Moved, Row, Set};
use crate::team::thread;
use core::ffi::CStr;

/// See the module's text.
pub(crate) struct Told {
    inner: Box<dyn Backend>,
    number: i32,
}

/// What items map, for those who listen: nothing if nobody does. Told while the table knows where they are.
pub(crate) fn mapped(items: impl Iterator<Item = Mapping>) {
    if observe::wants(Set::of(&[Row::TargetMap])) {
        let mapped: Vec<Mapping> = items.collect();
        if !mapped.is_empty() {
            tell(Event::TargetMap { mapped: &mapped });
        }
    }
}

fn tell(event: Event) {
    if let Some(thr) = thread::known() {
        thr.tell(event);
    }
}

impl Told {
    /// `inner` as the device of this number.
    pub(crate) fn new(inner: Box<dyn Backend>, number: u32) -> Self {
        Self { inner, number: number as i32 }
    }

    /// Between the two tellings of an operation.
    fn around(&self, op: DataOp, mut moved: Moved, f: impl FnOnce(&mut Moved) -> bool) -> bool {
        tell(Event::TargetData { end: false, op, moved });
        let done = f(&mut moved);
        tell(Event::TargetData { end: true, op, moved });
        done
    }

    fn moved(&self, direction: Direction, to: usize, from: usize, bytes: usize) -> (DataOp, Moved) {
        let (op, to_device, from_device) = match direction {
            Direction::In => (DataOp::In, self.number, HOST),
            Direction::Out => (DataOp::Out, HOST, self.number),
            Direction::Within => (DataOp::In, self.number, self.number),
        };
        (op, Moved { to: (to, to_device), from: (from, from_device), bytes })
    }
}

impl Backend for Told {
    fn properties(&self) -> Properties {
        self.inner.properties()
    }
    fn open(&self) -> Result<(), String> {
        self.inner.open()?;
        tell(Event::DeviceBegin { number: self.number, name: self.properties().name });
        Ok(())
    }
    fn close(&self) {
        tell(Event::DeviceEnd { number: self.number });
        self.inner.close();
    }
    fn alloc(&self, bytes: usize) -> Option<Addr> {
        let at = Moved { to: (0, self.number), from: (0, HOST), bytes };
        let mut got = None;
        self.around(DataOp::Alloc, at, |moved| {
            got = self.inner.alloc(bytes);
            moved.to.0 = got.unwrap_or(0);
            got.is_some()
        });
        got
    }
    fn free(&self, at: Addr) -> bool {
        let gone = Moved { to: (at, self.number), from: (0, HOST), bytes: 0 };
        self.around(DataOp::Free, gone, |_| self.inner.free(at))
    }
    fn copy_in(&self, to: Addr, from: usize, bytes: usize, queue: Queue) -> bool {
        let (op, moved) = self.moved(Direction::In, to, from, bytes);
        self.around(op, moved, |_| self.inner.copy_in(to, from, bytes, queue))
    }
    fn copy_out(&self, to: usize, from: Addr, bytes: usize, queue: Queue) -> bool {
        let (op, moved) = self.moved(Direction::Out, to, from, bytes);
        self.around(op, moved, |_| self.inner.copy_out(to, from, bytes, queue))
    }
    fn copy_within(&self, to: Addr, from: Addr, bytes: usize) -> bool {
        let (op, moved) = self.moved(Direction::Within, to, from, bytes);
        self.around(op, moved, |_| self.inner.copy_within(to, from, bytes))
    }
    fn copy_rows(&self, direction: Direction, rows: &[(usize, usize)], bytes: usize) -> bool {
        let Some(&(to, from)) = rows.first() else { return true };
        let (op, moved) = self.moved(direction, to, from, bytes * rows.len());
        self.around(op, moved, |_| self.inner.copy_rows(direction, rows, bytes))
    }
    fn load(&self, image: &Image) -> Result<Vec<(Addr, Addr)>, String> {
        let pairs = self.inner.load(image)?;
        tell(Event::ImageBegin { number: self.number, image: image.data as usize });
        Ok(pairs)
    }
    fn unload(&self, image: &Image) {
        tell(Event::ImageEnd { number: self.number, image: image.data as usize });
        self.inner.unload(image);
    }
    fn launch(&self, launch: &Launch, queue: Queue) -> bool {
        // SAFETY: the compiler's list of arguments.
        let teams = unsafe { argument(launch.args, NUM_TEAMS) };
        tell(Event::TargetSubmit { end: false, teams });
        let done = self.inner.launch(launch, queue);
        tell(Event::TargetSubmit { end: true, teams });
        done
    }
    fn idle(&self, queue: Queue) -> bool {
        self.inner.idle(queue)
    }
    fn wait(&self, queue: Queue) -> bool {
        self.inner.wait(queue)
    }
    fn wait_in(&self, queue: i32, other: i32) -> bool {
        self.inner.wait_in(queue, other)
    }
    fn number(&self, property: i32) -> usize {
        self.inner.number(property)
    }
    fn text(&self, property: i32) -> Option<&'static CStr> {
        self.inner.text(property)
    }
    fn handle(&self, which: i32) -> usize {
        self.inner.handle(which)
    }
    fn stream(&self, queue: i32) -> usize {
        self.inner.stream(queue)
    }
    fn copy_all(&self, pairs: &[(Addr, Addr, usize)]) -> bool {
        self.inner.copy_all(pairs)
    }
    fn compare(&self, pairs: &[(Addr, Addr, usize)]) -> Result<Option<(usize, usize)>, Failed> {
        self.inner.compare(pairs)
    }
    fn handed_out(&self) {
        self.inner.handed_out();
    }
    fn signs(&self) -> bool {
        self.inner.signs()
    }
    fn sign(&self, pieces: &[(Addr, usize)]) -> Result<Vec<Signature>, Failed> {
        self.inner.sign(pieces)
    }
    fn tell_tools(&self, heard: Option<&mut Heard>) {
        self.inner.tell_tools(heard);
    }
}
