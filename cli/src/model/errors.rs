//! The table of errors: each model's, over all rows that it has, beside what it is held to.

use super::check::Row;

/// A model and what it is held to: the error in the median and at the 90th percentile, in per cent.
struct Held {
    name: &'static str,
    model: &'static str,
    seen: bool,
    most: [f64; 2],
}

const HELD: [Held; 4] = [
    Held { name: "DOALL, seen", model: "DOALL", seen: true, most: [5.0, 15.0] },
    Held { name: "DOALL, not seen", model: "DOALL", seen: false, most: [10.0, 25.0] },
    Held { name: "DOACROSS", model: "DOACROSS", seen: false, most: [10.0, 25.0] },
    Held { name: "DSWP", model: "DSWP", seen: false, most: [15.0, 30.0] },
];
/// So many per cent of the measurements lie in intervals that are to hold 90.
const COVERED: [f64; 2] = [85.0, 95.0];

/// The element below which that part of all lies, rounded to one that there is.
fn at(part: f64, mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[((all.len() - 1) as f64 * part).round() as usize]
}

/// The lines of the table; rows with more threads than CPUs are not in it.
pub fn table(rows: &[Row]) -> Vec<String> {
    let head = ["|error|", "rows", "median", "90th", "covered", "P2: median", "90th"];
    let [a, b, c, d, e, f, g] = head;
    let mut lines = vec![format!("{a:<22} {b:>5} {c:>9} {d:>9} {e:>9} {f:>12} {g:>9}  held to")];
    for held in &HELD {
        let here = |r: &&Row| r.model == held.model && r.seen == held.seen && !r.oversubscribed;
        let of: Vec<&Row> = rows.iter().filter(here).collect();
        if of.is_empty() {
            continue;
        }
        let errors = |error: fn(&Row) -> f64| -> [f64; 2] {
            [0.5, 0.9].map(|part| at(part, of.iter().map(|r| error(r).abs() * 100.0).collect()))
        };
        let (own, papers) = (errors(|r| r.error), errors(|r| r.baseline_error));
        let covered = of.iter().map(|r| r.covered).sum::<f64>() / of.len() as f64 * 100.0;
        let mut missed = vec![];
        for (what, error, most) in [("median", own[0], held.most[0]), ("90th", own[1], held.most[1])] {
            if error > most {
                missed.push(what);
            }
        }
        if !(COVERED[0]..=COVERED[1]).contains(&covered) {
            missed.push("covered");
        }
        let missed = if missed.is_empty() { "held".into() } else { format!("missed: {}", missed.join(", ")) };
        let bars =
            format!("{:.0}, {:.0}, {:.0} to {:.0}", held.most[0], held.most[1], COVERED[0], COVERED[1]);
        let own = format!("{:>7.1} % {:>7.1} % {covered:>7.0} %", own[0], own[1]);
        let papers = format!("{:>10.1} % {:>7.1} %", papers[0], papers[1]);
        lines.push(format!("{:<22} {:>5} {own} {papers}  {bars}: {missed}", held.name, of.len()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(model: &'static str, seen: bool, error: f64, covered: f64) -> Row {
        Row {
            model,
            name: String::new(),
            threads: 2,
            process: 0,
            seen,
            oversubscribed: false,
            predicted_s: 1.0 + error,
            interval_s: [0.5, 1.5],
            measured_s: 1.0,
            error,
            covered,
            baseline_s: 1.5,
            baseline_error: 2.0 * error,
        }
    }

    #[test]
    fn errors_by_hand() {
        // Sorted without their signs: 1 to 11 %. The sixth is the median, the tenth the 90th percentile.
        let errors = [-0.11, 0.02, -0.03, 0.04, 0.01, -0.06, 0.07, 0.05, 0.09, -0.08, 0.10];
        let mut rows: Vec<Row> = errors.iter().map(|e| row("DOACROSS", false, *e, 0.9)).collect();
        // Not among them.
        rows.push(Row { oversubscribed: true, ..row("DOACROSS", false, 9.0, 0.0) });
        rows.extend([row("DSWP", false, -0.2, 0.9), row("DOALL", true, 0.04, 1.0)]);
        let lines: Vec<String> =
            table(&rows).iter().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines[1..],
            [
                "DOALL, seen 1 4.0 % 4.0 % 100 % 8.0 % 8.0 % 5, 15, 85 to 95: missed: covered",
                "DOACROSS 11 6.0 % 10.0 % 90 % 12.0 % 20.0 % 10, 25, 85 to 95: held",
                "DSWP 1 20.0 % 20.0 % 90 % 40.0 % 40.0 % 15, 30, 85 to 95: missed: median",
            ]
        );
    }
}
