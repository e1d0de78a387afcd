//! promp: a fault-tolerant OpenMP runtime, a drop-in replacement for GCC's libgomp.
//!
//! Every folder has one concern and names only what lies below it (docs/internals/architecture.md,
//! `layers.toml`). This file puts everything together.

#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("promp runs on x86-64 Linux");

extern crate promp_ckpt as ckpt;
extern crate promp_proofs as proofs;
extern crate promp_recover as recover;
extern crate promp_sys as sys;
extern crate promp_tools as tools;
extern crate promp_undo as undo;
use promp_device::{acc, device};
use promp_omp::Composition;
use promp_omp::{icv, observe, save, task, team, work};
use promp_sys::{complain, export_names, exported_label, keep, stub};

mod entry;

/// What these add to the runtime.
static COMPOSITION: Composition =
    Composition { runtime: &recover::runtime::Ours, recovery: &recover::for_teams::Ours, start };

promp_omp::composed!(COMPOSITION);

/// What looks on or steps in: started once, under the initialisation lock, before anything happens.
pub(crate) fn start(g: &'static icv::Globals) {
    sys::time::start();
    recover::initialise(g);
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
        std::panic::set_hook(Box::new(|what| promp_sys::say!("{what}")));
        recover::report::SDC.set(Some(|| {
            device::sdc::error_totals::collect().or_else(recover::verify::chunk_counts::collect)
        }));
        acc::OTHERS.set(Some(device::openacc::count));
        sys::runtimes::look();
        team::init::prepare();
        recover::no_regions::at_load();
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
        recover::no_regions::at_end(device::is_used());
    }
    end
};
