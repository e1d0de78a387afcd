//! The view in a terminal: a head, the threads, the segments, and what is behind the one that is chosen.

use super::live_picture::{Shown, Thread};
use crate::report::picture::{Row as Seg, Times};
use crate::report::symbolizer::base;
use promp_report::numbers::{percent, seconds};
use promp_report::words::State;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, TableState};

/// What the keys have set.
#[derive(Default)]
pub struct Choice {
    /// The segment that is chosen.
    pub row: TableState,
    /// Of the last interval only.
    pub interval: bool,
    /// Sorted by time instead of WRE.
    pub by_time: bool,
    /// Nothing is read anew.
    pub held: bool,
}

const BUSY: Color = Color::Blue;
const RUNTIME: Color = Color::Magenta;
const STOLEN: Color = Color::Red;
const WAIT: Color = Color::Yellow;

/// Draws all of it.
pub fn draw(f: &mut Frame, s: &Shown, choice: &mut Choice) {
    let threads = (s.threads.len() as u16 + 2).min(f.area().height / 3).max(3);
    let [head, top, middle, bottom, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(threads),
        Constraint::Min(5),
        Constraint::Length(5),
        Constraint::Length(1),
    ])
    .areas(f.area());
    f.render_widget(Paragraph::new(header(s, choice)), head);
    draw_threads(f, s, top);
    let rows = order(s, choice);
    draw_segments(f, s, &rows, choice, middle);
    draw_detail(f, choice.row.selected().and_then(|i| rows.get(i).copied()), bottom);
    let line = " q quit   ↑↓ choose   i interval or all   s order   p hold";
    f.render_widget(Paragraph::new(line).style(Style::new().add_modifier(Modifier::REVERSED)), keys);
}

fn header(s: &Shown, choice: &Choice) -> Vec<Line<'static>> {
    let r = &s.picture.report;
    let c = &s.counts;
    let failed = format!("{} failures, {} recovered", c.failures, c.recoveries);
    let mut second = vec![
        Span::raw(format!("{} regions   ", c.regions)),
        if c.failures > 0 { failed.red().bold() } else { failed.into() },
        Span::raw(format!("   {} checkpoints", c.checkpoints)),
    ];
    if let Some(t) = c.since_checkpoint {
        second.push(Span::raw(format!(", the last {} ago", seconds(t))));
    }
    second.push(Span::raw(format!("   {} rollbacks", c.rollbacks)));
    let what = match (s.ended, choice.held, choice.interval) {
        (true, _, _) => " ENDED ".reversed().bold(),
        (_, true, _) => " held ".reversed(),
        (_, _, true) => " last interval ".reversed(),
        _ => "since the start".into(),
    };
    vec![
        Line::from(vec![
            base(&r.program).to_owned().bold(),
            format!("  pid {}  {} threads  {}  ", r.pid, r.threads, seconds(s.seconds)).into(),
            what,
        ]),
        Line::from(second),
    ]
}

/// A bar of four colours, `width` columns for the whole.
fn bar(shares: [f64; 4], width: usize) -> Line<'static> {
    let mut spans = Vec::new();
    let (mut sum, mut drawn) = (0.0, 0);
    for (share, (glyph, colour)) in
        shares.iter().zip([("█", BUSY), ("▓", RUNTIME), ("▒", STOLEN), ("░", WAIT)])
    {
        sum += share;
        let to = ((sum * width as f64).round() as usize).min(width);
        spans.push(Span::styled(glyph.repeat(to.saturating_sub(drawn)), Style::new().fg(colour)));
        drawn = drawn.max(to);
    }
    Line::from(spans)
}

fn colour(s: State) -> Style {
    match s {
        State::Busy | State::Serial => Style::new().fg(BUSY),
        State::Waiting => Style::new().fg(WAIT),
        State::Runtime => Style::new().fg(RUNTIME),
        State::Failed => Style::new().fg(STOLEN).bold(),
        State::Stopped => Style::new().fg(STOLEN),
        State::Idle | State::Free => Style::new().dim(),
    }
}

fn draw_threads(f: &mut Frame, s: &Shown, area: Rect) {
    let room = usize::from(area.height.saturating_sub(2));
    let rows = s.threads.iter().take(room).map(|t: &Thread| {
        let name = if t.read.level > 1 {
            format!("{}.{}", t.read.level, t.read.number)
        } else {
            t.read.number.to_string()
        };
        Row::new([
            Cell::from(Line::from(name).right_aligned()),
            Cell::from(t.state.word()).style(colour(t.state)),
            Cell::from(bar(t.shares, 30)),
            Cell::from(Line::from(percent(t.shares[0])).right_aligned()),
            Cell::from(t.segment.clone()),
        ])
    });
    let more = s.threads.len().saturating_sub(room);
    let title = if more > 0 { format!(" threads ({more} more) ") } else { " threads ".into() };
    let widths = [
        Constraint::Length(5),
        Constraint::Length(8),
        Constraint::Length(30),
        Constraint::Length(7),
        Constraint::Min(10),
    ];
    let legend = Line::from(vec![
        " █".fg(BUSY),
        " working ".into(),
        "▓".fg(RUNTIME),
        " runtime ".into(),
        "▒".fg(STOLEN),
        " stolen ".into(),
        "░".fg(WAIT),
        " waiting ".into(),
    ])
    .right_aligned();
    let block = Block::new().borders(Borders::TOP).title(title).title(legend);
    f.render_widget(Table::new(rows, widths).block(block), area);
}

/// The segments in the order that was chosen.
fn order<'a>(s: &'a Shown, choice: &Choice) -> Vec<&'a Seg> {
    let mut rows: Vec<&Seg> = s.picture.rows.iter().collect();
    if choice.by_time {
        rows.sort_by(|a, b| b.total().sum().total_cmp(&a.total().sum()));
    }
    rows
}

fn draw_segments(f: &mut Frame, s: &Shown, all: &[&Seg], choice: &mut Choice, area: Rect) {
    let longest = all.iter().map(|r| r.total().sum()).fold(0.0, f64::max);
    let rows = all.iter().map(|r| {
        let t = r.total();
        let shares =
            [t.busy, t.runtime, t.stolen, t.wait].map(|x| if longest > 0.0 { x / longest } else { 0.0 });
        Row::new([
            Cell::from(Line::from(percent(r.segment.wre)).right_aligned()),
            Cell::from(bar(shares, 24)),
            Cell::from(Line::from(seconds(t.sum())).right_aligned()),
            Cell::from(Line::from(r.segment.visits.to_string()).right_aligned()),
            Cell::from(Line::from(vec![r.name.clone().bold(), format!("  {}", r.at).into()])),
        ])
    });
    let head = Row::new(["WRE", "threads' time", "", "visits", "segment"]).style(Style::new().dim());
    let widths = [
        Constraint::Length(7),
        Constraint::Length(24),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Min(20),
    ];
    let title = format!(" {} segments by {} ", all.len(), if choice.by_time { "time" } else { "WRE" });
    if all.is_empty() {
        let none = if s.ended { "no parallel region was measured" } else { "no parallel region so far" };
        f.render_widget(Paragraph::new(none).block(Block::new().borders(Borders::TOP).title(title)), area);
        return;
    }
    if choice.row.selected().is_none_or(|i| i >= all.len()) {
        choice.row.select(Some(0));
    }
    let table = Table::new(rows, widths)
        .header(head)
        .block(Block::new().borders(Borders::TOP).title(title))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    f.render_stateful_widget(table, area, &mut choice.row);
}

fn draw_detail(f: &mut Frame, row: Option<&Seg>, area: Rect) {
    let block = Block::new().borders(Borders::TOP);
    let Some(r) = row else {
        f.render_widget(block, area);
        return;
    };
    let most = r.threads.iter().map(|t| t.busy).fold(0.0, f64::max);
    let levels: String = r
        .threads
        .iter()
        .map(|t: &Times| if most > 0.0 { (t.busy / most * 7.0).round() as usize } else { 0 })
        .map(|l| ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][l.min(7)])
        .collect();
    let lines = vec![
        Line::from(format!("from {}; {}", r.between, r.kind)),
        Line::from(vec![
            "each thread works ".into(),
            levels.fg(BUSY),
            format!("  {} at most", seconds(most)).into(),
        ]),
        Line::from(format!("cause: {}", r.cause)),
        Line::from(format!("→ {}", r.advice)).bold(),
    ];
    f.render_widget(Paragraph::new(lines).block(block.title(format!(" {} {} ", r.name, r.at))), area);
}
