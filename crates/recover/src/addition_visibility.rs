//! Who can see atomic additions (crates/undo/src/addition.rs) before they are taken back?
//!
//! Between a failure and the repetition others can see more than they would without it. The compiler has
//! looked at all that the team executes meanwhile; of what else there may be in the process it knows nothing.
//! So where there is anybody else, the work is not executed again ([`others_may_see`]).

use crate::ckpt::credentials;
use crate::sys::maps;
use crate::team::registry;
use crate::team::team::Team;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::Acquire;

/// A host that has failed, or has just been made, is not known for a moment: looked at so often, a
/// millisecond apart.
const LOOKS: u32 = 200;

/// Can anybody see what `thr` has added but its own team, all of which executes what the compiler has looked
/// at? An outer team, a thread of the program's own, another one's team, another process.
pub(crate) fn others_may_see(thr: &'static Thread) -> bool {
    thr.team().level.get() != 1
        || is_in_shared_memory(thr)
        || !(0..LOOKS).any(|n| {
            if n > 0 {
                let ms = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
                // SAFETY: `ms` is readable. Not libc's function: it would change `errno`.
                unsafe { crate::sys!(libc::SYS_nanosleep, &raw const ms, 0) };
            }
            is_alone(thr.team())
        })
}

/// Has `thr` added to memory that other processes may have, too?
fn is_in_shared_memory(thr: &'static Thread) -> bool {
    let all = maps::all();
    let shared: Vec<_> = all.iter().filter(|m| m.shared).collect();
    all.is_empty()
        || !shared.is_empty() && thr.undo.adds(|at| shared.iter().any(|m| (m.start..m.end).contains(&at)))
}

/// Is there nobody in the process but this team, idle workers and the runtime's own hosts?
fn is_alone(team: &Team) -> bool {
    let is_fine = |t: &Thread| {
        t.member.get().is_some_and(|m| core::ptr::eq(m.team(), team)) || (t.worker.get() && !t.is_in_region())
    };
    let known = registry::with_threads(|all| {
        all.iter().map(|t| is_fine(t).then(|| t.host.load(Acquire))).collect::<Option<Vec<u32>>>()
    });
    let Some(known) = known else { return false };
    let tasks: Vec<u32> = maps::names(c"/proc/self/task").iter().filter_map(|n| n.parse().ok()).collect();
    !tasks.is_empty() && tasks.iter().all(|t| known.contains(t) || credentials::is_own_host(*t))
}
