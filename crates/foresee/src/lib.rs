//! What is dead at a place, found by going ahead: promp-cc hands over the code that will be executed from
//! there, as far as it is about memory, pointers and counters (plugin/src/foresee/foresee.cc). While all
//! threads stand at the place it is executed here, on the side, as the thread that says it would; nothing of
//! the program's is changed. So pointers in tables are what they are now, exchanges of pointers are followed,
//! and arrays that are written in parts (a grid, then its halo) are whole when the last part is written.
//!
//! Loops over data are not executed: one pass over the body finds what all iterations read and write, as
//! blocks of bytes (value.rs, blocks.rs). What is not known (data, another thread's number) is "unknown". As
//! soon as something depends on that which would matter — a branch, an address — it ends there: what has
//! been written before it was read until then is dead, all else is live. So giving up is always right.
//!
//! ## What threads do together
//! A thread that goes ahead stands for its team (team_model.rs). A worksharing loop is executed as a whole,
//! whichever chunks a thread has; the block of `single` is executed. What comes of that in private variables
//! is unknown afterwards: it is another thread's, perhaps. What is written in a region counts as written from
//! the next barrier on; before, only to the same iteration of the same loop. Where the threads' own variables
//! differ at the place they are unknown from the beginning. Locks, atomics, tasks end it.
//!
//! ## The program
//! Words; bytecode.rs has the instructions. A number that is out of bounds ends it, as all that is unknown
//! does.
//!
//! ```text
//! program   MAGIC, words, slots, function, code to begin with, is it in a region,
//!           n, (slot, register)*n, records
//! function  registers, bytes of locals, n, block, flags, register*n, m, item*m
//! flags     there is one return only | it can be looked at as a whole << 1
//! item      offset << 2 | is always executed << 1 | is a loop
//! block     code, n, (register, m, operand*m)*n (what comes from several blocks), instructions
//! loop      can be looked at as a whole, header, test at the end, operation, type, register, plus, operand,
//!           edge that leaves it, n, (register, is it a sum, first operand, step, type)*n, m, item*m
//! edge      block, loop that is entered or 0, n, (register, operand)*n
//! operand   kind, value: 0 a number, 1 a register, 2 a slot, 3 unknown, 4 a local's offset
//! type      bits (1 to 64) | signed << 8
//! ```
//!
//! Slots hold what variables of the function are at the place, and addresses.

mod accesses;
mod blocks;
mod bytecode;
mod loop_footprint;
mod machine;
mod step;
mod team_model;
#[cfg(test)]
mod tests;
mod value;

pub use machine::dead;
