//! The words of reports and their numbers in the live file: kinds of synchronisation, constructs, schedules,
//! states of threads.

use promp_values::schedules::Sched;

macro_rules! words {
    ($(#[$outer:meta])* $name:ident {
        $($(#[$inner:meta])* $variant:ident = $code:literal $word:literal,)*
    }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$inner])* $variant = $code,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its word in reports.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one with this number.
            pub const fn from_code(code: u64) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// Where threads of a team meet: what a segment begins and ends with.
    Sync {
        /// A region begins.
        Region = 1 "region",
        /// An explicit barrier.
        Barrier = 2 "barrier",
        /// The barrier at the end of a loop, of sections or of a single construct.
        ConstructEnd = 3 "construct end",
        /// The region ends.
        RegionEnd = 4 "region end",
        /// `taskwait`.
        Taskwait = 5 "taskwait",
        /// The end of a `taskgroup`.
        Taskgroup = 6 "taskgroup end",
        /// The program begins.
        Start = 7 "start",
        /// The program ends.
        Exit = 8 "exit",
    }
}

words! {
    /// What the work of a segment is.
    Construct {
        /// No worksharing construct that the runtime sees; a static loop of the compiler's, most often.
        Region = 1 "region",
        /// A loop.
        Loop = 2 "loop",
        /// Sections.
        Sections = 3 "sections",
        /// A single construct.
        Single = 4 "single",
        /// Tasks.
        Task = 5 "task",
        /// A taskloop.
        Taskloop = 6 "taskloop",
        /// Code outside of regions.
        Serial = 7 "serial",
        /// A target region.
        Target = 8 "target",
    }
}

words! {
    /// What a thread is doing.
    State {
        /// No thread has this row.
        Free = 0 "free",
        /// Outside of regions.
        Serial = 1 "serial",
        /// In the program's code, in a region.
        Busy = 2 "busy",
        /// Waiting for others.
        Waiting = 3 "waiting",
        /// In the runtime.
        Runtime = 4 "runtime",
        /// Without work, until a region needs it.
        Idle = 5 "idle",
        /// It has failed, and its work is being recovered.
        Failed = 6 "failed",
        /// Stopped for a checkpoint or a rollback.
        Stopped = 7 "stopped",
    }
}

/// A schedule as a number of the live file: the kind and the chunk size (0: none given).
pub const fn schedule_code(kind: Sched, chunk: u64) -> u64 {
    let most = u64::MAX >> 8;
    (if chunk < most { chunk } else { most }) << 8 | kind as u64
}

/// The words of a schedule's number: "dynamic,4"; nothing for 0 and what is not known.
pub fn schedule_word(code: u64) -> Option<String> {
    let kind = Sched::from_number(code & 0xff)?.word();
    Some(match code >> 8 {
        0 => kind.to_owned(),
        chunk => format!("{kind},{chunk}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_words_are_one_to_one() {
        for s in State::ALL {
            assert_eq!(State::from_code(*s as u64), Some(*s));
        }
        for s in Sync::ALL {
            assert_eq!(Sync::from_code(*s as u64), Some(*s));
        }
        assert_eq!(Construct::from_code(0), None);
        assert_eq!(schedule_word(schedule_code(Sched::Dynamic, 4)).as_deref(), Some("dynamic,4"));
        assert_eq!(schedule_word(schedule_code(Sched::Static, 0)).as_deref(), Some("static"));
        assert_eq!(schedule_word(0), None);
        assert_eq!(schedule_word(200), None);
    }
}
