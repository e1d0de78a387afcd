//! PROMP_SDC=chunks verifies samples of the chunks: what save points and saving must know of it.

use super::SaveKind;
use crate::team::recovery::recovery;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Are chunks verified at all?
static ON: AtomicBool = AtomicBool::new(false);

/// From now on they are.
pub fn begin() {
    ON.store(true, Relaxed);
}

/// Are chunks verified at all?
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// There is a new save point of the kind `kind`. Has the call that it is in handed out a chunk?
#[inline(always)]
pub(crate) fn save_point(thr: &'static Thread, kind: SaveKind) {
    if is_on() && matches!(kind, SaveKind::Next(..) | SaveKind::Section) {
        recovery().chunk_begins(thr);
    }
}
