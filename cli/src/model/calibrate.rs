//! `promp model calibrate`.

use super::costs::Costs;
use super::machine_residuals::Learned;
use super::programs::Programs;
use super::{load_note, time};
use crate::args::{Calibrate, ModelLoop};
use crate::{Failure, Outcome};

/// Measures, prints, keeps.
pub fn calibrate(c: &Calibrate) -> Outcome {
    let threads = c.threads.unwrap_or_else(super::cpus).max(2);
    let programs = Programs::build()?;
    let costs = Costs::measure(&programs, threads, c.rounds)?;
    let up_to: Vec<u32> = (1..=threads).filter(|p| *p <= 4 || p.is_power_of_two() || *p == threads).collect();
    let loops = [ModelLoop::Jacobi, ModelLoop::Wavefront];
    let learned = Learned::measure(&programs, &up_to, c.rounds, &loops, false)?;
    let file = c.output.clone().or_else(Costs::usual_file);
    if let Some(f) = &file {
        if let Some(folder) = f.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        super::write(f, &(costs.text() + &learned.text()))?;
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
    for (p, m) in learned.scaling() {
        println!(
            "loops in memory take {:.3} as long beside {} other thread{}: {:.3} to {:.3} for nine of ten",
            m.mean,
            p - 1,
            if p == 2 { "" } else { "s" },
            m.low,
            m.high
        );
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
