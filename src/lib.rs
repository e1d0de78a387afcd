//! promp: a fault-tolerant OpenMP runtime, a drop-in replacement for GCC's libgomp.
//!
//! The house (docs/architecture.md): a folder a concern, dependencies pointing down only — `entry`, `fault`, `task`, `work`,
//! `team`, `icv`, `sys`.

#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("promp runs on x86-64 Linux");

pub mod acc;
pub mod ckpt;
pub mod entry;
pub mod fault;
pub mod icv;
#[macro_use]
pub mod sys;
pub mod task;
pub mod team;
pub mod work;

/// All of the runtime's own memory.
#[global_allocator]
pub static ARENA: sys::arena::Arena = sys::arena::Arena::new();

/// A wrong PROMP_FAULT or PROMP_CKPT_* stops the program before it has done anything: looked at when the library is loaded, which
/// without these variables costs a walk over the environment. Everything else waits for the first use.
#[used]
#[unsafe(link_section = ".init_array")]
static CHECK_AT_LOAD: extern "C" fn(i32, *const *const libc::c_char) = {
    extern "C" fn check(_count: i32, arguments: *const *const libc::c_char) {
        icv::env::check_fatal_settings();
        ckpt::restart::at_load(arguments);
        acc::at_load();
    }
    check
};

/// The program ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = {
    extern "C" fn end() {
        ckpt::program_ends();
    }
    end
};
