//! Variables that begin with `PROMP_` and are no settings: promp tells its own processes by them, promp-cc
//! finds its tools, and installations and tests have some.

use crate::row::c_name;
use core::ffi::CStr;

/// Who sets a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// promp itself, for processes that it starts.
    Promp,
    /// Who builds programs by promp-cc, or works on promp.
    Developer,
    /// Modules and CMake: where promp is installed.
    Installation,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Internal {
    /// The variable.
    pub name: &'static str,
    /// The same, for getenv.
    pub c_name: &'static CStr,
    /// Who sets it.
    pub by: By,
    /// What it says: docs/environment.md has those that promp sets.
    pub meaning: &'static str,
}

/// Declares each, and the list of all.
macro_rules! internal {
    ($($by:ident { $($id:ident = $name:literal: $meaning:literal;)* })*) => {
        $($(
            #[doc = concat!("`", $name, "`.")]
            pub static $id: Internal = Internal {
                name: $name,
                c_name: c_name(concat!($name, "\0")),
                by: By::$by,
                meaning: $meaning,
            };
        )*)*
        /// All of them.
        pub static ALL: &[&Internal] = &[$($(&$id,)*)*];
    };
}

internal! {
    Promp {
        CKPT_OWNER = "PROMP_CKPT_OWNER":
            "the process that PROMP_CKPT_DIR serves, for its descendants: they go on without checkpoints, \
             also when it has died";
        PRIVATE_PIPES = "PROMP_PRIVATE_PIPES":
            "set by `promp run --auto-restart` for the program: descriptors by which its output to pipes \
             goes ([checkpoints.md](internals/checkpoints.md))";
        RESTART = "PROMP_RESTART": "the checkpoint from which a process is to go on";
        RESTART_INPUT = "PROMP_RESTART_INPUT": "standard input was read from before a restart";
        RESTART_LAYOUT = "PROMP_RESTART_LAYOUT":
            "how often a process has executed its program to have its libraries where they were (once: all \
             are in LD_PRELOAD), then descriptors of spacers and the pages that they take up";
        RESTART_THREADS = "PROMP_RESTART_THREADS": "with how many threads a process is to go on";
        RUN = "PROMP_RUN": "what `promp run` has started";
        STEP_FILES = "PROMP_STEP_FILES": "where a step of a script notes the files that it opens";
    }
    Developer {
        CC = "PROMP_CC": "the compiler that promp-cc calls";
        CONFORMANCE_DIR = "PROMP_CONFORMANCE_DIR": "where the conformance tests are";
        CXX = "PROMP_CXX": "the compiler that promp-c++ calls";
        FC = "PROMP_FC": "the compiler that promp-fc calls";
        OWN_MOUNTS = "PROMP_OWN_MOUNTS": "a test has mounts of its own";
        PLUGIN = "PROMP_PLUGIN": "the plugin that promp-cc loads";
        WRITE_DOCS = "PROMP_WRITE_DOCS": "tests write the documents that are made from tables";
    }
    Installation {
        DIR = "PROMP_DIR": "for CMake";
        HOME = "PROMP_HOME": "for modules";
        ROOT = "PROMP_ROOT": "for CMake and modules";
    }
}
