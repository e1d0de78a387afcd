//! Two runs side by side: what became of the time, as a whole and segment by segment.

use super::picture::{Picture, Row};
use promp_report::numbers::{fixed, percent, round, seconds};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;

/// A segment of either run or of both.
struct Pair<'a> {
    before: Option<&'a Row>,
    after: Option<&'a Row>,
}

impl Pair<'_> {
    fn row(&self) -> Option<&Row> {
        self.after.or(self.before)
    }

    fn wall(&self) -> (f64, f64) {
        (self.before.map_or(0.0, |r| r.wall_s), self.after.map_or(0.0, |r| r.wall_s))
    }

    /// Its line in the table.
    fn line(&self) -> String {
        let (x, y) = self.wall();
        let wre = |r: Option<&Row>| r.map_or("-".into(), |r| percent(r.segment.wre));
        let wall = |r: Option<&Row>| r.map_or("-".into(), |r| seconds(r.wall_s));
        let name = self.row().map_or(String::new(), |r| format!("{}  {}", r.name, r.at));
        let moved = match (self.before, self.after) {
            (Some(b), Some(a)) if a.at != b.at => format!(" (was {})", b.at),
            (Some(b), Some(a)) if a.kind != b.kind => format!(" ({} -> {})", b.kind, a.kind),
            (None, _) => " (only after)".into(),
            (_, None) => " (only before)".into(),
            _ => String::new(),
        };
        format!(
            "{:>10} {:>10} {:>9}  {:>8} {:>8}  {name}{moved}",
            wall(self.before),
            wall(self.after),
            change(x, y),
            wre(self.before),
            wre(self.after)
        )
    }
}

/// Segments by function, place and kinds of synchronisation; then without the kinds, which another schedule
/// changes; then without the place, for lines move. Where several are alike, the first goes with the first,
/// but not without the place.
fn pairs<'a>(a: &'a Picture, b: &'a Picture) -> Vec<Pair<'a>> {
    let mut left: Vec<Option<&Row>> = a.rows.iter().map(Some).collect();
    let mut all: Vec<Pair> = b.rows.iter().map(|r| Pair { before: None, after: Some(r) }).collect();
    for pass in 0..3 {
        let exact = pass < 2;
        let key = |r: &Row| {
            let (name, at, kind) = r.identity();
            match pass {
                0 => (name, at, kind),
                1 => (name, at, String::new()),
                _ => (name, String::new(), kind),
            }
        };
        let mut at: HashMap<_, Vec<usize>> = HashMap::new();
        for (i, r) in left.iter().enumerate() {
            if let Some(r) = r {
                at.entry(key(r)).or_default().push(i);
            }
        }
        for p in all.iter_mut().filter(|p| p.before.is_none()) {
            let Some(after) = p.after else { continue };
            let Some(candidates) = at.get_mut(&key(after)).filter(|c| exact && !c.is_empty() || c.len() == 1)
            else {
                continue;
            };
            p.before = left[candidates.remove(0)].take();
        }
    }
    all.extend(left.into_iter().flatten().map(|r| Pair { before: Some(r), after: None }));
    all.sort_by(|x, y| {
        let change = |p: &Pair| (p.wall().1 - p.wall().0).abs();
        change(y).total_cmp(&change(x))
    });
    all
}

/// The change as text.
pub fn text(a: &Picture, b: &Picture, most: usize) -> String {
    let (ra, rb) = (&a.report, &b.report);
    let mut t = String::new();
    let _ = writeln!(t, "{:<26} {:>12} {:>12} {:>10}", "", "before", "after", "change");
    if ra.program != rb.program {
        let _ = writeln!(t, "two programs: {} and {}", ra.program, rb.program);
    }
    let mut line = |name: &str, x: f64, y: f64, show: &dyn Fn(f64) -> String| {
        let _ = writeln!(t, "{name:<26} {:>12} {:>12} {:>10}", show(x), show(y), change(x, y));
    };
    let time = |x: f64| format!("{} s", round(x));
    line("wall time", ra.wall_s, rb.wall_s, &time);
    line("threads", f64::from(ra.threads), f64::from(rb.threads), &|x| format!("{x:.0}"));
    line("failures", ra.failures.len() as f64, rb.failures.len() as f64, &|x| format!("{x:.0}"));
    line("checkpoints", ra.checkpoints.len() as f64, rb.checkpoints.len() as f64, &|x| format!("{x:.0}"));
    if let (Some(x), Some(y)) = (&ra.efficiency, &rb.efficiency) {
        line("parallel efficiency", x.parallel, y.parallel, &percent);
        line("  load balance", x.load_balance, y.load_balance, &percent);
        line("  scheduling efficiency", x.scheduling, y.scheduling, &percent);
        line("  serialization efficiency", x.serial, y.serial, &percent);
        line("CPU someone else's", x.stolen_s, y.stolen_s, &seconds);
    }
    for (name, p) in [("before", a), ("after", b)] {
        if p.rows.is_empty() {
            let _ = writeln!(t, "\nThe run {name} has no segments: use `promp run --monitor` for both.");
        }
    }
    let all = pairs(a, b);
    if all.is_empty() {
        return t;
    }
    let _ = writeln!(
        t,
        "\n{:>10} {:>10} {:>9}  {:>8} {:>8}  segment (WRE: what perfect balance would save)",
        "before", "after", "change", "WRE", "WRE"
    );
    for p in all.iter().take(most) {
        let _ = writeln!(t, "{}", p.line());
    }
    notes(&mut t, a, b);
    if all.len() > most {
        let _ = writeln!(t, "{} segments more (--segments {} shows all)", all.len() - most, all.len());
    }
    t
}

/// What could not be found of either.
fn notes(t: &mut String, a: &Picture, b: &Picture) {
    for (name, p) in [("before", a), ("after", b)] {
        for note in &p.notes {
            let _ = writeln!(t, "note ({name}): {note}");
        }
    }
}

/// "-12.3 %": from `x` to `y`.
fn change(x: f64, y: f64) -> String {
    match (x == y, x == 0.0) {
        (true, _) => "=".into(),
        (_, true) => "new".into(),
        _ => match fixed((y / x - 1.0) * 100.0, 1) {
            zero if zero == "0.0" => "=".into(),
            less if less.starts_with('-') => format!("{less} %"),
            more => format!("+{more} %"),
        },
    }
}

/// The change as JSON.
pub fn json(a: &Picture, b: &Picture) -> Value {
    let segments: Vec<Value> = pairs(a, b)
        .iter()
        .map(|p| {
            let side = |r: Option<&Row>| {
                r.map(|r| {
                    json!({ "wall_s": r.wall_s, "wre": r.segment.wre, "gain_s": r.segment.gain_s, "at": r.at,
                    "visits": r.segment.visits, "schedule": r.segment.schedule })
                })
            };
            json!({ "function": p.row().map(|r| &r.name), "at": p.row().map(|r| &r.at),
                "before": side(p.before), "after": side(p.after) })
        })
        .collect();
    let side = |p: &Picture| {
        let r = &p.report;
        json!({ "program": r.program, "wall_s": r.wall_s, "threads": r.threads, "failures": r.failures.len(),
            "checkpoints": r.checkpoints.len(), "efficiency": r.efficiency })
    };
    json!({ "before": side(a), "after": side(b), "segments": segments })
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!([change(1.0, 1.0 - 1e-6), change(1.0, 1.0), change(-0.0, 1.0)], ["=", "=", "new"]);
        assert_eq!([change(1.0, 1.5), change(2.0, 1.0)], ["+50.0 %", "-50.0 %"]);
    }
}
