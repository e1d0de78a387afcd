//! Cells for state that has one writer at a time.

use core::cell::UnsafeCell;

/// A plain value in shared memory, written by its owner only.
///
/// The contract, kept by every user and stated where a field is declared: at any time one thread may write the
/// cell, and others read it only when a happens-before edge (a release store of the owner's, or the owner's being
/// stopped for good) separates them from the last write.
#[derive(Default)]
#[repr(transparent)]
pub struct Own<T: Copy>(UnsafeCell<T>);

// SAFETY: the contract above excludes concurrent access with a writer.
unsafe impl<T: Copy> Sync for Own<T> {}
// SAFETY: as above; the values are plain data or `&'static` references.
unsafe impl<T: Copy> Send for Own<T> {}

impl<T> Own<Option<&'static T>> {
    /// [`Own::update`] for references: to another object.
    #[inline(always)]
    pub fn refer_to(&self, v: Option<&'static T>) {
        if self.get().map(core::ptr::from_ref) != v.map(core::ptr::from_ref) {
            self.set(v);
        }
    }
}

impl<T: Copy> Own<T> {
    /// A cell holding `v`.
    pub const fn new(v: T) -> Self {
        Self(UnsafeCell::new(v))
    }
    /// The value.
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: by the contract no write is concurrent.
        unsafe { *self.0.get() }
    }
    /// The value in place. Who calls this answers for there being no write while the reference lives.
    #[inline(always)]
    pub fn peek(&self) -> &T {
        // SAFETY: by the contract no write is concurrent.
        unsafe { &*self.0.get() }
    }
    /// Replaces the value if it is another: a line that others have read stays theirs where nothing changes.
    #[inline(always)]
    pub fn update(&self, v: T)
    where
        T: PartialEq,
    {
        if self.get() != v {
            self.set(v);
        }
    }
    /// Changes the value in place. `f` touches no cell but this one.
    #[inline(always)]
    pub fn change(&self, f: impl FnOnce(&mut T)) {
        // SAFETY: by the contract the caller is the one writer, and nobody reads meanwhile.
        f(unsafe { &mut *self.0.get() });
    }
    /// Replaces the value.
    #[inline(always)]
    pub fn set(&self, v: T) {
        // SAFETY: by the contract the caller is the one writer.
        unsafe { *self.0.get() = v }
    }
}
