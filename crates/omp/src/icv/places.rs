//! Places (OpenMP 5.1, section 2.6 and OMP_PLACES, section 6.5): parsing, and the assignment of team members to places.

use super::parse::number;

/// proc-bind values, with the ABI's numbers (`omp_proc_bind_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ProcBind {
    /// Threads are not bound.
    False = 0,
    /// Bound, the implementation chooses how: close.
    True = 1,
    /// On the primary thread's place.
    Primary = 2,
    /// On neighbouring places.
    Close = 3,
    /// Spread out.
    Spread = 4,
}

/// A set of processors.
pub(crate) type Place = Vec<u32>;

/// Parses OMP_PLACES for a process that may use the processors `allowed`. Places whose processors are not available are
/// dropped; an error is `None`.
pub(crate) fn parse(s: &str, allowed: &[u32]) -> Option<Vec<Place>> {
    let s = s.trim();
    let (name, count) = match s.split_once('(') {
        Some((n, rest)) if !n.contains('{') => {
            (n.trim(), Some(number(rest.trim_end().strip_suffix(')')?).filter(|&n| n > 0)? as usize))
        }
        _ => (s, None),
    };
    let abstract_places = match name.to_ascii_lowercase().as_str() {
        "threads" => Some(allowed.iter().map(|&c| vec![c]).collect()),
        "cores" => Some(grouped(allowed, "topology/thread_siblings_list")),
        "ll_caches" => Some(grouped(allowed, "cache/index3/shared_cpu_list")),
        "sockets" => Some(grouped(allowed, "topology/package_cpus_list")),
        "numa_domains" => Some(grouped(allowed, "topology/package_cpus_list")),
        _ => None,
    };
    let mut places: Vec<Place> = match abstract_places {
        Some(mut p) => {
            if let Some(n) = count {
                p.truncate(n);
            }
            return Some(p);
        }
        None => Explicit { rest: s }.places()?,
    };
    for p in &mut places {
        p.retain(|c| allowed.contains(c));
    }
    places.retain(|p| !p.is_empty());
    (!places.is_empty()).then_some(places)
}

/// GOMP_CPU_AFFINITY: `0 3 1-2 4-15:2`, one place a processor.
pub(crate) fn parse_cpu_list(s: &str, allowed: &[u32]) -> Option<Vec<Place>> {
    let mut cpus = Vec::new();
    for item in s.split([' ', ',', '\t']).filter(|i| !i.is_empty()) {
        let (range, stride) = match item.split_once(':') {
            Some((r, st)) => (r, number(st).filter(|&n| n > 0)?),
            None => (item, 1),
        };
        let (lo, hi) = match range.split_once('-') {
            Some((a, b)) => (number(a)?, number(b)?),
            None => (number(range)?, number(range)?),
        };
        if lo > hi || hi > 65535 {
            return None;
        }
        cpus.extend((lo..=hi).step_by(stride as usize).map(|c| c as u32));
    }
    let places: Vec<Place> = cpus.into_iter().filter(|c| allowed.contains(c)).map(|c| vec![c]).collect();
    (!places.is_empty()).then_some(places)
}

/// Groups of allowed processors that share the sysfs list `file`.
fn grouped(allowed: &[u32], file: &str) -> Vec<Place> {
    let mut groups: Vec<(String, Place)> = Vec::new();
    for &c in allowed {
        let key = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{c}/{file}"))
            .unwrap_or(c.to_string());
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, p)) => p.push(c),
            None => groups.push((key, vec![c])),
        }
    }
    groups.into_iter().map(|(_, p)| p).collect()
}

/// The explicit form: `{0,1},{2:2},!{4}:3:2` …
struct Explicit<'a> {
    rest: &'a str,
}

impl Explicit<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }
    fn eat(&mut self, c: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(c) {
            Some(r) => {
                self.rest = r;
                true
            }
            None => false,
        }
    }
    fn signed(&mut self) -> Option<i64> {
        self.skip();
        let neg = self.eat('-');
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let n: i64 = self.rest[..end].parse().ok().filter(|&n| n <= 1 << 20)?;
        self.rest = &self.rest[end..];
        Some(if neg { -n } else { n })
    }
    /// `:len[:stride]` behind something; (1, 1) if absent.
    fn interval(&mut self) -> Option<(i64, i64)> {
        if !self.eat(':') {
            return Some((1, 1));
        }
        let len = self.signed().filter(|&n| n > 0 && n <= 65536)?;
        let stride = if self.eat(':') { self.signed()? } else { 1 };
        Some((len, stride))
    }
    /// The resources of one place, `!` ones removed.
    fn place(&mut self) -> Option<Vec<i64>> {
        if !self.eat('{') {
            // A bare number is a place of one processor.
            return Some(vec![self.signed().filter(|&n| n >= 0)?]);
        }
        let (mut set, mut out) = (Vec::new(), Vec::new());
        loop {
            let exclude = self.eat('!');
            let first = self.signed().filter(|&n| n >= 0)?;
            let (len, stride) = if exclude { (1, 1) } else { self.interval()? };
            for i in 0..len {
                if exclude { out.push(first) } else { set.push(first + i * stride) }
            }
            if self.eat('}') {
                break;
            }
            if !self.eat(',') {
                return None;
            }
        }
        set.retain(|c| !out.contains(c));
        Some(set)
    }
    fn places(mut self) -> Option<Vec<Place>> {
        let mut all: Vec<Vec<i64>> = Vec::new();
        loop {
            if self.eat('!') {
                let p = self.place()?;
                all.retain(|q| *q != p);
            } else {
                let p = self.place()?;
                let (len, stride) = self.interval()?;
                for i in 0..len {
                    all.push(p.iter().map(|c| c + i * stride).collect());
                }
            }
            self.skip();
            if self.rest.is_empty() {
                break;
            }
            if !self.eat(',') {
                return None;
            }
        }
        let place = |p: Vec<i64>| p.into_iter().map(|c| u32::try_from(c).ok()).collect();
        all.into_iter().map(place).collect()
    }
}

/// The place of member `num` of a team of `size` and the place partition it works in, when the primary thread is on
/// `primary` and works in the partition `[part_off, part_off + part_len)` (OpenMP 5.1, section 2.6.2).
/// Returns (place, partition offset, partition length).
pub(crate) fn assign(
    bind: ProcBind,
    num: u32,
    size: u32,
    primary: u32,
    part_off: u32,
    part_len: u32,
) -> (u32, u32, u32) {
    let (p, t) = (u64::from(part_len.max(1)), u64::from(size.max(1)));
    let start = u64::from(primary.saturating_sub(part_off));
    let n = u64::from(num);
    let at = |i: u64| part_off + ((start + i) % p) as u32;
    match bind {
        _ if t == 1 => (primary, part_off, part_len),
        ProcBind::False | ProcBind::Primary => (primary, part_off, part_len),
        ProcBind::True | ProcBind::Close => {
            // ceil/floor groups of consecutive threads a place when there are more threads than places.
            let i = if t <= p { n } else { group_of(n, t, p) };
            (at(i), part_off, part_len)
        }
        ProcBind::Spread if t <= p => {
            // T subpartitions of floor or ceil(P/T) consecutive places. The primary stays where it is, in one of them; the others go to
            // the first places of the next ones, around the end.
            let (small, extra) = (p / t, p % t);
            let begin = |i: u64| i * small + i.min(extra);
            let i = (group_of(start, p, t) + n) % t;
            let (first, len) = (part_off + begin(i) as u32, (begin(i + 1) - begin(i)) as u32);
            (if n == 0 { primary } else { first }, first, len)
        }
        ProcBind::Spread => {
            let i = group_of(n, t, p);
            (at(i), at(i), 1)
        }
    }
}

/// Which of `groups` groups of consecutive ones number `n` of `all` ≥ `groups` is in, the first `all % groups` groups one larger.
fn group_of(n: u64, all: u64, groups: u64) -> u64 {
    let (small, extra) = (all / groups, all % groups);
    if n < extra * (small + 1) { n / (small + 1) } else { extra + (n - extra * (small + 1)) / small }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn explicit_places() {
        let all: Vec<u32> = (0..16).collect();
        assert_eq!(parse("{0,1},{2:2}", &all), Some(vec![vec![0, 1], vec![2, 3]]));
        assert_eq!(parse("{0:2}:3:4", &all), Some(vec![vec![0, 1], vec![4, 5], vec![8, 9]]));
        assert_eq!(parse("{0:4,!2}", &all), Some(vec![vec![0, 1, 3]]));
        assert_eq!(parse("{0},{1},!{0}", &all), Some(vec![vec![1]]));
        assert_eq!(parse("{0},{99}", &all), Some(vec![vec![0]]));
        assert_eq!(parse("threads(2)", &all), Some(vec![vec![0], vec![1]]));
        for bad in ["", "{", "{}", "{0", "{0}x", "{0}:0", "threads(0)", "threads(", "chairs", "{0:}", "{-1}"]
        {
            assert_eq!(parse(bad, &all), None, "{bad}");
        }
        assert_eq!(parse_cpu_list("0 3 1-2 4-8:2", &all).unwrap().concat(), [0, 3, 1, 2, 4, 6, 8]);
        assert_eq!(parse_cpu_list("5-1", &all), None);
    }

    #[test]
    fn spread_and_close() {
        let place = |b, n, t| assign(b, n, t, 0, 0, 8).0;
        assert_eq!((0..4).map(|n| place(ProcBind::Spread, n, 4)).collect::<Vec<_>>(), [0, 2, 4, 6]);
        assert_eq!((0..4).map(|n| place(ProcBind::Close, n, 4)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((0..4).map(|n| place(ProcBind::Primary, n, 4)).collect::<Vec<_>>(), [0, 0, 0, 0]);
        assert_eq!((0..12).map(|n| place(ProcBind::Close, n, 12)).max(), Some(7));
        // A primary thread in the middle of its partition stays there, in the subpartition that has its place.
        let spread = |at: u32, p, t| {
            (0..t).map(|n| assign(ProcBind::Spread, n, t, 10 + at, 10, p)).collect::<Vec<_>>()
        };
        assert_eq!(spread(1, 4, 2), [(11, 10, 2), (12, 12, 2)]);
        assert_eq!(spread(3, 5, 2), [(13, 13, 2), (10, 10, 3)]);
        assert_eq!(spread(3, 5, 1), [(13, 10, 5)]);
    }

    proptest! {
        #[test]
        fn any_text(s in "[{}0-9,:!() a-z-]{0,30}") {
            let _ = (parse(&s, &[0, 1, 2]), parse_cpu_list(&s, &[0, 1, 2]));
        }
        #[test]
        fn places_are_in_the_partition(n in 0u32..64, extra in 1u32..64, off in 0u32..9, len in 1u32..32, at in 0u32..32) {
            let size = n + extra;
            for b in [ProcBind::True, ProcBind::Primary, ProcBind::Close, ProcBind::Spread] {
                let (p, o, l) = assign(b, n, size, off + at % len, off, len);
                prop_assert!(p >= o && p < o + l && o >= off && o + l <= off + len);
            }
        }
    }
}
