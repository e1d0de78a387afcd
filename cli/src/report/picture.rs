//! What all views of a report show: its segments with names, in the order of what their advice gives, those
//! of one function together, with a cause and advice each; and what the run lost.

use super::advice;
use super::construct;
use super::losses::{self, Account};
use super::symbolizer::{Place, Places, base};
use promp_report::{Loss, Report, Segment, Site};
use std::collections::HashMap;

/// A function of which nothing is known.
const UNKNOWN: &str = "(unknown function)";

/// A report with names.
pub struct Picture {
    /// The report.
    pub report: Report,
    /// Its segments: functions, and the segments of each, by what their advice gives.
    pub rows: Vec<Row>,
    /// What the run lost, the largest loss first.
    pub losses: Vec<Loss>,
    /// What could not be found, a sentence each.
    pub notes: Vec<String>,
}

/// A segment as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its index in the report.
    pub index: usize,
    /// The function that it is in.
    pub name: String,
    /// "solver.c:120", or an address.
    pub at: String,
    /// The address as a whole, with the path of its module: "/usr/lib/libapp.so.3+0x12c4".
    pub address: Option<String>,
    /// Source file and line of its name.
    pub source: Option<(String, u32)>,
    /// Who called the function, where it was inlined: "swap_u in main, mg.c:158".
    pub via: Option<String>,
    /// Where it begins and ends: "region (mg.c:150) to barrier (mg.c:155)".
    pub between: String,
    /// "loop, dynamic,4".
    pub kind: String,
    /// Busy, runtime, stolen, waiting of each thread, in seconds.
    pub threads: Vec<Times>,
    /// Wall time of its visits.
    pub wall_s: f64,
    /// What it lost, and by what.
    pub account: Account,
    /// What its advice can give at most, of the run's time, from 0 to 1.
    pub worth: f64,
    /// The cause in words.
    pub cause: String,
    /// What to do.
    pub advice: String,
    /// The segment itself.
    pub segment: Segment,
}

/// A thread's time in a segment, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// In the program's code, on a CPU.
    pub busy: f64,
    /// In the runtime.
    pub runtime: f64,
    /// The CPU was someone else's.
    pub stolen: f64,
    /// Waiting for others.
    pub wait: f64,
}

impl Times {
    /// All of it.
    pub fn sum(&self) -> f64 {
        self.busy + self.runtime + self.stolen + self.wait
    }

    /// Two together.
    pub fn plus(self, o: Self) -> Self {
        Self {
            busy: self.busy + o.busy,
            runtime: self.runtime + o.runtime,
            stolen: self.stolen + o.stolen,
            wait: self.wait + o.wait,
        }
    }
}

impl Picture {
    /// Names and orders the segments of a report.
    pub fn new(report: Report) -> Self {
        Self::with(report, &mut Places::default())
    }

    /// The same with what was found before.
    pub fn with(mut report: Report, places: &mut Places) -> Self {
        let wall = report.wall_s;
        let in_regions = report.segments.iter().filter(|s| !serial(s));
        let all_tp_s = in_regions.map(|s| s.tp_s).fold(0.0, |a, b| a + b);
        let sites = sites(&report.segments);
        let mut rows: Vec<Row> = (report.segments.iter_mut().zip(&sites))
            .enumerate()
            .map(|(index, (s, sites))| Row::new(index, s, sites, places).valued(wall, all_tp_s))
            .collect();
        order(&mut rows);
        let losses = losses::losses(&rows, &report);
        if let Some(e) = &mut report.efficiency {
            e.losses.clone_from(&losses);
        }
        for r in &rows {
            report.segments[r.index].advice.get_or_insert_with(|| r.advice.clone());
        }
        Self { report, rows, losses, notes: places.notes() }
    }

    /// The rows by function, in their order.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.function() == b.function())
    }

    /// All threads' time in segments of regions.
    pub fn times(&self) -> Times {
        let rows = self.rows.iter().filter(|r| !serial(&r.segment));
        rows.flat_map(|r| &r.threads).fold(Times::default(), |a, t| a.plus(*t))
    }
}

impl Row {
    /// Names a segment; what is found is kept in it, too.
    fn new(index: usize, s: &mut Segment, sites: &Sites, places: &mut Places) -> Self {
        let begin = sites.0.as_ref().map(|p| places.of(p, &s.from));
        let end = sites.1.as_ref().map(|p| places.of(p, &s.to));
        // Compilers give the call at the end of a construct the construct's own line; a region and serial
        // code are known by where they begin.
        let by_end = !["region end", "exit", "region"].contains(&s.to.as_str());
        let mut named = if by_end { end.clone().or(begin.clone()) } else { begin.clone().or(end.clone()) }
            .unwrap_or_default();
        if let (Some(f), Some(l), Some(site)) = (&named.file, named.line, &sites.1)
            && by_end
        {
            named.line = construct::line(f, l, &site.module).or(Some(l));
        }
        if s.function.is_none() {
            s.function = named.symbol.clone();
        }
        if s.file.is_none() && s.line.is_none() {
            (s.file, s.line) = (named.file.clone(), named.line);
        }
        let source = s.file.clone().zip(s.line);
        // A region's call may stand in a function that was inlined; serial code around it is its caller's as
        // well.
        let name = match (&named.function, &s.function) {
            _ if serial(s) => format!("serial code in {}", outermost(&named)),
            (Some(f), _) => f.clone(),
            (None, Some(f)) => super::symbolizer::readable(f),
            (None, None) => UNKNOWN.into(),
        };
        let kind = match &s.schedule {
            Some(k) => format!("{}, {k}", s.construct),
            None => s.construct.clone(),
        };
        let site = if by_end {
            sites.1.as_ref().or(sites.0.as_ref())
        } else {
            sites.0.as_ref().or(sites.1.as_ref())
        };
        let last = s.to == "region end" && s.from != "region" || by_end && end.is_none();
        Self {
            index,
            address: site.map(|s| format!("{}+{:#x}", s.module, s.offset)),
            at: if serial(s) { between(&begin, &end) } else { at(&source, &named, last) },
            name,
            source,
            via: via(&named),
            between: format!("{} to {}", synchronisation(&s.from, &begin), synchronisation(&s.to, &end)),
            kind,
            threads: times(s),
            wall_s: wall_of(s),
            cause: advice::cause(s),
            segment: s.clone(),
            ..Self::default()
        }
    }

    /// With what it has lost of a run that took `wall`, and whose slowest threads worked for `all_tp_s` in
    /// regions.
    fn valued(self, wall: f64, all_tp_s: f64) -> Self {
        let s = &self.segment;
        let account = Account::of(s, self.wall_s, all_tp_s);
        // The tuner's word is about how work is dealt.
        let cause = if s.advice.is_some() || s.decision.is_some() { "load_balance" } else { &s.cause };
        let worth = if wall > 0.0 { account.behind(cause) / wall } else { 0.0 };
        let row = Self { account, worth, ..self };
        Self { advice: advice::advice(&row), ..row }
    }

    /// The function that it is in; where that is not known, its place.
    pub(crate) fn function(&self) -> &str {
        if self.name == UNKNOWN { &self.at } else { &self.name }
    }

    /// The threads' time together.
    pub fn total(&self) -> Times {
        self.threads.iter().fold(Times::default(), |a, t| a.plus(*t))
    }

    /// The same segment in another run: what it is called, and which of the same name.
    pub fn identity(&self) -> (String, String, String) {
        let site =
            |s: &Option<promp_report::Site>| s.as_ref().map_or(String::new(), |s| base(&s.module).to_owned());
        let at = match &self.source {
            Some((f, l)) => format!("{}:{l}", base(f)),
            None => format!("{} {}", site(&self.segment.begin), self.at),
        };
        (self.name.clone(), at, format!("{} {}", self.segment.from, self.segment.to))
    }
}

/// Functions by what the advice on their segments gives together, then by their time; their segments
/// likewise.
fn order(rows: &mut [Row]) {
    let mut whole: HashMap<String, (f64, f64)> = HashMap::new();
    for r in rows.iter() {
        let sums = whole.entry(r.function().to_owned()).or_default();
        *sums = (sums.0 + r.worth, sums.1 + r.wall_s);
    }
    rows.sort_by(|a, b| {
        let (x, y) = (whole[a.function()], whole[b.function()]);
        (y.0.total_cmp(&x.0).then(y.1.total_cmp(&x.1)).then_with(|| a.function().cmp(b.function())))
            .then(b.worth.total_cmp(&a.worth))
            .then(b.wall_s.total_cmp(&a.wall_s))
            .then(a.index.cmp(&b.index))
    });
}

/// Where a segment begins and where it ends.
type Sites = (Option<Site>, Option<Site>);

/// The sites of segments, without those in the runtime itself: a barrier that is the last thing in a function
/// is jumped to, not called, and returns to the caller of that function, which is the runtime. What begins
/// there is known by where the segment before it began.
fn sites(segments: &[Segment]) -> Vec<Sites> {
    let ours = |s: &Site| {
        let name = base(&s.module);
        name.starts_with("libpromp.so") || s.module.ends_with("/promp/libgomp.so.1")
    };
    let outside = |s: &Option<Site>| s.clone().filter(|s| !ours(s));
    let before = |s: &Segment| {
        let begin = s.begin.as_ref().filter(|b| ours(b))?;
        segments.iter().filter(|p| p.end.as_ref() == Some(begin)).find_map(|p| outside(&p.begin))
    };
    segments.iter().map(|s| (outside(&s.begin).or_else(|| before(s)), outside(&s.end))).collect()
}

/// Code outside of regions.
pub fn serial(s: &Segment) -> bool {
    s.construct == "serial"
}

/// The function that a place lies in as the linker sees it.
fn outermost(p: &Place) -> String {
    match (p.callers.last(), &p.function) {
        (Some(c), _) if !c.0.is_empty() => c.0.clone(),
        (_, Some(f)) => f.clone(),
        _ => UNKNOWN.into(),
    }
}

/// Where a segment lies. The `last` piece of a region has no construct of its own to be named by.
fn at(source: &Option<(String, u32)>, named: &Place, last: bool) -> String {
    let at = match source {
        Some((f, l)) => format!("{}:{l}", base(f)),
        None => named.short(),
    };
    match (at.is_empty(), last) {
        (true, _) => "(unknown place)".into(),
        (_, true) => format!("after {at}"),
        _ => at,
    }
}

/// Where serial code lies: its own lines are not known, those of the regions around it are.
fn between(begin: &Option<Place>, end: &Option<Place>) -> String {
    match (begin, end) {
        (Some(b), Some(e)) if b.short() == e.short() => format!("between two visits of {}", b.short()),
        (Some(b), Some(e)) => format!("between {} and {}", b.short(), e.short()),
        (Some(b), None) => format!("after {}", b.short()),
        (None, Some(e)) => format!("before {}", e.short()),
        (None, None) => "(unknown place)".into(),
    }
}

/// "in main, mg.c:158".
fn via(p: &Place) -> Option<String> {
    let (name, file, line) = p.callers.first()?;
    Some(match (file, line) {
        (Some(f), Some(l)) => format!("in {name}, {}:{l}", base(f)),
        _ => format!("in {name}"),
    })
}

fn synchronisation(word: &str, place: &Option<Place>) -> String {
    match place {
        Some(p) => format!("{word} ({})", p.short()),
        None => word.to_owned(),
    }
}

/// The lists of a segment, which need not be of equal length in what a stranger wrote, by thread.
fn times(s: &Segment) -> Vec<Times> {
    let n = [&s.busy_s, &s.wait_s, &s.runtime_s, &s.stolen_s].map(Vec::len).into_iter().max().unwrap_or(0);
    let of = |v: &[f64], i: usize| v.get(i).copied().filter(|x| x.is_finite() && *x > 0.0).unwrap_or(0.0);
    (0..n)
        .map(|i| Times {
            busy: of(&s.busy_s, i),
            runtime: of(&s.runtime_s, i),
            stolen: of(&s.stolen_s, i),
            wait: of(&s.wait_s, i),
        })
        .collect()
}

fn wall_of(s: &Segment) -> f64 {
    s.wall_s.unwrap_or_else(|| times(s).iter().map(Times::sum).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_runtime_are_those_of_the_segment_before() {
        let site = |module: &str, offset| Some(Site { module: module.into(), offset, ..Site::default() });
        let segment = |begin, end| Segment { begin, end, ..Segment::default() };
        let (app, ours) = (site("/bin/app", 1), site("/lib/libpromp.so.0", 2));
        let all =
            [segment(app.clone(), ours.clone()), segment(ours.clone(), None), segment(None, app.clone())];
        assert_eq!(sites(&all), [(app.clone(), None), (app.clone(), None), (None, app)]);
    }
}
