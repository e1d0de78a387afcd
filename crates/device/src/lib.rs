//! Devices: what target regions and OpenACC run on. `device` has those beside the host, `acc` OpenACC's view
//! of the host.

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_ckpt as ckpt;
extern crate promp_recover as recover;
extern crate promp_sys as sys;
use promp_omp::{icv, observe, task, team};
use promp_sys::{complain, say, sys};

pub mod acc;
pub mod device;
#[cfg(test)]
mod tests;
