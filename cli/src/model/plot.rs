//! Plots as SVG, self-contained: bars of predicted and measured times, and curves over threads.

use super::time;
use std::fmt::Write;

/// A prediction beside a measurement.
pub struct Bar {
    /// What it is.
    pub name: String,
    /// Oversubscribed.
    pub marked: bool,
    /// Seconds.
    pub measured: f64,
    /// Seconds.
    pub predicted: f64,
    /// Of the prediction.
    pub interval: [f64; 2],
    /// P2's.
    pub baseline: f64,
}

/// A time at a number of threads.
pub struct Point {
    /// Threads.
    pub threads: u32,
    /// Seconds.
    pub mean: f64,
    /// 90 %.
    pub interval: [f64; 2],
    /// Was it measured, not extrapolated?
    pub seen: bool,
}

const STYLE: &str = "<style>text{font:12px sans-serif;fill:#222}.m{fill:#4477aa}.p{fill:#ee6677}\
.b{fill:#bbbbbb}\
.i{stroke:#222;stroke-width:1.2}.g{stroke:#ddd}.band{fill:#ee6677;opacity:.2}\
.line{fill:none;stroke:#ee6677;stroke-width:2}\
.dot{fill:#4477aa}.open{fill:#fff;stroke:#ee6677;stroke-width:2}rect.bg{fill:#fff}</style>";

fn escaped(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn begin(title: &str, width: f64, height: f64) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>{STYLE}<rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>\n\
         <text x=\"10\" y=\"20\" style=\"font-weight:bold\">{title}</text>\n"
    )
}

/// What the colours of bars mean, from x = `left` on.
fn legend(s: &mut String, left: f64) {
    for (i, (class, name)) in
        [("m", "measured"), ("p", "predicted, 90 % interval"), ("b", "P2's formula")].iter().enumerate()
    {
        let at = left + 190.0 * i as f64;
        let _ = writeln!(
            s,
            "<rect class=\"{class}\" x=\"{at}\" y=\"30\" width=\"12\" height=\"12\"/><text x=\"{}\" \
            y=\"41\">{name}</text>",
            at + 18.0
        );
    }
}

/// Lying bars, a group a row: measured, predicted with its interval, P2's formula. The axis is logarithmic.
pub fn bars(title: &str, rows: &[Bar]) -> String {
    let (left, right, top, group): (f64, f64, f64, f64) = (260.0, 900.0, 60.0, 34.0);
    let all = || rows.iter().flat_map(|r| [r.measured, r.predicted, r.baseline]).filter(|t| *t > 0.0);
    let least = all().fold(f64::INFINITY, f64::min).log10().floor();
    let most = all().fold(0.0, f64::max).log10().ceil().max(least + 1.0);
    let x =
        |t: f64| left + (right - left) * ((t.max(1e-12).log10() - least) / (most - least)).clamp(0.0, 1.0);
    let height = top + group * rows.len() as f64 + 40.0;
    let mut s = begin(title, 960.0, height);
    legend(&mut s, left);
    for d in least as i32..=most as i32 {
        let at = x(10f64.powi(d));
        let _ = writeln!(
            s,
            "<line class=\"g\" x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{:.1}\"/><text x=\"{at:\
            .1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - 30.0,
            height - 12.0,
            time(10f64.powi(d))
        );
    }
    for (i, r) in rows.iter().enumerate() {
        let y = top + group * i as f64;
        let mark = if r.marked { " (oversubscribed)" } else { "" };
        let _ = writeln!(
            s,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}{mark}</text>",
            left - 8.0,
            y + 18.0,
            escaped(&r.name)
        );
        for (k, (class, t)) in
            [("m", r.measured), ("p", r.predicted), ("b", r.baseline)].into_iter().enumerate()
        {
            let _ = writeln!(
                s,
                "<rect class=\"{class}\" x=\"{left}\" y=\"{:.1}\" width=\"{:\
                .1}\" height=\"8\"><title>{}</title></rect>",
                y + 2.0 + 9.0 * k as f64,
                x(t) - left,
                time(t)
            );
        }
        let _ = writeln!(
            s,
            "<line class=\"i\" x1=\"{:.1}\" y1=\"{y1:.1}\" x2=\"{:.1}\" y2=\"{y1:.1}\"/>",
            x(r.interval[0]),
            x(r.interval[1]),
            y1 = y + 15.0
        );
    }
    s + "</svg>\n"
}

/// Time over threads, with the interval as a band; filled dots were measured.
pub fn curve(title: &str, points: &[Point]) -> String {
    let (left, right, top, bottom): (f64, f64, f64, f64) = (80.0, 740.0, 50.0, 380.0);
    let most = points.iter().map(|p| p.interval[1].max(p.mean)).fold(1e-12, f64::max);
    let last = f64::from(points.iter().map(|p| p.threads).max().unwrap_or(2)).log2().max(1.0);
    let x = |p: u32| left + (right - left) * f64::from(p).log2() / last;
    let y = |t: f64| bottom - (bottom - top) * t / most;
    let mut s = begin(title, 780.0, 430.0);
    for i in 0..=4 {
        let t = most * f64::from(i) / 4.0;
        let _ = writeln!(
            s,
            "<line class=\"g\" x1=\"{left}\" y1=\"{0:.1}\" x2=\"{right}\" y2=\"{0:.1}\"/>\
            <text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(t),
            left - 6.0,
            y(t) + 4.0,
            time(t)
        );
    }
    let at = |p: &Point, t: f64| format!("{:.1},{:.1}", x(p.threads), y(t));
    let upper = points.iter().map(|p| at(p, p.interval[1]));
    let band: Vec<String> = upper.chain(points.iter().rev().map(|p| at(p, p.interval[0]))).collect();
    let line: Vec<String> = points.iter().map(|p| at(p, p.mean)).collect();
    let _ = writeln!(
        s,
        "<polygon class=\"band\" points=\"{}\"/><polyline class=\"line\" points=\"{}\"/>",
        band.join(" "),
        line.join(" ")
    );
    for p in points {
        let _ = writeln!(
            s,
            "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{:\
            .1}\" r=\"5\"><title>{} threads: {}</title></circle><text x=\"{1:.1}\" y=\"{5}\" \
            text-anchor=\"middle\">{3}</text>",
            if p.seen { "dot" } else { "open" },
            x(p.threads),
            y(p.mean),
            p.threads,
            time(p.mean),
            bottom + 18.0
        );
    }
    let _ = writeln!(
        s,
        "<text x=\"{}\" y=\"{}\" \
        text-anchor=\"middle\">threads (filled: seen in the run, open: extrapolated)</text>",
        (left + right) / 2.0,
        bottom + 38.0
    );
    s + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_closed_and_escaped() {
        let b = Bar {
            name: "a<b".into(),
            marked: true,
            measured: 1e-3,
            predicted: 2e-3,
            interval: [1e-3, 3e-3],
            baseline: 0.0,
        };
        let s = bars("x & y", &[b]);
        assert!(
            s.starts_with("<svg")
                && s.ends_with("</svg>\n")
                && s.contains("a&lt;b")
                && s.contains("x &amp; y")
        );
        let p = |threads, seen| Point { threads, mean: 1.0, interval: [0.5, 2.0], seen };
        let s = curve("t", &[p(1, true), p(2, false)]);
        assert!(s.contains("class=\"dot\"") && s.contains("class=\"open\"") && !s.contains("NaN"));
    }
}
