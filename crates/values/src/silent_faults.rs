//! The silent errors that PROMP_FAULT injects: `sdc@key=value,…` (spec.rs has the other kinds).

use crate::pairs::{Pair, pairs};
use crate::quantities;

/// Which kernels are hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The one with this number since the start, and those after it while `count` lasts.
    From(u64),
    /// Those whose names match the glob.
    Named(String),
}

/// Which block of device memory is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The largest.
    Largest,
    /// Any that the kernel has written.
    Written,
    /// The one with this number, by address.
    Number(usize),
    /// Not the block, but the copy of it from the section's beginning, where the kernel has written to the
    /// block.
    Copy,
}

/// Which bits are turned over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One.
    Bit,
    /// Two neighbours.
    Two,
    /// A word of 32 bits.
    Word,
    /// The same bit in 32 neighbouring words.
    Warp,
}

impl Pattern {
    /// Which bits of the bytes from `at` on are turned over, where the first bit is `bit`: to `flip`, a
    /// byte's place and its bits. Places may be beyond what there is.
    pub fn masks(self, at: usize, bit: u32, mut flip: impl FnMut(usize, u8)) {
        match self {
            Self::Bit => flip(at, 1 << bit),
            Self::Two => {
                flip(at, 1 << bit);
                if bit == 7 { flip(at + 1, 1) } else { flip(at, 2 << bit) }
            }
            Self::Word => (0..4).for_each(|k| flip((at & !3) + k, 0xff)),
            Self::Warp => (0..32).for_each(|k| flip(at + 4 * k, 1 << bit)),
        }
    }
}

/// In which of a section's executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// The first.
    First,
    /// The second.
    Again,
    /// Both, at different places.
    Both,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kernels.
    pub kernel: Kernel,
    /// Every how many of them (1: each).
    pub nth: u64,
    /// Block.
    pub block: Hit,
    /// The bit in the byte; `None`: random.
    pub bit: Option<u32>,
    /// Bits.
    pub pattern: Pattern,
    /// Execution.
    pub run: Run,
    /// How many times.
    pub count: u64,
    /// At exponentially distributed times of this mean instead of at a kernel.
    pub mtbf_ns: Option<u64>,
    /// In what a chunk has written on a CPU, not a kernel on a device.
    pub chunk: bool,
    /// Chunks on this CPU only.
    pub cpu: Option<u32>,
    /// For everything random.
    pub seed: u64,
}

impl Fault {
    /// It is as `pair` says.
    fn set(&mut self, pair: &Pair) -> Result<(), String> {
        let Pair { key, value } = *pair;
        let wrong = |what: &str| pair.wrong(what);
        let number = quantities::number(value);
        match key {
            "kernel" => {
                self.kernel = match number {
                    Some(n) if n > 0 => Kernel::From(n),
                    None if !value.is_empty() => Kernel::Named(value.to_string()),
                    _ => return Err(wrong("a number from 1 or a glob of names")),
                }
            }
            "block" => {
                let words = [("largest", Hit::Largest), ("written", Hit::Written), ("copy", Hit::Copy)];
                let numbered = number.map(|n| Hit::Number(n as usize));
                let hit = pair.among(&words).or(numbered);
                self.block = hit.ok_or_else(|| wrong("largest, written, copy or a number"))?;
            }
            "bit" if value == "random" => self.bit = None,
            "bit" => {
                let n = number.filter(|&n| n < 8);
                self.bit = Some(n.ok_or_else(|| wrong("0 to 7 or random"))? as u32);
            }
            "pattern" => {
                use Pattern::{Bit, Two, Warp, Word};
                let words = [("bit", Bit), ("two", Two), ("word", Word), ("warp", Warp)];
                self.pattern = pair.among(&words).ok_or_else(|| wrong("bit, two, word or warp"))?;
            }
            "run" => {
                let words = [("first", Run::First), ("again", Run::Again), ("both", Run::Both)];
                self.run = pair.among(&words).ok_or_else(|| wrong("first, again or both"))?;
            }
            "where" => {
                let words = [("device", false), ("chunk", true)];
                self.chunk = pair.among(&words).ok_or_else(|| wrong("device or chunk"))?;
            }
            "cpu" => {
                let n = number.and_then(|n| u32::try_from(n).ok());
                self.cpu = Some(n.ok_or_else(|| wrong("a CPU's number"))?);
            }
            "nth" => self.nth = pair.least_one("a number from 1")?,
            "count" => self.count = pair.least_one("a number from 1")?,
            "mtbf" => self.mtbf_ns = Some(pair.mean_ns()?),
            "seed" => self.seed = pair.number()?,
            _ => {
                return Err(format!(
                    "unknown key \"{key}\"; sdc accepts kernel, block, bit, pattern, run, where, cpu, nth, \
                     count, mtbf, seed"
                ));
            }
        }
        Ok(())
    }
}

/// Takes the silent errors out of a specification: those, and what is left of it.
pub fn split(spec: &str) -> Result<(Vec<Fault>, Option<String>), String> {
    let of = |f: &str| f.trim() == "sdc" || f.trim().starts_with("sdc@");
    let (silent, others): (Vec<&str>, Vec<&str>) = spec.split(';').partition(|f| of(f));
    let faults = silent.iter().map(|f| fault(f.trim())).collect::<Result<Vec<_>, _>>()?;
    let rest = (!others.is_empty()).then(|| others.join(";"));
    Ok((faults, rest))
}

fn fault(text: &str) -> Result<Fault, String> {
    let mut f = Fault {
        kernel: Kernel::From(1),
        nth: 1,
        block: Hit::Written,
        bit: None,
        pattern: Pattern::Bit,
        run: Run::First,
        count: 1,
        mtbf_ns: None,
        chunk: false,
        cpu: None,
        seed: 1,
    };
    let mut seen: Vec<&str> = Vec::new();
    for pair in text.split_once('@').into_iter().flat_map(|(_, keys)| pairs(keys)) {
        let pair = pair?;
        seen.push(pair.key);
        f.set(&pair)?;
    }
    if f.mtbf_ns.is_some() && seen.iter().any(|k| ["kernel", "nth"].contains(k)) {
        return Err("mtbf strikes at random times: kernel and nth do not go with it".into());
    }
    let given = |keys: &[&'static str]| keys.iter().copied().find(|k| seen.contains(k));
    if let Some(key) = f.chunk.then(|| given(&["kernel", "block"])).flatten() {
        return Err(format!("{key} is of devices: it does not go with where=chunk"));
    }
    if f.cpu.is_some() && !f.chunk {
        return Err("cpu goes with where=chunk only".into());
    }
    Ok(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn silent_errors_beside_others() {
        let (f, rest) =
            split("kill@thread=1; sdc@kernel=33,bit=5,pattern=warp,run=both,count=4;die@region=2").unwrap();
        assert_eq!(rest.as_deref(), Some("kill@thread=1;die@region=2"));
        assert_eq!((&f[0].kernel, f[0].bit, f[0].pattern), (&Kernel::From(33), Some(5), Pattern::Warp));
        assert_eq!((f[0].run, f[0].count), (Run::Both, 4));
        let (f, rest) = split("sdc@kernel=main*,block=largest").unwrap();
        assert_eq!((&f[0].kernel, f[0].block, rest), (&Kernel::Named("main*".into()), Hit::Largest, None));
        assert_eq!(split("sdc").unwrap().0.len(), 1);
        let (f, _) = split("sdc@where=chunk,cpu=3,nth=10000,count=5").unwrap();
        assert_eq!((f[0].chunk, f[0].cpu, f[0].nth), (true, Some(3), 10000));
    }

    #[test]
    fn errors_name_the_culprit() {
        for (spec, word) in [
            ("sdc@", "key=value"),
            ("sdc@kernel=0", "kernel=0"),
            ("sdc@bit=8", "bit=8"),
            ("sdc@pattern=byte", "pattern=byte"),
            ("sdc@run=never", "run=never"),
            ("sdc@where=moon", "where=moon"),
            ("sdc@thread=1", "thread"),
            ("sdc@mtbf=1s,kernel=2", "mtbf"),
            ("sdc@seed=1,seed=2", "twice"),
            ("sdc@where=chunk,kernel=3", "kernel"),
            ("sdc@cpu=1", "where=chunk"),
            ("sdc@where=chunk,cpu=x", "cpu=x"),
        ] {
            let e = split(spec).unwrap_err();
            assert!(e.contains(word), "{spec}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(s in "[a-z@=,;0-9. ]{0,60}") {
            let _ = split(&s);
        }
    }
}
