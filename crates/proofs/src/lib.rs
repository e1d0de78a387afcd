//! What promp-cc has proved of the loaded objects, as the code that it makes says it when it is loaded:
//! tables of segments, and what is assumed of functions in other files, joined with what is known of them.
//! And what is known of functions of the C++ library and of C's.

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_sys as sys;

mod bound;
pub mod containers;
pub mod join;
pub mod operators;
pub mod segment_tables;
