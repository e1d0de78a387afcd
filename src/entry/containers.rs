//! What code built by promp-cc asks for in front of calls of the C++ library's functions on containers.

use super::promp::promp_undo;
use crate::proofs::containers::{self, CONTAINERS};
use crate::team::thread;

/// Saves what `function`, if it is the C++ library's, will write when it is called with these arguments.
///
/// # Safety
/// For the code that promp-cc builds: it is about to be.
pub(crate) unsafe extern "C" fn promp_containers(arguments: *const [usize; 4], function: usize) {
    let Some(thr) = thread::known() else { return };
    if !thr.saving.get() || !thr.is_in_region() || thr.undo.lost() != 0 {
        return;
    }
    let Some(number) = CONTAINERS.number(function) else { return };
    // SAFETY: by the caller's promise. As for `promp_undo`, a stop may come at any instruction.
    unsafe {
        containers::written(number, &*arguments, &mut |at, bytes| promp_undo(at, bytes, 1, 0, 1, 0));
    }
}

crate::export_names! {
    promp_containers
}
