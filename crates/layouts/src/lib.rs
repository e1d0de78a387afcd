//! The numbers in what promp-cc writes and the runtime reads: sections of objects, words beside their code,
//! programs of what a checkpoint need not have. The plugin's header is made of these files (plugin/header).

#![no_std]

mod foresight;
mod proof_records;
mod save_sites;
mod segment_entries;

pub use foresight::*;
pub use proof_records::*;
pub use save_sites::*;
pub use segment_entries::*;

/// The enumeration's value of a number; `None` if there is none.
macro_rules! from_number {
    ($name:ident: $number:ty { $($variant:ident)* }) => {
        impl $name {
            /// The one with this number.
            pub fn of(number: $number) -> Option<Self> {
                // No variant is forgotten.
                const _: fn($name) = |x| match x { $($name::$variant)|* => () };
                [$($name::$variant),*].into_iter().find(|&x| x as $number == number)
            }
        }
    };
}
use from_number;
