//! Parsers of the values of environment variables: pure functions from text to values, each total on any
//! input. Those of quantities, which others need, too, are in crates/settings.

use super::places::ProcBind;
use super::{RunSched, Sched};
pub(crate) use promp_settings::quantities::{number, stack_size};

/// A boolean as libgomp takes it: `true` or `false`, any case, blanks around.
pub(crate) fn boolean(s: &str) -> Option<bool> {
    let s = s.trim();
    if s.eq_ignore_ascii_case("true") {
        Some(true)
    } else if s.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// A number of at least 1 that fits a C `int`.
pub(crate) fn positive(s: &str) -> Option<u32> {
    number(s).filter(|&n| (1..=i32::MAX as u64).contains(&n)).map(|n| n as u32)
}

/// A comma-separated, non-empty list.
pub(crate) fn list<T>(s: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    s.split(',').map(|p| item(p.trim())).collect()
}

/// OMP_SCHEDULE: `[monotonic:|nonmonotonic:]kind[,chunk]`.
pub(crate) fn schedule(s: &str) -> Option<RunSched> {
    let s = s.trim();
    let (modifier, rest) = match s.split_once(':') {
        Some((m, r)) => (Some(m.trim()), r.trim()),
        None => (None, s),
    };
    let (kind, chunk) = match rest.split_once(',') {
        Some((k, c)) => (k.trim(), Some(number(c).filter(|&n| n <= i32::MAX as u64)?)),
        None => (rest, None),
    };
    let kind = *Sched::ALL.iter().find(|k| k.word().eq_ignore_ascii_case(kind))?;
    if kind == Sched::Auto && chunk.is_some() {
        return None;
    }
    let monotonic = match modifier.map(str::to_ascii_lowercase).as_deref() {
        None => kind == Sched::Static,
        Some("monotonic") => true,
        Some("nonmonotonic") => false,
        Some(_) => return None,
    };
    let default = u64::from(kind != Sched::Static);
    let chunk = match chunk {
        Some(0) | None => default,
        Some(c) => c,
    };
    Some(RunSched { kind, chunk, monotonic })
}

/// OMP_PROC_BIND: one policy, or a list of those that say where threads go (OpenMP 5.1, section 6.4).
pub(crate) fn binds(s: &str) -> Option<Vec<ProcBind>> {
    let all = list(s, bind)?;
    let somewhere = |b: &ProcBind| !matches!(b, ProcBind::False | ProcBind::True);
    (all.len() == 1 || all.iter().all(somewhere)).then_some(all)
}

/// One item of OMP_PROC_BIND.
pub(crate) fn bind(s: &str) -> Option<ProcBind> {
    Some(match s.to_ascii_lowercase().as_str() {
        "false" => ProcBind::False,
        "true" => ProcBind::True,
        "master" | "primary" => ProcBind::Primary,
        "close" => ProcBind::Close,
        "spread" => ProcBind::Spread,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn schedules() {
        let s = |k, c, m| Some(RunSched { kind: k, chunk: c, monotonic: m });
        assert_eq!(schedule("dynamic"), s(Sched::Dynamic, 1, false));
        assert_eq!(schedule(" Static , 7 "), s(Sched::Static, 7, true));
        assert_eq!(schedule("monotonic:guided,3"), s(Sched::Guided, 3, true));
        assert_eq!(schedule("nonmonotonic: dynamic,0"), s(Sched::Dynamic, 1, false));
        assert_eq!(schedule("auto"), s(Sched::Auto, 1, false));
        for bad in [
            "",
            "auto,3",
            "dynamic,",
            "dynamic,-1",
            "dynamic,99999999999",
            "fast",
            "mono:static",
            "static,1,2",
        ] {
            assert_eq!(schedule(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(s in "\\PC{0,40}") {
            let _ = (boolean(&s), positive(&s), schedule(&s));
            let _ = list(&s, bind);
        }

        #[test]
        fn chunks_survive(c in 1u64..1_000_000) {
            prop_assert_eq!(schedule(&format!("guided,{c}")).unwrap().chunk, c);
        }
    }
}
