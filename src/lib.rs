//! promp: a fault-tolerant OpenMP runtime, a drop-in replacement for GCC's libgomp.
//!
//! Every folder has one concern and names only what lies below it (docs/internals/architecture.md,
//! `layers.toml`). This file puts everything together.

#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("promp runs on x86-64 Linux");

extern crate promp_ckpt as ckpt;
extern crate promp_proofs as proofs;
extern crate promp_undo as undo;
use promp_sys::{callback, complain, export_names, exported_label, keep, say, stub, sys, warn};

mod acc;
mod device;
mod entry;
mod fault;
mod icv;
mod observe;
mod save;
mod sys;
mod task;
mod team;
mod tools;
mod work;

/// All of the runtime's own memory.
#[global_allocator]
pub static ARENA: sys::arena::Arena = sys::arena::Arena::new();

/// The runtime whose threads checkpoints save.
static RUNTIME: &dyn ckpt::runtime::Runtime = &fault::runtime::Ours;

/// The first use of a global initialises the runtime.
static INITIALISE: fn() -> &'static icv::Globals = team::init::runtime;

/// Who recovers what threads of teams lose.
static RECOVERY: &dyn team::recovery::Recovery = &fault::for_teams::Ours;

/// What looks on or steps in: started once, under the initialisation lock, before anything happens.
pub(crate) fn start(g: &'static icv::Globals) {
    sys::time::start();
    fault::initialise(g);
    work::tune::start(g);
    tools::initialise(g);
}

/// The library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn loaded() {
        if sys::second::stands_aside() {
            return;
        }
        sys::out::begin();
        #[cfg(not(test))]
        std::panic::set_hook(Box::new(|what| say!("{what}")));
        fault::report::SDC
            .set(Some(|| device::sdc::report::collect().or_else(fault::verify::report::collect)));
        acc::OTHERS.set(Some(device::acc::count));
        sys::runtimes::look();
        team::init::prepare();
        fault::no_regions::at_load();
        acc::at_load(entry::acc::profiling_routines());
        ckpt::at_load();
    }
    loaded
};

/// The program ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = {
    extern "C" fn end() {
        ckpt::program_ends();
        fault::no_regions::at_end(device::is_used());
    }
    end
};
