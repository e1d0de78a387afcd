//! `promp inspect`: what a checkpoint directory holds.

use crate::sober::sober;
use crate::{Failure, Outcome, args};
use indicatif::{ProgressBar, ProgressStyle};
use promp_image::{Directory, Generation, PAGE, Word};
use serde::Serialize;

#[derive(Serialize)]
struct Seen {
    generation: u64,
    problem: Option<String>,
    verified: bool,
    pages: usize,
    bytes: usize,
    about: Option<promp_image::Description>,
}

/// Shows the generations; fails if none can be used.
pub fn inspect(i: &args::Inspect) -> Outcome {
    let d = Directory::open(&i.dir).map_err(|e| Failure::new(66, e))?;
    let seen: Vec<Seen> = d.generations().into_iter().map(|n| look(&d, n, i)).collect();
    if i.json {
        let failed = |e: serde_json::Error| Failure::new(74, e.to_string());
        let mut all = serde_json::to_value(&seen).map_err(failed)?;
        if !i.env {
            // Not an empty list: it is not known to whoever reads this.
            let abouts = all.as_array_mut().into_iter().flatten().filter_map(|s| s.get_mut("about"));
            abouts.filter_map(|a| a.as_object_mut()).for_each(|a| drop(a.remove("environment")));
        }
        println!("{}", sober(&serde_json::to_string_pretty(&all).map_err(failed)?));
    } else {
        println!(
            "{}: {} generations, page store of {}",
            i.dir.display(),
            seen.len(),
            size(d.store_bytes() as usize)
        );
        if d.finished() {
            println!("The program has ended by itself: there is nothing to continue.");
        }
        seen.iter().for_each(|s| show(s, i.env));
    }
    if seen.iter().any(|s| s.problem.is_none()) {
        Ok(())
    } else {
        Err(Failure::new(66, format!("{} holds no checkpoint that is whole", i.dir.display())))
    }
}

fn look(d: &Directory, n: u64, i: &args::Inspect) -> Seen {
    let verify = |g: Generation| -> Result<Generation, String> {
        if i.verify {
            let style = ProgressStyle::with_template("checkpoint {msg}: {bar:40} {pos}/{len} pages");
            let bar = ProgressBar::new(g.index.len() as u64).with_message(n.to_string());
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            d.verify(&g, |k| bar.set_position(k as u64))?;
            bar.finish_and_clear();
        }
        Ok(g)
    };
    match d.read(n).and_then(verify) {
        Ok(g) => Seen {
            generation: n,
            problem: None,
            verified: i.verify,
            pages: g.index.len(),
            bytes: g.index.len() * PAGE,
            about: Some(g.about),
        },
        Err(e) => Seen { generation: n, problem: Some(e), verified: false, pages: 0, bytes: 0, about: None },
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A line of what an image says.
fn say(line: String) {
    println!("{}", sober(&line));
}

fn show(s: &Seen, environment: bool) {
    println!();
    if let Some(p) = &s.problem {
        say(format!("checkpoint {}: not usable: {p}", s.generation));
        return;
    }
    let Some(a) = &s.about else { return };
    let word = if s.verified { "every page verified" } else { "header, description and index verified" };
    say(format!("checkpoint {}: {} in {} pages; {word}", s.generation, size(s.bytes), s.pages));
    say(format!("  program     {}", a.arguments.iter().map(Word::to_string).collect::<Vec<_>>().join(" ")));
    say(format!("  taken       {:.1} s after its start, in region {}", a.at_s.0, a.region));
    let another = if a.alone { "; in serial code (promp restart --threads N)" } else { "" };
    say(format!("  threads     {} saved, regions of {}{another}", a.contexts.len(), a.threads));
    let dead: usize = a.dead.iter().map(|r| r.1.saturating_sub(r.0)).fold(0, usize::saturating_add);
    if dead > 0 {
        say(format!("  left out    {} that were dead where it was taken", size(dead)));
    }
    let private = a
        .maps
        .iter()
        .filter(|m| !m.shared)
        .map(|m| m.end.saturating_sub(m.start))
        .fold(0, usize::saturating_add);
    say(format!(
        "  mappings    {} ({} of address space), {} files",
        a.maps.len(),
        size(private),
        a.mapped.len()
    ));
    for f in a.files.iter().filter(|f| f.regular) {
        let saved = if f.content.is_some() { ", saved" } else { "" };
        say(format!(
            "  open file   {} {} at {} of {}{saved}",
            f.fd,
            f.path,
            f.offset,
            size(f.length as usize)
        ));
    }
    if environment {
        a.environment.iter().for_each(|line| say(format!("  environment {line}")));
    }
}
