//! `promp report`: a report as text, as a page, as a trace, or beside another one.
//!
//! All views show the same [`picture`]: the report's segments with the names that [`places`] finds and what
//! [`advice`] says of them.

pub mod advice;
mod array;
mod chrome;
mod columns;
mod construct;
mod diff;
pub mod file;
mod html;
mod last_calls;
mod losses;
pub mod picture;
mod region_body;
pub mod symbolizer;
pub mod text;
mod verdicts;

use file::load;

use crate::args;
use crate::{Failure, Outcome};
use picture::Picture;
use std::path::Path;

/// Shows a report as it was asked for.
pub fn report(r: &args::Report) -> Outcome {
    if let Some(files) = &r.diff {
        let [a, b] = [&files[0], &files[1]].map(|f| load(f).map(Picture::new));
        let (a, b) = (a?, b?);
        if r.json {
            println!("{}", diff::json(&a, &b));
        } else {
            anstream::print!("{}", diff::text(&a, &b, r.segments));
        }
        return Ok(());
    }
    let file = match &r.files[..] {
        [] => return Err(Failure::new(64, "which report? Give its file, or two with --diff")),
        [one] if !one.is_dir() => one,
        several => return many(r, several),
    };
    if r.explain {
        let report = load(file)?;
        if let Some(why) = &report.why {
            let program = &report.program;
            return Err(Failure::new(65, format!("there is nothing to explain of {program}: {why}")));
        }
        anstream::print!("{}", verdicts::explanation(&report));
        return Ok(());
    }
    let picture = Picture::new(load(file)?);
    let mut written = false;
    if let Some(out) = &r.html {
        write(out, html::page(&picture).as_bytes())?;
        written = true;
    }
    if let Some(out) = &r.trace {
        let Some(trace) = chrome::trace(&picture) else {
            return Err(Failure::new(
                65,
                format!(
                    "{} has no trace: run the program with `promp run --monitor=trace` (PROMP_MONITOR=trace)",
                    file.display()
                ),
            ));
        };
        write(out, trace.to_string().as_bytes())?;
        written = true;
    }
    if r.json {
        let json = serde_json::to_string(&picture.report).map_err(|e| Failure::new(74, e.to_string()))?;
        println!("{json}");
    } else if !written {
        anstream::print!("{}", text::summary(&picture, r.segments));
    }
    Ok(())
}

/// The table of several reports.
fn many(r: &args::Report, files: &[std::path::PathBuf]) -> Outcome {
    let one = [(r.html.is_some(), "--html"), (r.trace.is_some(), "--trace"), (r.explain, "--explain")];
    if let Some((_, option)) = one.iter().find(|o| o.0) {
        return Err(Failure::new(
            64,
            format!("{option} is about one report: give its file, not several or a folder"),
        ));
    }
    let runs = array::runs(files)?;
    if r.json {
        println!("{}", array::json(&runs));
    } else {
        print!("{}", array::table(&runs));
    }
    Ok(())
}

/// Longer than a program's source is, in bytes.
const SOURCE: u64 = 16 << 20;
/// Longer than a module that is looked into, in bytes.
const MODULE: u64 = 768 << 20;

/// Writes a view beside its name and renames it: what was there stays whole until the new one is.
fn write(out: &Path, bytes: &[u8]) -> Outcome {
    let failed = |e: std::io::Error| Failure::new(74, format!("{} cannot be written: {e}", out.display()));
    if out.as_os_str() == "-" {
        use std::io::Write;
        return std::io::stdout().write_all(bytes).map_err(failed);
    }
    promp_files::replace(out, bytes).map_err(failed)
}
