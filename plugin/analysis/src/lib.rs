//! The analysis behind promp's GCC plugin.
//!
//! The plugin (C++) reads GIMPLE and describes what it finds; decisions are taken here.
//! - [`replay`]: may a *segment*, the work between a runtime call and the next ones, be executed again after any part of it was executed?
//! - [`dao`]: which variables are live at an OpenMP program's candidate checkpoints?
//! - [`sections`]: where do sections of kernels begin and end, whose results are verified together?
//! - [`ffi`]: the interface to C++.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod dao;
pub mod ffi;
pub mod graph;
pub mod kernel_sections;
pub mod replay;
