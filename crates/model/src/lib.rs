//! The cost model: what an OpenMP loop will take with p threads, by any schedule, and how sure that is.
//!
//! Pure functions without state, used by the runtime's tuner and by `promp model`. Times are seconds. The
//! symbols are those of the paper on the cost model (P2) and of the one on synchronisation segments (P5):
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | p | `p`, `speeds.len()` | threads |
//! | N, N1, N2 | [`Profile::total`], `n1`, `n2` | iterations of a loop; of a nest's outer and inner one |
//! | t1 | `t1` | one innermost iteration |
//! | t2 | `t2` | one point-to-point synchronisation |
//! | b, b* | `b`, [`doacross::Nest::best_tile`] | inner iterations between two synchronisations; the best |
//! | m(p) | [`scaling::Scaling`] | by how much an iteration takes longer while p threads run |
//!
//! - DOALL ([`doall`]): T(p, kind, chunk) = fork(p) + makespan · m(p) + join(p). The makespan is not a
//!   formula: the schedule is carried out on the measured [`Profile`] ([`makespan`]).
//! - DOACROSS ([`doacross`]): T = ((N1/p) · b · t1 + t2) · (N2/b + p − 1).
//! - DSWP ([`dswp`]): T = fork + T_master + W_master + max(W_master, W_aux) · (n − 1) + W_aux.
//!
//! [`baseline`] has P2's own formulas with constants that are measured once: what every table compares with.
//! [`decide`] makes decisions of predictions, [`samples`] of measurements; [`search`]
//! is the state machine that makes and checks the decisions of a call site, [`exact`] the search where the
//! same work can be executed again and again.

#![forbid(unsafe_code)]

pub mod baseline;
pub mod candidates;
pub mod choice;
pub mod decide;
pub mod doacross;
pub mod doall;
pub mod dswp;
mod estimate;
pub mod exhaustive_search;
pub mod forecast;
pub mod interval;
pub mod makespan;
mod profile;
pub mod residuals;
pub mod rival_check;
pub mod samples;
pub mod scaling;
mod schedule;
pub mod search;
pub mod tuning_file;

pub use estimate::{Estimate, Z90};
pub use profile::{MOST_BUCKETS, Profile, Sums};
pub use schedule::{Kind, Schedule};
