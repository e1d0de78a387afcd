//! DOALL loops: T(p, kind, chunk) = fork(p) + makespan · m(p) + join(p).

use crate::scaling::Scaling;
use crate::{Estimate, Profile, Schedule, makespan};

/// a + b · p: P2's "startup + per-thread factor × threads".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Linear {
    /// What it costs anyway.
    pub fixed: f64,
    /// What each further thread adds.
    pub each: f64,
}

impl Linear {
    /// At `p` threads. One thread alone forks and joins nobody.
    pub fn at(self, p: u32) -> f64 {
        if p <= 1 { 0.0 } else { self.fixed + self.each * f64::from(p - 1) }
    }

    /// The straight line through what was measured: (threads, seconds), by least squares.
    pub fn fit(points: &[(u32, f64)]) -> Self {
        let n = points.len() as f64;
        if points.is_empty() {
            return Self::default();
        }
        let x = |p: u32| f64::from(p.saturating_sub(1));
        let (mx, my) =
            (points.iter().map(|q| x(q.0)).sum::<f64>() / n, points.iter().map(|q| q.1).sum::<f64>() / n);
        let (sxx, sxy) = points.iter().fold((0.0, 0.0), |(a, b), q| {
            (a + (x(q.0) - mx) * (x(q.0) - mx), b + (x(q.0) - mx) * (q.1 - my))
        });
        if sxx == 0.0 {
            return Self { fixed: my, each: 0.0 };
        }
        let each = (sxy / sxx).max(0.0);
        Self { fixed: (my - each * mx).max(0.0), each }
    }
}

/// What the runtime costs on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overheads {
    /// From the region's start until the last thread has begun.
    pub fork: Linear,
    /// From the last thread's end until the region is over.
    pub join: Linear,
    /// A chunk, to the thread that gets it.
    pub dispatch: f64,
    /// A chunk, to all: the dispenser's line goes from thread to thread, one at a time.
    pub line: f64,
    /// By what part the above change from minute to minute (standard deviation).
    pub scatter: f64,
}

impl Overheads {
    /// Those of each of `n` loops in one region (SPMD): a barrier each, and its part of the region.
    pub fn in_one_region(self, n: u32) -> Self {
        let part = |cost: fn(Linear) -> f64| (cost(self.fork) + cost(self.join)) / f64::from(n.max(1));
        Self { fork: Linear { fixed: part(|l| l.fixed), each: part(|l| l.each) }, ..self }
    }
}

/// A loop as the model knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// What its iterations cost.
    pub profile: Profile,
    /// m(p).
    pub scaling: Scaling,
    /// By what part a whole execution differs from the profile's mean (standard deviation): one executes
    /// other data than the other.
    pub scatter: f64,
}

impl Loop {
    /// T(p, kind, chunk) on threads of these speeds.
    pub fn time(&self, schedule: Schedule, speeds: &[f64], costs: &Overheads) -> Estimate {
        let p = speeds.len().max(1) as u32;
        let dispatch = if p > 1 { costs.dispatch } else { 0.0 };
        let loads = makespan::loads(&self.profile, schedule, speeds, dispatch);
        let (mut mean, sd) = loads.expected();
        if schedule.kind != crate::Kind::Static && p > 1 {
            mean = mean.max(loads.chunks as f64 * costs.line);
        }
        let work = Estimate::normal(mean, libm::hypot(sd, mean * self.scatter)).times(self.scaling.at(p));
        let around = costs.fork.at(p) + costs.join.at(p);
        work.plus(Estimate::normal(around, around * costs.scatter))
    }

    /// Serial: without a region.
    pub fn serial(&self) -> Estimate {
        let n = self.profile.total();
        Estimate::normal(
            self.profile.sum(),
            libm::hypot(self.profile.variance(0, n).sqrt(), self.profile.sum() * self.scatter),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(profile: Profile) -> Loop {
        Loop { profile, scaling: Scaling::fit([(2, &[1.0][..], 1.0)]), scatter: 0.0 }
    }

    const COSTS: Overheads = Overheads {
        fork: Linear { fixed: 0.5, each: 0.25 },
        join: Linear { fixed: 0.25, each: 0.0 },
        dispatch: 0.125,
        line: 0.0,
        scatter: 0.0,
    };

    #[test]
    fn by_hand() {
        // 100 iterations of 1 on 2 threads: 0.75 + 50 + 0.125 + 0.25.
        let l = plain(Profile::uniform(100, 1.0));
        assert_eq!(l.time(Schedule::BLOCKS, &[1.0; 2], &COSTS).mean, 51.125);
        // Chunks of 10: 5 each, 5 dispatches each.
        assert_eq!(l.time("dynamic,10".parse().unwrap(), &[1.0; 2], &COSTS).mean, 51.625);
        // One thread forks nobody and gets its chunks for nothing.
        assert_eq!(l.time(Schedule::BLOCKS, &[1.0], &COSTS).mean, 100.0);
        assert_eq!(l.serial(), Estimate::exact(100.0));
    }

    #[test]
    fn loops_of_a_region_share_it() {
        // Five barriers, and (0.75 + 0.25) / 4 for each of four loops.
        let l = plain(Profile::uniform(100, 1.0));
        let costs = COSTS.in_one_region(4);
        assert_eq!(l.time(Schedule::BLOCKS, &[1.0; 2], &costs).mean, 50.0 + 0.125 + 0.25 + 0.25);
        // One alone has the region's end besides its own barrier.
        assert_eq!(COSTS.in_one_region(1).fork.at(2), COSTS.fork.at(2) + COSTS.join.at(2));
    }

    #[test]
    fn a_line_that_all_need_is_a_limit() {
        let l = plain(Profile::uniform(100, 0.01));
        let costs = Overheads { line: 0.1, ..Overheads::default() };
        assert_eq!(l.time("dynamic,1".parse().unwrap(), &[1.0; 2], &costs).mean, 10.0);
        assert_eq!(l.time(Schedule::BLOCKS, &[1.0; 2], &costs).mean, 0.5);
    }

    #[test]
    fn lines_through_points() {
        assert_eq!(Linear::fit(&[(2, 3.0), (3, 5.0), (4, 7.0)]), Linear { fixed: 1.0, each: 2.0 });
        assert_eq!(Linear::fit(&[(2, 3.0)]).at(2), 3.0);
        assert_eq!(Linear::fit(&[]).at(9), 0.0);
        // No negative costs.
        assert_eq!(Linear::fit(&[(2, 5.0), (3, 4.0)]).each, 0.0);
    }

    #[test]
    fn scatter_opens_the_interval() {
        let l = Loop { scatter: 0.1, ..plain(Profile::uniform(100, 1.0)) };
        let e = l.time(Schedule::BLOCKS, &[1.0; 2], &Overheads::default());
        assert!((e.high - 50.0 * (1.0 + 0.1 * crate::Z90)).abs() < 1e-9, "{e:?}");
    }
}
