//! What a run lost: the largest loss first, whether or not there is advice that helps.
//!
//! A segment's wall time is the mean of its threads' work on CPUs and what was lost. What was lost has three
//! parts: work that was dealt unevenly, CPUs that others had, and what the slowest thread's work does not
//! account for. Serial code loses what the other threads could have done. Alike losses of one function are
//! one loss; the CPUs that others had are one for the whole run.

use super::picture::{Row, serial};
use promp_report::numbers::{percent, seconds};
use promp_report::{Loss, Report, Segment};

/// Work between two synchronisations that is shorter than this (ns) is short.
pub(crate) const SHORT_NS: f64 = 20_000.0;
/// A loss of a smaller share of the run is not spoken of.
pub(crate) const WORTH: f64 = 0.01;

/// The parts of what a segment lost, in seconds of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Account {
    /// Some threads had more to do than others.
    pub uneven: f64,
    /// The CPUs were someone else's.
    pub stolen: f64,
    /// What the slowest thread's work does not account for.
    pub overhead: f64,
    /// One thread worked.
    pub serial: f64,
}

impl Account {
    /// That of a segment of `wall_s`, in a run whose slowest threads worked for `all_tp_s` in regions.
    pub(crate) fn of(s: &Segment, wall_s: f64, all_tp_s: f64) -> Self {
        if serial(s) {
            return Self { serial: s.gain_s.max(0.0), ..Self::default() };
        }
        let stolen = s.stolen_s.iter().filter(|x| x.is_finite()).sum::<f64>() / f64::from(s.threads.max(1));
        let above = (s.gain_s + stolen).max(0.0);
        let own = s.wre_own.map_or(s.gain_s, |own| own * all_tp_s);
        let uneven = own.max(0.0).min(above);
        let overhead = (wall_s - s.tp_s).max(0.0);
        Self { uneven, stolen: above - uneven, overhead, serial: 0.0 }
    }

    /// The part that is behind a cause of the runtime's (`Segment::cause`).
    pub(crate) fn behind(&self, cause: &str) -> f64 {
        match cause {
            "load_balance" => self.uneven,
            "stolen" => self.stolen,
            "scheduling" => self.overhead,
            "serial" => self.serial,
            _ => self.uneven.max(self.serial),
        }
    }
}

/// What kind of work is too short, or waits for something, where `overhead` is lost.
fn overhead(r: &Row) -> &'static str {
    let (s, sum) = (&r.segment, r.total());
    match s.construct.as_str() {
        "task" | "taskloop" => "tasks",
        _ if work_of_a_visit_ns(r) >= SHORT_NS => match sum.runtime > 0.2 * sum.wait {
            true => "locks",
            false => "late threads",
        },
        _ if s.from == "region" && s.to == "region end" => "short regions",
        _ => "short work",
    }
}

/// What a thread works in one visit of a segment (ns).
pub(crate) fn work_of_a_visit_ns(r: &Row) -> f64 {
    r.total().busy / (r.segment.visits.max(1) as f64 * r.threads.len().max(1) as f64) * 1e9
}

/// Alike losses of one function.
struct Group<'a> {
    cause: &'static str,
    share: f64,
    /// The rows and their shares, the first one the largest.
    rows: Vec<(&'a Row, f64)>,
}

/// The losses of a run, the largest first.
pub(crate) fn losses(rows: &[Row], report: &Report) -> Vec<Loss> {
    let mut groups: Vec<Group> = Vec::new();
    for r in rows {
        // Those of inner regions are of some of the threads only.
        let weight = match r.segment.level {
            Some(level) if level > 1 => f64::from(r.segment.threads) / f64::from(report.threads.max(1)),
            _ => 1.0,
        };
        let share = |part: f64| if report.wall_s > 0.0 { part * weight / report.wall_s } else { 0.0 };
        let a = &r.account;
        let parts = [
            ("uneven work", a.uneven),
            ("stolen CPU", a.stolen),
            (overhead(r), a.overhead),
            ("serial code", a.serial),
        ];
        for (cause, part) in parts.into_iter().filter(|p| p.1 > 0.0) {
            let alike = |g: &&mut Group| {
                g.cause == cause && (cause == "stolen CPU" || g.rows[0].0.function() == r.function())
            };
            match groups.iter_mut().find(alike) {
                Some(g) => {
                    g.share += share(part);
                    g.rows.push((r, share(part)));
                }
                None => groups.push(Group { cause, share: share(part), rows: vec![(r, share(part))] }),
            }
        }
    }
    groups.iter_mut().for_each(|g| g.rows.sort_by(|a, b| b.1.total_cmp(&a.1)));
    groups.sort_by(|a, b| b.share.total_cmp(&a.share));
    groups.iter().filter(|g| g.share >= WORTH).map(Group::loss).collect()
}

impl Group<'_> {
    fn loss(&self) -> Loss {
        let whole = self.cause == "stolen CPU";
        Loss {
            cause: self.cause.into(),
            share: self.share.min(1.0),
            function: (!whole).then(|| self.rows[0].0.name.clone()),
            text: self.text(),
        }
    }

    fn text(&self) -> String {
        let share = percent(self.share.min(1.0));
        let row = self.rows[0].0;
        let more = match self.rows.len() {
            1 => String::new(),
            n => format!(" and {} more places", n - 1),
        };
        let place = format!("in {} ({}{more})", row.name, row.at);
        let visits: u64 = self.rows.iter().map(|r| r.0.segment.visits).sum();
        let busy: f64 = self.rows.iter().map(|r| r.0.total().busy).sum();
        let each = busy / (visits.max(1) as f64 * row.threads.len().max(1) as f64);
        match self.cause {
            "uneven work" => format!("{share} of the threads' time is lost by uneven work {place}"),
            "stolen CPU" => format!(
                "for {share} of the threads' time the CPUs were someone else's: other programs, or more \
                 threads than CPUs"
            ),
            "short regions" => format!(
                "{share} of the threads' time waits in regions of {}: {visits} visits {place}",
                seconds(each)
            ),
            "short work" => format!(
                "{share} of the threads' time waits at barriers with {} of work in between: \
                 {visits} visits {place}",
                seconds(each)
            ),
            "locks" => {
                format!("{share} of the threads' time waits for locks, critical or ordered sections {place}")
            }
            "tasks" => format!("{share} of the threads' time waits for tasks {place}"),
            "serial code" => {
                format!(
                    "{share} of the threads' time is idle while one thread works: {} ({}{more})",
                    row.name, row.at
                )
            }
            _ => format!("{share} of the threads' time is lost where threads begin or go on late {place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::picture::Picture;

    /// A segment of two threads, 10 s long, that came by `visits` times.
    fn segment(busy: [f64; 2], stolen: [f64; 2], visits: u64) -> Segment {
        let with_stolen = [busy[0] + stolen[0], busy[1] + stolen[1]];
        let tp_s = with_stolen[0].max(with_stolen[1]);
        Segment {
            from: "region".into(),
            to: "region end".into(),
            construct: "region".into(),
            level: Some(1),
            threads: 2,
            visits,
            busy_s: busy.to_vec(),
            stolen_s: stolen.to_vec(),
            wait_s: vec![10.0 - busy[0] - stolen[0], 10.0 - busy[1] - stolen[1]],
            runtime_s: vec![0.0; 2],
            wall_s: Some(10.0),
            tp_s,
            gain_s: tp_s - (with_stolen[0] + with_stolen[1]) / 2.0,
            wre: 0.1,
            ..Segment::default()
        }
    }

    /// What a run of these segments says first.
    fn first(segments: Vec<Segment>) -> Loss {
        let wall_s = segments.iter().filter_map(|s| s.wall_s).sum();
        let p = Picture::new(Report { wall_s, threads: 2, segments, ..Report::default() });
        p.losses.first().cloned().unwrap_or_default()
    }

    #[test]
    fn the_largest_loss_is_named_by_its_cause() {
        let serial = Segment {
            construct: "serial".into(),
            level: None,
            gain_s: 5.0,
            tp_s: 10.0,
            ..segment([10.0, 0.0], [0.0; 2], 5)
        };
        let locks = Segment { runtime_s: vec![4.0; 2], ..segment([5.0; 2], [0.0; 2], 5) };
        let tasks = Segment { construct: "task".into(), ..segment([5.0; 2], [0.0; 2], 5) };
        let pieces = Segment { to: "barrier".into(), ..segment([2.0; 2], [0.0; 2], 1_000_000) };
        for (cause, share, s) in [
            ("uneven work", 0.45, segment([10.0, 1.0], [0.0; 2], 5)),
            ("short regions", 0.8, segment([2.0; 2], [0.0; 2], 1_000_000)),
            ("short work", 0.8, pieces),
            ("locks", 0.5, locks),
            ("tasks", 0.5, tasks),
            ("late threads", 0.5, segment([5.0; 2], [0.0; 2], 5)),
            ("serial code", 0.5, serial),
            ("stolen CPU", 0.5, Segment { wre_own: Some(0.0), ..segment([5.0; 2], [5.0; 2], 5) }),
            // Taken from one of two that have the same to do.
            ("stolen CPU", 0.5, Segment { wre_own: Some(0.0), ..segment([5.0; 2], [5.0, 0.0], 5) }),
        ] {
            let loss = first(vec![s]);
            assert!(loss.cause == cause && (loss.share - share).abs() < 1e-9, "{cause} {share}: {loss:?}");
            assert!(loss.text.contains(" % of the threads' time"), "{loss:?}");
        }
    }

    #[test]
    fn losses_of_one_function_are_one() {
        let of =
            |f: &str, busy, visits| Segment { function: Some(f.into()), ..segment(busy, [0.0; 2], visits) };
        let many = vec![
            of("f", [10.0, 4.0], 5),
            of("g", [10.0, 5.0], 5),
            of("g", [10.0, 6.0], 5),
            of("h", [9.99, 9.98], 5),
        ];
        let loss = first(many);
        assert_eq!((loss.cause.as_str(), loss.function.as_deref()), ("uneven work", Some("g")), "{loss:?}");
        assert!(loss.text.contains("and 1 more places"), "{loss:?}");
        assert_eq!(first(vec![of("h", [9.999, 9.998], 5)]), Loss::default());
        assert_eq!(first(vec![]), Loss::default());
    }
}
