//! PROMP_DEVICES and PROMP_SDC*: which devices there are, and how silent errors of theirs are looked for.

use crate::{DEVICES, MTBF, SDC, SDC_ASSUME, SDC_KEEP, SDC_LATENCY, SDC_LOG, Setting};
use crate::{quantities, times};

/// Which devices target regions can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Which {
    /// Those for which a plugin of GCC's and a driver are there, as with libgomp.
    #[default]
    Auto,
    /// None beside the host.
    Nothing,
    /// This many host devices with memory of their own; with or without guard.
    Separate(u32, bool),
    /// A plugin's: its name.
    Plugin(&'static str),
}

/// How silent errors of kernels are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Not at all.
    #[default]
    Off,
    /// After each kernel.
    Eager,
    /// Before data leave the device, and after this many kernels (0: as the time model says).
    Lazy(u64),
    /// Not of kernels: this share of the chunks on CPUs, in millionths.
    Chunks(u32),
}

/// What is kept of a section's first results, to compare the second ones with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Keep {
    /// Signatures where the device computes them itself or memory for copies is short, else copies.
    #[default]
    Auto,
    /// A copy of everything.
    Copies,
    /// 128 bits of each piece.
    Signatures,
}

/// What a share is given in.
pub const MILLION: u64 = 1_000_000;

/// A share in millionths as a percentage.
pub fn percent(share: u32) -> String {
    format!("{}%", f64::from(share) / 10_000.0)
}

/// All of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// PROMP_DEVICES.
    pub which: Which,
    /// PROMP_SDC.
    pub sdc: Mode,
    /// PROMP_SDC_ASSUME.
    pub assume: Vec<String>,
    /// PROMP_SDC_LATENCY in nanoseconds.
    pub latency_ns: u64,
    /// PROMP_SDC_LOG: bytes that a section may log.
    pub log: usize,
    /// PROMP_SDC_KEEP.
    pub keep: Keep,
    /// PROMP_MTBF, for the granularity.
    pub mtbf_ns: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            which: Which::Auto,
            sdc: Mode::Off,
            assume: Vec::new(),
            latency_ns: 1_000_000_000,
            log: 256 << 20,
            keep: Keep::Auto,
            mtbf_ns: None,
        }
    }
}

/// Most devices of one kind.
pub const MOST: u32 = 64;

impl Settings {
    /// Reads them; bad values are handed to `bad`, and the program stops.
    pub fn read(get: &impl Fn(&str) -> Option<String>, mut bad: impl FnMut(String)) -> Self {
        let mut s = Self::default();
        let mut one = |setting: &Setting, set: &mut dyn FnMut(&str) -> Option<()>| {
            if let Some(v) = get(setting.name)
                && set(v.trim()).is_none()
            {
                bad(setting.complaint(&v, &setting.expected()));
            }
        };
        one(&DEVICES, &mut |v| which(v).map(|w| s.which = w));
        one(&SDC, &mut |v| mode(v).map(|m| s.sdc = m));
        one(&SDC_ASSUME, &mut |v| globs(v).map(|list| s.assume = list));
        one(&SDC_LATENCY, &mut |v| times::duration_ns(v).map(|n| s.latency_ns = n));
        one(&SDC_LOG, &mut |v| log(v).map(|n| s.log = n));
        one(&SDC_KEEP, &mut |v| keep(v).map(|k| s.keep = k));
        s.mtbf_ns = get(MTBF.name).and_then(|v| times::duration_ns(&v));
        s
    }
}

/// PROMP_SDC_ASSUME.
pub(crate) fn globs(v: &str) -> Option<Vec<String>> {
    let list: Vec<String> = v.split([',', ':']).map(|g| g.trim().to_string()).collect();
    let sound = |g: &String| !g.is_empty() && !g.contains(char::is_whitespace);
    list.iter().all(sound).then_some(list)
}

/// PROMP_SDC_LOG.
pub(crate) fn log(v: &str) -> Option<usize> {
    quantities::stack_size(v).filter(|&n| n >= 1 << 20)
}

/// PROMP_DEVICES.
pub fn which(v: &str) -> Option<Which> {
    Some(match v {
        "auto" => Which::Auto,
        "none" => Which::Nothing,
        "nvptx" => Which::Plugin("nvptx"),
        "gcn" => Which::Plugin("gcn"),
        _ => {
            let (v, guard) = match v.split_once(',') {
                Some((v, g)) if g.trim() == "guard" => (v.trim(), true),
                Some(_) => return None,
                None => (v, false),
            };
            let n = match v.split_once(':') {
                None if v == "separate" => 1,
                Some(("separate", n)) => {
                    quantities::number(n).filter(|&n| (1..=u64::from(MOST)).contains(&n))? as u32
                }
                _ => return None,
            };
            Which::Separate(n, guard)
        }
    })
}

/// PROMP_SDC.
pub fn mode(v: &str) -> Option<Mode> {
    Some(match v {
        "off" => Mode::Off,
        "eager" => Mode::Eager,
        "lazy" | "lazy:auto" => Mode::Lazy(0),
        _ if v.starts_with("chunks:") => Mode::Chunks(share(v.strip_prefix("chunks:")?.strip_suffix('%')?)?),
        _ => Mode::Lazy(quantities::number(v.strip_prefix("lazy:")?).filter(|&n| n >= 1)?),
    })
}

fn keep(v: &str) -> Option<Keep> {
    SDC_KEEP.word(v).map(|i| [Keep::Auto, Keep::Copies, Keep::Signatures][i])
}

/// A percentage in millionths.
fn share(v: &str) -> Option<u32> {
    if !v.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let share = v.parse::<f64>().ok()? * 10_000.0;
    (1.0..=MILLION as f64).contains(&share).then_some(share.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn devices() {
        for (text, expected) in [
            ("auto", Some(Which::Auto)),
            ("none", Some(Which::Nothing)),
            ("separate", Some(Which::Separate(1, false))),
            ("separate:3", Some(Which::Separate(3, false))),
            ("separate,guard", Some(Which::Separate(1, true))),
            ("separate:2,guard", Some(Which::Separate(2, true))),
            ("nvptx", Some(Which::Plugin("nvptx"))),
            ("", None),
            ("separate:0", None),
            ("separate:65", None),
            ("separate:x", None),
            ("separate,gard", None),
            ("guard", None),
            ("cuda", None),
        ] {
            assert_eq!(which(text), expected, "{text}");
        }
    }

    #[test]
    fn defaults_are_those_of_the_table() {
        let get = |name: &str| crate::ALL.iter().find(|s| s.name == name)?.default.map(str::to_owned);
        assert_eq!(Settings::read(&get, |why| panic!("{why}")), Settings::default());
    }

    #[test]
    fn modes_and_the_rest() {
        for (text, expected) in [
            ("off", Some(Mode::Off)),
            ("lazy", Some(Mode::Lazy(0))),
            ("lazy:7", Some(Mode::Lazy(7))),
            ("lazy:0", None),
            ("lazy:", None),
            ("on", None),
            ("chunks:5%", Some(Mode::Chunks(50_000))),
            ("chunks:0.01%", Some(Mode::Chunks(100))),
            ("chunks:100%", Some(Mode::Chunks(1_000_000))),
            ("chunks:0%", None),
            ("chunks:101%", None),
            ("chunks:5", None),
            ("chunks:-5%", None),
            ("chunks:infinity%", None),
            ("chunks", None),
        ] {
            assert_eq!(mode(text), expected, "{text}");
        }
        let read = |pairs: &[(&str, &str)]| {
            let mut errors = Vec::new();
            let get = |n: &str| pairs.iter().find(|p| p.0 == n).map(|p| p.1.to_string());
            let s = Settings::read(&get, |e| errors.push(e));
            (s, errors)
        };
        for (name, value) in [
            ("PROMP_DEVICES", "gpu"),
            ("PROMP_SDC", "sometimes"),
            ("PROMP_SDC_ASSUME", "a,,b"),
            ("PROMP_SDC_LATENCY", "1"),
            ("PROMP_SDC_LOG", "small"),
            ("PROMP_SDC_KEEP", "hashes"),
        ] {
            let (_, e) = read(&[(name, value)]);
            assert!(e.len() == 1 && e[0].contains(name) && e[0].contains(value), "{e:?}");
        }
        let (s, e) = read(&[("PROMP_SDC_ASSUME", "swim*, main._omp_fn.?"), ("PROMP_SDC_LATENCY", "2s")]);
        assert!(e.is_empty());
        assert_eq!((s.assume.len(), s.latency_ns), (2, 2_000_000_000));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(v in "\\PC{0,30}") {
            let _ = (which(&v), mode(&v));
        }
    }
}
