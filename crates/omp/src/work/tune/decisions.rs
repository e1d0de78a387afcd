//! What the tuner adds to the report: its decisions, and what they say of the monitor's segments.

use super::site_table::{self, Key};
use super::{site_names, store};
use crate::icv::globals;
use crate::icv::settings::Constructs;
use promp_model::choice::Choice;
use promp_model::search::Search;
use promp_model::tuning_file::What;
use promp_report::{Report, Tuned};

/// Adds the decisions, and to each segment that one of them is about its own.
pub fn add(r: &mut Report) {
    if globals().promp.constructs != Constructs::Tuned {
        return;
    }
    let executed =
        |s: &site_table::Site, t: Tuned| Tuned { executions: s.executions().max(t.executions), ..t };
    let found = site_table::all()
        .filter_map(|s| s.search.with(|search| decision(&s.key, search)).map(|t| executed(s, t)));
    r.tuning = found.collect();
    for s in &mut r.segments {
        let Some(begin) = &s.begin else { continue };
        let here = |t: &&Tuned| {
            let file = begin.module.rsplit('/').next().unwrap_or_default();
            t.offset == begin.offset && (t.module == begin.build_id || t.module == file)
        };
        if let Some(t) = r.tuning.iter().filter(here).max_by_key(|t| t.executions) {
            let all = s.iterations as f64;
            s.predicted_s = t.predicted_s.map(|p| p * all);
            s.interval_s = t.interval_s.map(|i| i.map(|p| p * all));
            s.decision = Some(t.decision.clone()).filter(|d| !d.is_empty());
            s.advice = Some(t.advice.clone());
        }
    }
}

fn decision(key: &Key, s: &Search) -> Option<Tuned> {
    if s.is_fixed() {
        return None;
    }
    let (module, offset, function) = site_names::of(key.at, key.what == What::Loop)?;
    let predicted = s.predicted();
    Some(Tuned {
        what: if key.what == What::Loop { "loop" } else { "region" }.into(),
        function,
        module,
        offset,
        threads: key.threads,
        class: key.class,
        decision: s.settled().map(|c| c.to_string()).unwrap_or_default(),
        executions: s.executions(),
        searched: s.searched(),
        takes_s: s.usual(),
        own_s: s.own().unwrap_or(0.0),
        predicted_s: predicted.map(|p| p.mean),
        interval_s: predicted.map(|p| [p.low, p.high]),
        advice: advice(key, s, store::is_kept()),
    })
}

/// One line that is true.
fn advice(key: &Key, s: &Search, kept: bool) -> String {
    let Some(choice) = s.settled() else {
        return format!(
            "the search is not over after {} executions: run longer, or promp tune --runs",
            s.executions()
        );
    };
    if choice == Choice::GIVEN {
        return match s.own() {
            Some(_) => "the program's own way is as good as what was tried".into(),
            None => "nothing better is expected than the program's own way".into(),
        };
    }
    let how = match (key.what, choice.threads) {
        (What::Region, n) => format!("num_threads({n})"),
        (What::Loop, 1) => "one thread for this loop".into(),
        (What::Loop, _) => {
            format!("schedule({})", choice.schedule(1 << key.class, key.own, key.threads))
        }
    };
    let gain = match s.own() {
        Some(own) if own > 0.0 && s.usual() > 0.0 => less(s.usual() / own),
        _ => " was found to be better".into(),
    };
    let keep = if kept { "the tuning file has it" } else { "keep it with promp tune, or write it there" };
    format!("{how}{gain}: {keep}")
}

/// What a choice saves that takes `share` of the time of the program's own way.
pub(crate) fn less(share: f64) -> String {
    match (100.0 * (1.0 - share)).round() {
        percent if percent >= 1.0 => format!(" takes {percent} % less time"),
        _ => " takes as long as the program's own way".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use promp_model::Schedule;
    use promp_model::search::May;

    #[test]
    fn advice_is_what_was_measured() {
        let key =
            |what| Key { at: 1, class: 10, threads: 2, own: "dynamic,4".parse().expect("a schedule"), what };
        let mut s = Search::of_region(2);
        assert!(advice(&key(What::Region), &s, false).contains("not over after 0"));
        for _ in 0..8 {
            let plan = s.plan();
            s.done(plan.choice, 1, if plan.choice.threads == 1 { 1e-3 } else { 2e-3 });
        }
        let said = advice(&key(What::Region), &s, false);
        assert_eq!(said, "num_threads(1) takes 50 % less time: keep it with promp tune, or write it there");
        let may = May { schedule: true, threads: true };
        let choice = "dynamic,N/16".parse().expect("a choice");
        let s = Search::with_choice(2, Schedule::BLOCKS, may, choice, 1e-6);
        let said = advice(&key(What::Loop), &s, true);
        assert_eq!(said, "schedule(dynamic,64) was found to be better: the tuning file has it");
        let s = Search::with_choice(2, Schedule::BLOCKS, may, Choice::GIVEN, 1e-6);
        assert!(advice(&key(What::Loop), &s, true).contains("nothing better is expected"));
        assert_eq!(less(0.997), " takes as long as the program's own way");
        assert_eq!(less(0.986), " takes 1 % less time");
    }
}
