//! `promp top`: a running program's threads and segments, as it runs.
//!
//! The program keeps its figures in a file in memory ([`promp_report::live`]); looking at them does not stop
//! it and costs it nothing.

mod find;
mod live_picture;
mod view;

use crate::args::Top;
use crate::report::symbolizer::Places;
use crate::report::text;
use crate::{Failure, Outcome};
use find::Watched;
use live_picture::Shown;
use promp_report::live::Snapshot;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use view::Choice;

/// Shows a running program.
pub fn top(t: &Top) -> Outcome {
    let watched = find::find(t.pid)?;
    let mut places = Places::default();
    if t.json || t.once || !std::io::stdout().is_terminal() {
        let now = watched.snapshot()?;
        let s = live_picture::shown(
            watched.pid,
            &now,
            live_picture::now_ns(),
            None,
            now.header.ended_ns > 0,
            &mut places,
        );
        if t.json {
            println!("{}", live_picture::json(&s));
        } else {
            anstream::print!("{}", once(&s, t.segments));
        }
        return Ok(());
    }
    let mut terminal = ratatui::try_init().map_err(|e| {
        Failure::new(74, format!("the terminal cannot be used: {e}; --once prints the same as text"))
    })?;
    let outcome = watch(&watched, &mut places, &mut terminal, t.every);
    ratatui::restore();
    outcome
}

/// The same as text.
fn once(s: &Shown, most: usize) -> String {
    use std::fmt::Write;
    let c = &s.counts;
    let mut t = String::new();
    let _ = writeln!(
        t,
        "program    {} (pid {}){}",
        s.picture.report.program,
        s.picture.report.pid,
        if s.ended { ", ended" } else { "" }
    );
    let _ = writeln!(
        t,
        "so far     {}, {} threads, {} regions, {} failures, {} checkpoints, {} rollbacks",
        promp_report::numbers::seconds(s.seconds),
        s.picture.report.threads,
        c.regions,
        c.failures,
        c.checkpoints,
        c.rollbacks
    );
    for th in &s.threads {
        let _ = writeln!(t, "thread {:>3} {:<8} {}", th.read.number, th.state.word(), th.segment);
    }
    if s.picture.rows.is_empty() {
        t.push_str("segments   none so far: no parallel region has ended\n");
    } else {
        text::segments(&mut t, &s.picture, most);
    }
    t
}

/// The state of the watch between two looks.
struct Looks {
    now: (Snapshot, u64),
    before: Option<(Snapshot, u64)>,
    ended: bool,
}

impl Looks {
    /// Reads anew; when the process has gone the last state stays.
    fn again(&mut self, w: &Watched) -> Outcome {
        if self.ended {
            return Ok(());
        }
        let next = w.snapshot()?;
        self.ended = next.header.ended_ns > 0 || !w.alive(&next);
        let last = std::mem::replace(&mut self.now, (next, live_picture::now_ns()));
        self.before = Some(last);
        Ok(())
    }
}

fn watch(
    w: &Watched,
    places: &mut Places,
    terminal: &mut ratatui::DefaultTerminal,
    every: Duration,
) -> Outcome {
    let failed = |e: std::io::Error| Failure::new(74, format!("the terminal cannot be used: {e}"));
    let mut looks = Looks { now: (w.snapshot()?, live_picture::now_ns()), before: None, ended: false };
    let mut choice = Choice::default();
    let mut next = Instant::now() + every;
    loop {
        let before = if choice.interval { looks.before.as_ref().map(|(s, t)| (s, *t)) } else { None };
        let s = live_picture::shown(w.pid, &looks.now.0, looks.now.1, before, looks.ended, places);
        terminal.draw(|f| view::draw(f, &s, &mut choice)).map_err(failed)?;
        if !event::poll(next.saturating_duration_since(Instant::now())).map_err(failed)? {
            next = Instant::now() + every;
            if !choice.held {
                looks.again(w)?;
            }
        }
        while event::poll(Duration::ZERO).map_err(failed)? {
            let Event::Key(k) = event::read().map_err(failed)? else { continue };
            if k.kind == KeyEventKind::Release {
                continue;
            }
            match k.code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                KeyCode::Char('c') if k.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                KeyCode::Down | KeyCode::Char('j') => choice.row.select_next(),
                KeyCode::Up | KeyCode::Char('k') => choice.row.select_previous(),
                KeyCode::Home => choice.row.select_first(),
                KeyCode::End => choice.row.select_last(),
                KeyCode::Char('i') => choice.interval = !choice.interval,
                KeyCode::Char('s') => choice.by_time = !choice.by_time,
                KeyCode::Char('p') | KeyCode::Char(' ') => choice.held = !choice.held,
                _ => {}
            }
        }
    }
}
