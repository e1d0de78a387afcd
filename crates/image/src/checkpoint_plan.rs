//! A plan of checkpoints (PROMP_CKPT_PLAN): at which visits of its places the program takes them, as
//! `promp plan` has found out from the report of a run before.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the file.
pub const VERSION: u32 = 1;

/// A place: the call of `promp_potential_ckpt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// Path of the program or shared object.
    pub module: String,
    /// The call's return address less the module's load address.
    pub offset: u64,
}

/// The file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its version.
    pub promp_plan: u32,
    /// The program's file, its length and checksum.
    pub program: crate::MappedFile,
    /// The places.
    pub places: Vec<At>,
    /// The visits at which checkpoints are taken, in order: the number of the visit, and of its place.
    pub take: Vec<(u64, usize)>,
    /// Stretches of visits, first and last, in order, that are left to the rule without a plan. Files of
    /// older promps have none.
    #[serde(default)]
    pub leave: Vec<(u64, u64)>,
}

impl Plan {
    /// Reads the file at `path`; it must be of the program at `program`. The error says what is wrong.
    pub fn read(path: &str, program: &Path) -> Result<Self, String> {
        let plan = Self::load(Path::new(path))?;
        let now = crate::recognise(&program.to_string_lossy()).ok_or("the program cannot be read")?;
        let same = now.length == plan.program.length && now.sum == plan.program.sum;
        if !same {
            return Err(format!(
                "it is the plan of another program ({}, or an older build of it): make one for this \
                 program by `promp plan`",
                plan.program.path
            ));
        }
        Ok(plan)
    }

    /// Reads the file, of whichever program it is.
    pub fn load(path: &Path) -> Result<Self, String> {
        let text = std::fs::read(path).map_err(|e| format!("it cannot be read: {e}"))?;
        let not_one = |e: serde_json::Error| format!("it is no plan that `promp plan` has written ({e})");
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(not_one)?;
        if let Some(v) = value.get("promp_plan").and_then(|v| v.as_u64())
            && v != u64::from(VERSION)
        {
            return Err(format!("it is of version {v}, this promp reads version {VERSION}"));
        }
        let plan: Self = serde_json::from_value(value).map_err(not_one)?;
        let is_sound = plan.take.windows(2).all(|w| w[0].0 < w[1].0)
            && plan.take.iter().all(|t| t.1 < plan.places.len() && !plan.leaves(t.0))
            && plan.leave.iter().all(|l| l.0 <= l.1)
            && plan.leave.windows(2).all(|w| w[0].1 < w[1].0);
        if !is_sound {
            return Err("it is no plan that `promp plan` has written (its visits are out of order)".into());
        }
        Ok(plan)
    }

    /// Is visit `number` left to the rule without a plan?
    pub fn leaves(&self, number: u64) -> bool {
        let i = self.leave.partition_point(|l| l.1 < number);
        self.leave.get(i).is_some_and(|l| l.0 <= number)
    }

    /// Is a checkpoint to be taken at visit `number`: at which place?
    pub fn at(&self, number: u64) -> Option<&At> {
        let i = self.take.binary_search_by_key(&number, |t| t.0).ok()?;
        self.places.get(self.take[i].1)
    }

    /// The next visit behind `number` at which one is to be taken.
    pub fn after(&self, number: u64) -> Option<u64> {
        self.take.get(self.take.partition_point(|t| t.0 <= number)).map(|t| t.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_of_one_program() {
        let dir = std::env::temp_dir().join(format!("promp-plan-{}", std::process::id()));
        let exe = std::env::current_exe().unwrap();
        let path = dir.to_string_lossy().into_owned();
        let write = |text: &str| std::fs::write(&dir, text).unwrap();
        let at = At { module: "/bin/x".into(), offset: 7 };
        let program = crate::recognise(&exe.to_string_lossy()).unwrap();
        let plan = Plan {
            promp_plan: 1,
            program,
            places: vec![at.clone()],
            take: vec![(3, 0), (9, 0)],
            leave: vec![(4, 6), (12, 12)],
        };
        write(&serde_json::to_string(&plan).unwrap());
        let read = Plan::read(&path, &exe).unwrap();
        assert_eq!((read.at(3), read.at(4)), (Some(&at), None));
        assert_eq!([0, 3, 8, 9].map(|n| read.after(n)), [Some(3), Some(9), Some(9), None]);
        let left = |p: &Plan| (0..15).filter(|n| p.leaves(*n)).collect::<Vec<u64>>();
        assert_eq!(left(&read), [4, 5, 6, 12]);
        // As before there were stretches.
        let mut old = serde_json::to_value(&plan).unwrap();
        old.as_object_mut().unwrap().remove("leave");
        write(&old.to_string());
        let read = Plan::read(&path, &exe).unwrap();
        assert!(read.at(3) == Some(&at) && left(&read).is_empty());
        let says = |exe: &Path| Plan::read(&path, exe).unwrap_err();
        assert!(says(Path::new("/bin/true")).contains("of another program"));
        for (take, word) in [(vec![(3, 1)], "out of order"), (vec![(3, 0), (3, 0)], "out of order")] {
            write(&serde_json::to_string(&Plan { take, ..plan.clone() }).unwrap());
            assert!(says(&exe).contains(word));
        }
        for leave in [vec![(5, 4)], vec![(4, 6), (6, 7)], vec![(12, 12), (4, 6)], vec![(2, 3)]] {
            write(&serde_json::to_string(&Plan { leave, ..plan.clone() }).unwrap());
            assert!(says(&exe).contains("out of order"));
        }
        write(&serde_json::to_string(&Plan { promp_plan: 2, ..plan }).unwrap());
        assert!(says(&exe).contains("version 2"));
        write("{}");
        assert!(says(&exe).contains("no plan"));
        std::fs::remove_file(&dir).unwrap();
        assert!(says(&exe).contains("cannot be read"));
    }
}
