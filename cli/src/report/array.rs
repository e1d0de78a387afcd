//! The reports of many runs, as a job array leaves them: one table, a row a run.

use super::columns::{Columns, number, text};
use super::file::load;
use super::picture::Picture;
use super::symbolizer::{Places, base};
use crate::Failure;
use promp_report::numbers::{percent, seconds};
use promp_report::{Loss, Report};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// One of the runs.
pub(crate) struct Run {
    /// The file, as far as it differs from the others.
    name: String,
    report: Report,
    losses: Vec<Loss>,
}

/// The reports that `files` are, and those in the folders among them.
pub(crate) fn runs(files: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let mut found = Vec::new();
    for f in files {
        if f.is_dir() { in_folder(f, &mut found)? } else { found.push((f.clone(), load(f)?)) }
    }
    found.sort_by(|a, b| natural(&a.0.to_string_lossy(), &b.0.to_string_lossy()));
    let parent = common_folder(&found);
    let mut places = Places::default();
    let mut run = |(file, report): (PathBuf, Report)| {
        let name = file.strip_prefix(&parent).unwrap_or(&file).display().to_string();
        let Picture { report, losses, .. } = Picture::with(report, &mut places);
        Run { name, report, losses }
    };
    Ok(found.into_iter().map(&mut run).collect())
}

/// The reports in a folder, and in folders in it: files that end with `.json` and are reports.
fn in_folder(folder: &Path, found: &mut Vec<(PathBuf, Report)>) -> Result<(), Failure> {
    let entries = |at: &Path| -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(at)?.map(|e| e.map(|e| e.path())).collect()
    };
    let cannot = |e: std::io::Error| Failure::new(66, format!("{} cannot be read: {e}", folder.display()));
    let (before, mut others) = (found.len(), 0);
    let all = entries(folder).map_err(cannot)?;
    let (folders, mut files): (Vec<_>, Vec<_>) = all.into_iter().partition(|p| p.is_dir());
    // A folder that cannot be read within is none of a report's.
    files.extend(folders.iter().filter_map(|f| entries(f).ok()).flatten().filter(|p| p.is_file()));
    for file in files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "json")) {
        match load(&file) {
            Ok(report) => found.push((file, report)),
            Err(_) => others += 1,
        }
    }
    if found.len() == before {
        let what =
            format!("{} has no report: looked for are files *.json, also one folder below", folder.display());
        return Err(Failure::new(
            66,
            if others > 0 { format!("{what}; {others} are none of promp's") } else { what },
        ));
    }
    Ok(())
}

/// What all of them lie in.
fn common_folder(found: &[(PathBuf, Report)]) -> PathBuf {
    let mut folders = found.iter().filter_map(|f| f.0.parent());
    let first = folders.next().unwrap_or(Path::new("")).to_owned();
    folders.fold(first, |common, f| {
        common.components().zip(f.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    })
}

/// In the order of the numbers in them: run2 before run10.
fn natural(a: &str, b: &str) -> Ordering {
    let key = |s: &str| -> Vec<(bool, u64, String)> {
        s.as_bytes()
            .chunk_by(|x, y| x.is_ascii_digit() == y.is_ascii_digit())
            .map(|part| {
                let text = String::from_utf8_lossy(part).into_owned();
                match text.parse::<u64>() {
                    Ok(n) => (false, n, String::new()),
                    Err(_) => (true, 0, text),
                }
            })
            .collect()
    };
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

/// The table.
pub(crate) fn table(runs: &[Run]) -> String {
    let heads = [
        text("run"),
        text("program"),
        number("threads"),
        number("wall time"),
        number("regions"),
        number("failures"),
        number("survived"),
        number("checkpoints"),
        number("stood still"),
        number("parallel efficiency"),
        number("load balance"),
        text("most lost by"),
    ];
    let one = runs.iter().all(|r| r.report.program == runs[0].report.program);
    let row = |r: &Run| {
        let first = r.losses.first();
        let lost = first.map_or(String::new(), |l| format!("{}, {}", l.cause, percent(l.share)));
        let (name, r) = (r.name.clone(), &r.report);
        let efficiency = |f: fn(&promp_report::Efficiency) -> f64| {
            r.efficiency.as_ref().map_or(String::new(), |e| percent(f(e)))
        };
        vec![
            name,
            if one { String::new() } else { base(&r.program).to_owned() },
            r.threads.to_string(),
            seconds(r.wall_s),
            r.regions.to_string(),
            r.failures.len().to_string(),
            r.failures.iter().filter(|f| f.recovery != "refused").count().to_string(),
            r.checkpoints.len().to_string(),
            seconds(r.checkpoints.iter().fold(0.0, |a, c| a + c.stop_s)),
            efficiency(|e| e.parallel),
            efficiency(|e| e.load_balance),
            lost,
        ]
    };
    let mut walls: Vec<f64> = runs.iter().map(|r| r.report.wall_s).collect();
    walls.sort_by(f64::total_cmp);
    let program = if one { format!(" of {}", runs[0].report.program) } else { String::new() };
    format!(
        "{}\n{} runs{program}; wall time {} to {}, the median {}\n",
        Columns::new(&heads, runs.iter().map(row).collect()).text(),
        runs.len(),
        seconds(walls[0]),
        seconds(walls[walls.len() - 1]),
        seconds(walls[walls.len() / 2])
    )
}

/// The same as one JSON line: a list of reports, each with its file.
pub(crate) fn json(runs: &[Run]) -> serde_json::Value {
    runs.iter().map(|r| serde_json::json!({ "run": r.name, "report": r.report })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_in_the_order_of_their_numbers() {
        let mut all = ["r10.json", "r9.json", "r1/report.json", "r1.json", "a", "r99999999999999999999999"];
        all.sort_by(|a, b| natural(a, b));
        assert_eq!(
            all,
            ["a", "r1.json", "r1/report.json", "r9.json", "r10.json", "r99999999999999999999999"]
        );
    }
}
