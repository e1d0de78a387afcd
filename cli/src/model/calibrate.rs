//! `promp model calibrate`.

use super::costs::Costs;
use super::programs::Programs;
use super::{load_note, time};
use crate::args::Calibrate;
use crate::{Failure, Outcome};

/// Measures, prints, keeps.
pub fn calibrate(c: &Calibrate) -> Outcome {
    let threads = c.threads.unwrap_or_else(super::cpus).max(2);
    let costs = Costs::measure(&Programs::build()?, threads, c.rounds)?;
    let file = c.output.clone().or_else(Costs::usual_file);
    if let Some(f) = &file {
        if let Some(folder) = f.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        super::write(f, &costs.text())?;
    }
    if c.json {
        let list: Vec<_> = costs
            .0
            .iter()
            .map(|(what, threads, s, scatter)| {
                serde_json::json!({ "what": what, "threads": threads, "seconds": s, "scatter": scatter })
            })
            .collect();
        println!("{}", serde_json::Value::from(list));
        return Ok(());
    }
    println!("{:<10} {:>7} {:>12} {:>9}", "cost of", "threads", "median", "scatter");
    for (what, threads, s, scatter) in &costs.0 {
        println!("{what:<10} {threads:>7} {:>12} {:>7.0} %", time(*s), scatter * 100.0);
    }
    if let Some(note) = load_note() {
        println!("{note}");
    }
    match file {
        Some(f) => println!("kept in {}", f.display()),
        None => return Err(Failure::new(74, "there is no HOME to keep them in; name a file with -o")),
    }
    Ok(())
}
