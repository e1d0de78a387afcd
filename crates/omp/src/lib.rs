//! OpenMP: logical threads and their teams, worksharing, tasks, what threads save so that their work can be
//! executed again, settings, events.
//!
//! What stands above it is a library of several crates, which says by a [`Composition`] what they add.

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_ckpt as ckpt;
extern crate promp_proofs as proofs;
extern crate promp_undo as undo;
use promp_sys::{complain, say, warn};

pub mod icv;
pub mod observe;
pub mod save;
mod sys;
pub mod task;
pub mod team;
#[cfg(test)]
mod tests;
pub mod work;

/// All of the runtime's own memory.
#[global_allocator]
pub static ARENA: sys::arena::Arena = sys::arena::Arena::new();

/// The first use of a global initialises the runtime.
static INITIALISE: fn() -> &'static icv::Globals = team::init::runtime;

/// What parts of this crate call of others that stand above them: all of it, and all of it seldom.
mod upward {
    use super::task::lightness;
    pub(crate) use super::task::lightness::DEALT;
    use super::team::cpu_spread::Home;
    use super::team::team::Team;
    use super::team::thread::{self, Thread};
    use super::team::{init, registry};
    use super::work::bounds::Schedule;
    use super::work::shape::Shape;
    use super::work::shape_choice::Iterations;
    use super::work::tune::{self, regions};

    /// Where the calling thread is at home, if it is a logical one: asked where one is woken.
    #[inline]
    pub(crate) fn home_of_caller() -> Option<&'static Home> {
        thread::known().map(|thr| &thr.home)
    }

    /// See [`init::adopt_caller`]: a thread's first call.
    #[inline(always)]
    pub(crate) fn adopt_caller() -> &'static Thread {
        init::adopt_caller()
    }

    /// See [`lightness::lighten_across`]: asked where save points are left out.
    pub(crate) fn lighten_across(thr: &'static Thread, yes: bool) {
        lightness::lighten_across(thr, yes);
    }

    /// See [`registry::cpu_time_of_members`]: asked where a slice of time was lost.
    pub(crate) fn cpu_time_of_members() -> u64 {
        registry::cpu_time_of_members()
    }

    /// See [`tune::shape`]: only with the tuner.
    #[inline(always)]
    pub(crate) fn tuned_shape(
        shape: Shape,
        team: &'static Team,
        given: Schedule,
        iterations: Iterations,
        recomputes: bool,
    ) -> Shape {
        tune::shape(shape, team, given, iterations, recomputes)
    }

    /// See [`regions::unmeasured`]: only with the tuner.
    pub(crate) fn unmeasured(site: u16) -> u32 {
        regions::unmeasured(site)
    }
}

/// What the library adds to this crate.
pub struct Composition {
    /// The runtime whose threads checkpoints save.
    pub runtime: &'static dyn ckpt::runtime::Runtime,
    /// Who recovers what threads of teams lose.
    pub recovery: &'static dyn team::recovery::Recovery,
    /// What looks on or steps in: started once, under the initialisation lock, before anything happens.
    pub start: fn(&'static icv::Globals),
}

/// Says which [`Composition`] is the library's: a static of this name.
#[macro_export]
macro_rules! composed {
    ($which:ident) => {
        promp_sys::callback!(promp_composition => composition);

        extern "C" fn composition() -> *const () {
            let which: &'static $crate::Composition = &$which;
            core::ptr::from_ref(which).cast()
        }
    };
}

unsafe extern "C" {
    /// The composition's address; its name is the linker's alone ([`composed`]).
    fn promp_composition() -> *const ();
}

/// Who recovers.
#[inline(always)]
fn recovery() -> &'static dyn team::recovery::Recovery {
    composition().recovery
}

/// That of this library.
fn composition() -> &'static Composition {
    // SAFETY: `composed` alone defines the name, and says there that it is one, which stays.
    unsafe { &*promp_composition().cast() }
}
