//! The language of PROMP_FAULT (but `sdc`, which silent.rs takes out first):
//!
//! ```text
//! spec  = fault { ";" fault }
//! fault = kind [ "@" key "=" value { "," key "=" value } ]
//! ```

pub use crate::fault_kinds::{Kind, Loses, Sent};
use crate::pairs::{Pair, pairs};
use crate::{quantities, silent_faults};

/// The points at which a fault can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum At {
    /// A chunk was handed out.
    Chunk,
    /// A barrier was passed.
    Barrier,
    /// The thread executes a single.
    Single,
    /// A section was handed out.
    Sections,
    /// A critical section or a lock was entered.
    Critical,
    /// The ordered turn was taken.
    Ordered,
    /// An explicit task begins.
    Task,
    /// A region begins.
    Region,
    /// A region has ended; serial work follows.
    Serial,
}

/// Number of [`At`]'s values.
pub const POINTS: usize = 9;

/// One fault of a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happens.
    pub kind: Kind,
    /// Logical thread number; `None`: any, by seeded choice.
    pub thread: Option<u32>,
    /// Ordinal of the outermost region; `None`: any.
    pub region: Option<u64>,
    /// The point; `None`: chunk, or region where the region hands out no chunk.
    pub at: Option<At>,
    /// Which time the thread reaches such a point in that region.
    pub nth: u64,
    /// How long after the point, in nanoseconds.
    pub delay_ns: u64,
    /// How many times it strikes.
    pub count: u64,
    /// Strike at exponentially distributed times of this mean instead of at a point.
    pub mtbf_ns: Option<u64>,
    /// For everything random.
    pub seed: u64,
}

/// Parses a specification; the error says what is wrong and what is accepted.
pub fn parse(spec: &str) -> Result<Vec<Fault>, String> {
    spec.split(';').map(|f| fault(f.trim())).collect()
}

/// Is this a specification, silent errors and others? The error says what is wrong.
pub fn check(text: &str) -> Result<(), String> {
    let (_, others) = silent_faults::split(text)?;
    others.map_or(Ok(()), |others| parse(&others).map(drop))
}

fn fault(text: &str) -> Result<Fault, String> {
    let (kind, keys) = match text.split_once('@') {
        Some((k, rest)) => (k.trim(), Some(rest)),
        None => (text, None),
    };
    let Some(kind) = Kind::from_word(kind) else {
        let all: Vec<&str> = Kind::injected().map(Kind::name).collect();
        return Err(format!("unknown kind \"{kind}\"; accepted are {}, sdc", all.join(", ")));
    };
    let mut f = Fault {
        kind,
        thread: None,
        region: None,
        at: None,
        nth: 1,
        delay_ns: 0,
        count: 1,
        mtbf_ns: None,
        seed: 1,
    };
    let mut seen: Vec<&str> = Vec::new();
    for pair in keys.into_iter().flat_map(pairs) {
        let pair = pair?;
        let Pair { key, value } = pair;
        seen.push(key);
        let wrong = |what: &str| pair.wrong(what);
        match key {
            "thread" if value == "any" => f.thread = None,
            "thread" => {
                let n = quantities::number(value).filter(|&n| n < 1 << 20);
                f.thread = Some(n.ok_or_else(|| wrong("a thread number or any"))? as u32);
            }
            "region" if value == "any" => f.region = None,
            "region" => f.region = Some(pair.least_one("a number from 1 or any")?),
            "at" => {
                f.at = Some(at(value).ok_or_else(|| {
                    wrong("chunk, barrier, single, sections, critical, ordered, task, region or serial")
                })?)
            }
            "nth" => f.nth = pair.least_one("a number from 1")?,
            "delay" if value == "0" => f.delay_ns = 0,
            "delay" => {
                f.delay_ns =
                    quantities::duration_ns(value).ok_or_else(|| wrong("a duration like 250us or 20ms"))?
            }
            "count" => f.count = pair.least_one("a number from 1")?,
            "mtbf" => f.mtbf_ns = Some(pair.mean_ns()?),
            "seed" => f.seed = pair.number()?,
            _ => {
                return Err(format!(
                    "unknown key \"{key}\"; accepted are thread, region, at, nth, delay, count, mtbf, seed"
                ));
            }
        }
    }
    if f.mtbf_ns.is_some() && seen.iter().any(|k| ["at", "nth", "delay"].contains(k)) {
        return Err("mtbf strikes at random times: at, nth and delay do not go with it".into());
    }
    Ok(f)
}

fn at(v: &str) -> Option<At> {
    Some(match v {
        "chunk" => At::Chunk,
        "barrier" => At::Barrier,
        "single" => At::Single,
        "sections" => At::Sections,
        "critical" => At::Critical,
        "ordered" => At::Ordered,
        "task" => At::Task,
        "region" => At::Region,
        "serial" => At::Serial,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn examples_of_the_documentation() {
        let f = parse("kill@thread=1,region=2,nth=3,delay=200us").unwrap();
        assert_eq!((f[0].thread, f[0].region, f[0].nth, f[0].delay_ns), (Some(1), Some(2), 3, 200_000));
        let f = parse("kill@mtbf=500ms,seed=7,count=20").unwrap();
        assert_eq!((f[0].mtbf_ns, f[0].seed, f[0].count), (Some(500_000_000), 7, 20));
        let f = parse("die@region=40; crash").unwrap();
        assert_eq!((f[0].kind, f[1].kind, f[1].at), (Kind::Die, Kind::Crash, None));
    }

    #[test]
    fn errors_name_the_culprit() {
        for (spec, word) in [
            ("", "kind"),
            ("boom", "boom"),
            ("kill@", "key=value"),
            ("kill@thread", "key=value"),
            ("kill@thread=x", "thread=x"),
            ("kill@region=0", "region=0"),
            ("kill@at=home", "at=home"),
            ("kill@delay=5", "delay=5"),
            ("kill@color=red", "color"),
            ("kill@nth=1,nth=2", "twice"),
            ("kill@mtbf=1s,nth=2", "mtbf"),
            ("kill;", "kind"),
            ("memerr@at=now", "at=now"),
        ] {
            let e = parse(spec).unwrap_err();
            assert!(e.contains(word), "{spec}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(s in "[a-z@=,;0-9. ]{0,60}") {
            let _ = parse(&s);
        }
    }
}
