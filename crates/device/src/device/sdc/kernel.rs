//! What is done again when a section is run again: kernels' launches with all that they need, and copies.

use super::super::backend::{Addr, Launch};

/// A kernel's launch that can be repeated.
pub(super) struct Kernel {
    pub(super) launch: Launch,
    pub(super) args: Vec<usize>,
    pub(super) devices: Vec<usize>,
    pub(super) hosts: Vec<usize>,
}

/// What is done again when a section is run again.
pub(super) enum Step {
    Run(Kernel),
    In(Addr, Vec<u8>),
    Within(Addr, Addr, usize),
}

impl Kernel {
    /// A launch with its own copies of all lists.
    pub(super) fn of(launch: &Launch) -> Kernel {
        let mut args = Vec::new();
        // SAFETY: the compiler's list, ended by 0; a value may follow its head
        // (GOMP_TARGET_ARG_SUBSEQUENT_PARAM).
        unsafe {
            let mut at = launch.args;
            while !at.is_null() && *at != 0 {
                args.push(*at);
                if *at & 0x80 != 0 {
                    at = at.add(1);
                    args.push(*at);
                }
                at = at.add(1);
            }
        }
        if !launch.args.is_null() {
            args.push(0);
        }
        // SAFETY: OpenACC hands over `count` addresses of each kind.
        let words = |p: *const usize| unsafe {
            if launch.dims.is_some() && !p.is_null() {
                core::slice::from_raw_parts(p, launch.count).to_vec()
            } else {
                Vec::new()
            }
        };
        Kernel {
            launch: *launch,
            args,
            devices: words(launch.block as *const usize),
            hosts: words(launch.hosts),
        }
    }
}
