//! What `PROMP_ON_SIGNAL` says: signals by which a scheduler, or a user, asks a program for a checkpoint.

/// What is done on which signals: sets, a bit a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnSignal {
    /// A checkpoint, and the program goes on.
    pub goes_on: u64,
    /// A checkpoint, and the program ends.
    pub ends: u64,
}

/// Signals that may be named, by their names without SIG. Those that crashes raise, that cannot be caught
/// and that the runtime uses are not among them.
pub(crate) const NAMES: [(&str, i32); 12] = [
    ("TERM", libc::SIGTERM),
    ("INT", libc::SIGINT),
    ("HUP", libc::SIGHUP),
    ("QUIT", libc::SIGQUIT),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("ALRM", libc::SIGALRM),
    ("XCPU", libc::SIGXCPU),
    ("PWR", libc::SIGPWR),
    ("CONT", libc::SIGCONT),
    ("URG", libc::SIGURG),
    ("WINCH", libc::SIGWINCH),
];

/// A signal's name, with SIG.
pub fn name(signal: i32) -> String {
    NAMES.iter().find(|n| n.1 == signal).map_or_else(|| format!("signal {signal}"), |n| format!("SIG{}", n.0))
}

impl OnSignal {
    /// `SIG[,SIG…]=checkpoint-exit|checkpoint`, several of them with `;` between. The error says what is
    /// accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for part in text.split(';') {
            let (signals, what) = part.split_once('=').ok_or_else(accepted)?;
            let mut set = 0;
            for s in signals.split(',').map(str::trim) {
                let bare = s.strip_prefix("SIG").unwrap_or(s);
                let (_, number) = NAMES
                    .iter()
                    .find(|n| n.0 == bare)
                    .ok_or_else(|| format!("\"{s}\" is no signal that can be used; {}", accepted()))?;
                set |= 1 << (number - 1);
            }
            if set & (all.goes_on | all.ends) != 0 {
                return Err("a signal is named twice".into());
            }
            match what.trim() {
                "checkpoint" => all.goes_on |= set,
                "checkpoint-exit" => all.ends |= set,
                _ => return Err(accepted()),
            }
        }
        Ok(all)
    }

    /// All signals that are named.
    pub fn signals(&self) -> u64 {
        self.goes_on | self.ends
    }
}

fn accepted() -> String {
    let names: Vec<&str> = NAMES.iter().map(|n| n.0).collect();
    format!(
        "expected SIGNAL[,SIGNAL…]=checkpoint-exit or =checkpoint, several of them with ; between, with signals of {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_and_what_is_not_understood() {
        let bit = |s: i32| 1u64 << (s - 1);
        let both = OnSignal::parse("TERM, SIGINT=checkpoint-exit;USR1=checkpoint").expect("good");
        assert_eq!((both.ends, both.goes_on), (bit(libc::SIGTERM) | bit(libc::SIGINT), bit(libc::SIGUSR1)));
        for bad in [
            "",
            "TERM",
            "TERM=",
            "=checkpoint",
            "TERM=exit",
            "KILL=checkpoint",
            "SEGV=checkpoint-exit",
            "15=checkpoint",
            "TERM=checkpoint;TERM=checkpoint-exit",
            "TERM=checkpoint;",
            "term=checkpoint",
        ] {
            assert!(OnSignal::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(v in "[A-Z,;= a-z0-9-]{0,40}") {
            let _ = OnSignal::parse(&v);
        }
    }
}
