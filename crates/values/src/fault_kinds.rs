//! The kinds of failures, a row each: PROMP_FAULT and its page, who sends a fault and who answers it go by
//! the table.

/// How one that is injected gets to its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// By the stop signal; in the runtime, and in some libraries' functions, it waits until these return.
    Stop,
    /// As a crash, by this signal.
    Signal(i32),
    /// The whole process gets SIGKILL.
    Process,
    /// It is not: such failures are found.
    Never,
}

/// What is lost by it, where the process goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loses {
    /// The thread's host.
    Host,
    /// The same, when the watchdog has noticed it.
    Progress,
    /// Memory, too.
    Memory,
}

macro_rules! kinds {
    ($($(#[$doc:meta])*
        $name:ident = $number:literal $word:literal $sent:expr, $loses:ident, $text:literal;)*) => {
        /// What happens to the thread.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Kind { $($(#[$doc])* $name = $number),* }

        impl Kind {
            /// All of them.
            const ALL: &[Self] = &[$(Self::$name),*];

            /// Its word, in PROMP_FAULT as in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// How it is sent.
            pub const fn sent(self) -> Sent {
                match self { $(Self::$name => $sent),* }
            }

            /// What is lost by it.
            pub const fn loses(self) -> Loses {
                match self { $(Self::$name => Loses::$loses),* }
            }

            /// What happens, for the page.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

kinds! {
    /// Its host stops at once and for good.
    Kill = 1 "kill" Sent::Stop, Host, "stops the host for good at an arbitrary instruction";
    /// It raises SIGSEGV.
    Crash = 2 "crash" Sent::Signal(libc::SIGSEGV), Host, "raises SIGSEGV in the thread";
    /// It stops making progress.
    Hang = 3 "hang" Sent::Stop, Progress, "stops its progress (set PROMP_WATCHDOG)";
    /// A page of its working set becomes unreadable (needs checkpoints).
    MemErr = 4 "memerr" Sent::Stop, Memory, "destroys a page of the thread's stack: only a checkpoint helps";
    /// The whole process gets SIGKILL.
    Die = 5 "die" Sent::Process, Host, "sends SIGKILL to the process";
    /// Its host has really ended: nothing that can be asked for.
    Ended = 6 "ended" Sent::Never, Host, "";
    // The header has 7 for silent errors.
}

impl Kind {
    /// Those that can be injected.
    pub fn injected() -> impl Iterator<Item = Kind> {
        Self::ALL.iter().copied().filter(|k| k.sent() != Sent::Never)
    }

    /// The one of these with this number.
    pub fn from_u32(number: u32) -> Option<Kind> {
        Self::injected().find(|k| *k as u32 == number)
    }

    /// The one of these with this word.
    pub(crate) fn from_word(word: &str) -> Option<Kind> {
        Self::injected().find(|k| k.name() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_one_to_one() {
        for k in Kind::injected() {
            assert_eq!((Kind::from_word(k.name()), Kind::from_u32(k as u32)), (Some(k), Some(k)));
            assert!(!k.text().is_empty() && k as u32 != 7, "{k:?}");
        }
        assert_eq!((Kind::from_word("ended"), Kind::from_u32(Kind::Ended as u32)), (None, None));
        assert_eq!((Kind::from_word("sdc"), Kind::from_u32(0)), (None, None));
    }
}
