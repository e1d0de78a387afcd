//! The tuning file: decisions kept from run to run, as text that people can read and change.
//!
//! The first line is `promp tuning 1`. A line with `#` in front is a comment; every other one is an entry
//! of words `name=value`, in any order, behind `loop` or `region`:
//!
//! ```text
//! loop at=6f1c…+0x1234 in=main._omp_fn.0 n=2^10 threads=2 machine=EPYC-x2 choice=dynamic,N/16
//!      takes=1.2e-8 own=2.4e-8 date=2026-11-26                                  (all in one line)
//! ```
//!
//! `at` is the build id of the program or library (its file name where it has none) and the offset of the
//! call in it; `n` the class of the number of iterations; `takes` what the choice took for an iteration (a
//! region: as a whole) in seconds, `own` what the program's own way took. Where all ways were compared from
//! one state (`promp tune --exact`), `tried` has them: `tried=given:2.4e-8;dynamic,N/16:1.2e-8;…`.

use crate::choice::Choice;
use core::fmt;

/// The first line.
pub const FIRST: &str = "promp tuning 1";

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A worksharing loop.
    Loop,
    /// A parallel region: how many threads.
    Region,
}

/// What it is found by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Loop or region.
    pub what: What,
    /// Build id or file name.
    pub module: String,
    /// Offset in the module.
    pub offset: u64,
    /// Binary logarithm of the number of iterations.
    pub class: u32,
    /// Threads of the team.
    pub threads: u32,
    /// Kind of CPU and their number.
    pub machine: String,
}

/// A decision with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is found by.
    pub key: Key,
    /// Name of the function, for people.
    pub function: String,
    /// What was decided.
    pub choice: Choice,
    /// What it takes.
    pub takes: f64,
    /// What the program's own way took; 0: not known.
    pub own: f64,
    /// All ways that were compared from one state, and what each took; empty: they were not.
    pub tried: Vec<(Choice, f64)>,
    /// When, "2026-11-26".
    pub date: String,
}

/// A word of the file: without spaces.
pub fn word(s: &str) -> String {
    let good = |c: char| if c.is_whitespace() || c.is_control() { '_' } else { c };
    if s.is_empty() { "?".into() } else { s.chars().map(good).collect() }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.key.what {
            What::Loop => "loop",
            What::Region => "region",
        };
        write!(
            f,
            "{what} at={}+{:#x} in={} n=2^{} threads={} machine={} choice={} takes={:e} own={:e}",
            word(&self.key.module),
            self.key.offset,
            word(&self.function),
            self.key.class,
            self.key.threads,
            word(&self.key.machine),
            self.choice,
            self.takes,
            self.own
        )?;
        for (i, (choice, seconds)) in self.tried.iter().enumerate() {
            let before = if i == 0 { " tried=" } else { ";" };
            write!(f, "{before}{choice}:{seconds:e}")?;
        }
        write!(f, " date={}", word(&self.date))
    }
}

/// A number of seconds.
fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|s: &f64| s.is_finite() && *s >= 0.0)
}

impl Entry {
    /// Reads a line.
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let what = match words.next()? {
            "loop" => What::Loop,
            "region" => What::Region,
            _ => return None,
        };
        let pairs: Vec<(&str, &str)> = words.map(|w| w.split_once('=')).collect::<Option<_>>()?;
        let get = |name: &str| pairs.iter().find(|p| p.0 == name).map(|p| p.1);
        let (module, offset) = get("at")?.rsplit_once("+0x")?;
        let way = |w: &str| {
            let (choice, took) = w.split_once(':')?;
            Some((choice.parse().ok()?, seconds(took)?))
        };
        let tried = get("tried").map_or(Some(vec![]), |t| t.split(';').map(way).collect())?;
        let key = Key {
            what,
            module: module.into(),
            offset: u64::from_str_radix(offset, 16).ok()?,
            class: get("n")?.strip_prefix("2^")?.parse().ok().filter(|c| *c < 64)?,
            threads: get("threads")?.parse().ok()?,
            machine: get("machine")?.into(),
        };
        let function = get("in").unwrap_or("?").into();
        let date = get("date").unwrap_or("?").into();
        let choice = get("choice")?.parse().ok()?;
        Some(Self {
            key,
            function,
            choice,
            takes: get("takes").and_then(seconds)?,
            own: get("own").and_then(seconds).unwrap_or(0.0),
            tried,
            date,
        })
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// Its entries.
    pub entries: Vec<Entry>,
    /// Comments, kept as they are.
    pub comments: Vec<String>,
    /// Numbers of lines that are no entries.
    pub damaged: Vec<usize>,
}

impl Tuning {
    /// Reads a file's text; `None`: it is something else.
    pub fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().enumerate();
        (lines.next()?.1.trim() == FIRST).then_some(())?;
        let mut t = Self::default();
        for (i, line) in lines {
            let line = line.trim();
            if line.starts_with('#') {
                t.comments.push(line.into());
            } else if let Some(e) = Entry::read(line) {
                t.put(e);
            } else if !line.is_empty() {
                t.damaged.push(i + 1);
            }
        }
        Some(t)
    }

    /// Adds an entry in place of the one with its key.
    pub fn put(&mut self, e: Entry) {
        match self.entries.iter_mut().find(|o| o.key == e.key) {
            Some(o) => *o = e,
            None => self.entries.push(e),
        }
    }

    /// The entry with this key.
    pub fn find(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == *key)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut t = format!("{FIRST}\n");
        for c in &self.comments {
            t += c;
            t += "\n";
        }
        for e in &self.entries {
            t += &format!("{e}\n");
        }
        t
    }
}

/// "2026-11-26" of seconds since 1970 (proleptic Gregorian calendar, UTC).
pub fn date(seconds: u64) -> String {
    let days = (seconds / 86_400) as i64;
    // Years from March, in eras of 400 years.
    let z = days + 719_468;
    let (era, of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + i64::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Deal;
    use proptest::prelude::*;

    fn any_entry() -> impl Strategy<Value = Entry> {
        let name = "[ -~]{0,12}";
        let key = (name, any::<u64>(), 0u32..64, any::<u32>(), name, any::<bool>());
        let key = key.prop_map(|(module, offset, class, threads, machine, region)| Key {
            what: if region { What::Region } else { What::Loop },
            module: word(&module),
            offset,
            class,
            threads,
            machine: word(&machine),
        });
        let way = (1u32..1000, 0u32..9, 0.0..1e9f64)
            .prop_map(|(parts, threads, took)| (Choice { deal: Deal::Guided { parts }, threads }, took));
        let tried = proptest::collection::vec(way, 0..4);
        (key, name, 1u32..1000, 0.0..1e9f64, 0.0..1e9f64, tried).prop_map(
            |(key, function, parts, takes, own, tried)| Entry {
                key,
                function: word(&function),
                choice: Choice { deal: Deal::Dynamic { parts }, threads: 0 },
                takes,
                own,
                tried,
                date: "2026-11-26".into(),
            },
        )
    }

    proptest! {
        #[test]
        fn entries_are_read_as_written(all in proptest::collection::vec(any_entry(), 0..9)) {
            let mut t = Tuning { comments: vec!["# mine".into()], ..Tuning::default() };
            all.into_iter().for_each(|e| t.put(e));
            prop_assert_eq!(Tuning::read(&t.text()), Some(t));
        }

        #[test]
        fn any_text_is_taken_or_refused(
            text in "\\PC{0,80}",
            line in "(loop|region)( [a-z]{1,7}=[ -~]{0,9}){0,9}",
        ) {
            let _ = Tuning::read(&text);
            let t = Tuning::read(&format!("{FIRST}\n{line}\n{text}")).unwrap();
            prop_assert!(t.entries.len() + t.damaged.len() + t.comments.len() <= 2 + text.lines().count());
        }

        #[test]
        fn what_is_cut_off_is_noticed(e in any_entry(), at in 0usize..400) {
            let line = e.to_string();
            // The date comes last and is for people.
            let needed = line.find(" own=").unwrap();
            let cut: String = line.chars().take(at.min(needed.saturating_sub(20))).collect();
            prop_assert!(Entry::read(&cut).is_none());
        }
    }

    #[test]
    fn damage_is_named_by_line() {
        let t = Tuning::read("promp tuning 1\n# note\nloop at=x+0x1\n\nregion n=2^3\n").unwrap();
        assert_eq!((t.damaged, t.entries.len(), t.comments.len()), (vec![3, 5], 0, 1));
        assert_eq!(Tuning::read("promp tuning 2\n"), None);
        let line = "loop at=x+0x1 n=2^3 threads=2 machine=M choice=given takes=1e-6 tried=";
        assert_eq!(Entry::read(&format!("{line}given:2;static@1:1e-3")).unwrap().tried.len(), 2);
        for bad in ["", "given", "given:-1", "given:1;", "fast:1"] {
            assert!(Entry::read(&format!("{line}{bad}")).is_none(), "{bad}");
        }
        assert_eq!(Tuning::read(""), None);
    }

    #[test]
    fn dates() {
        let all = [0, 951_782_400, 1_795_651_200].map(date);
        assert_eq!(all, ["1970-01-01", "2000-02-29", "2026-11-26"]);
    }
}
