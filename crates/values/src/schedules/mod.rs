//! The kinds of schedule that loops can have, a row each. OMP_SCHEDULE, `omp_set_schedule`, OMP_DISPLAY_ENV,
//! reports and advice go by the table. Where the sizes of chunks differ, a file here says how many iterations
//! the next one has.

mod guided_sizes;

macro_rules! schedules {
    ($($(#[$doc:meta])* $name:ident = $number:literal $word:literal $(by $file:ident)?;)*) => {
        /// Kinds, with the ABI's numbers (`omp_sched_t`; also the `sched` argument of `GOMP_loop_start`), or
        /// some of our own above them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Sched { $($(#[$doc])* $name = $number),* }

        impl Sched {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its word, in OMP_SCHEDULE as in reports.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// The one with this number.
            pub const fn from_number(number: u64) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// How many iterations the next chunk has, of `left` that are left of `total`, where `chunk` was
            /// asked for, in a team of `threads`: none of these is 0, nor is that. More than are left: all of
            /// them. None: each has as many as were asked for.
            #[inline(always)]
            pub fn size(self, left: u64, total: u64, chunk: u64, threads: u64) -> Option<u64> {
                match self {
                    $($(Self::$name => Some($file::size(left, total, chunk, threads)),)?)*
                    _ => None,
                }
            }
        }
    };
}

schedules! {
    /// In blocks decided at the start.
    Static = 1 "static";
    /// First come, first served.
    Dynamic = 2 "dynamic";
    /// As dynamic, with shrinking chunks.
    Guided = 3 "guided" by guided_sizes;
    /// The implementation's choice: static.
    Auto = 4 "auto";
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_numbers_are_one_to_one() {
        for &k in Sched::ALL {
            let alike = |other: &&Sched| other.word() == k.word();
            assert_eq!((Sched::ALL.iter().filter(alike).count(), Sched::from_number(k as u64)), (1, Some(k)));
            // As a construct's words have it (work/want.rs).
            assert!((1..16).contains(&(k as u32)), "{k:?}");
        }
        assert_eq!(Sched::from_number(0), None);
    }

    proptest! {
        #[test]
        fn no_chunk_is_empty(
            kind in proptest::sample::select(Sched::ALL),
            total in prop_oneof![1..10_000u64, 1..=u64::MAX],
            threads in 1..1000u64,
            chunk in prop_oneof![1..100u64, 1..=u64::MAX],
        ) {
            // The last ten thousand iterations, and so many chunks at most.
            let mut left = total.min(10_000);
            while left > 0 {
                let size = kind.size(left, total, chunk, threads).unwrap_or(chunk);
                prop_assert!(size >= 1, "{kind:?}: {size} of {left}");
                left -= size.clamp(1, left);
            }
        }
    }
}
