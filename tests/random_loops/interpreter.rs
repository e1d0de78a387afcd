//! What a program of random_loops.rs computes.

use super::*;

struct Machine<'a> {
    p: &'a Program,
    arrays: Vec<Vec<i64>>,
    /// By size.
    counters: [[u64; COUNTERS]; 9],
    perm: Vec<usize>,
    map: [usize; ARRAYS],
    i: usize,
    j: usize,
}

impl Machine<'_> {
    fn at(&self, k: Index) -> usize {
        match k {
            Index::Own => self.i,
            Index::Permuted => self.perm[self.i],
            Index::Row(k) => self.i * WIDTH + (self.j + k) % WIDTH,
            Index::Far(k) => (self.i + k) % (self.p.n * WIDTH),
        }
    }
    fn eval(&self, e: &Expr) -> i64 {
        match e {
            Expr::Constant(c) => *c,
            Expr::I => self.i as i64,
            Expr::Load(a, k) => self.arrays[self.map[*a]][self.at(*k)],
            Expr::Peek(a, k) => self.arrays[self.map[*a]][self.at(*k)].wrapping_mul(3).wrapping_add(1),
            Expr::Sum(a, b) => self.eval(a).wrapping_add(self.eval(b)),
            Expr::Product(a, c) => self.eval(a).wrapping_mul(*c),
        }
    }
    fn run(&mut self, s: &Statement) {
        match s {
            Statement::Store(a, k, e) | Statement::Call(false, a, k, e) => {
                let (v, at) = (self.eval(e), self.at(*k));
                self.arrays[self.map[*a]][at] = v;
            }
            Statement::Add(a, k, e) | Statement::Call(true, a, k, e) => {
                let (v, at) = (self.eval(e), self.at(*k));
                let x = &mut self.arrays[self.map[*a]][at];
                *x = x.wrapping_add(v);
            }
            Statement::If(e, s) => {
                if self.eval(e) & 1 != 0 {
                    self.run(s);
                }
            }
            Statement::Inner(body) => {
                for j in 0..WIDTH {
                    self.j = j;
                    body.iter().for_each(|s| self.run(s));
                }
            }
            Statement::Halves(a, clearing, way, e) => {
                let v = self.eval(e);
                let mut sum = 0i64;
                let array = self.map[*a];
                for h in 0..2 {
                    let row = &mut self.arrays[array][self.i * WIDTH + h * HALF..(self.i + 1) * WIDTH];
                    let cleared = match clearing {
                        Clearing::Whole => HALF,
                        Clearing::Part => row[0] as u64 as usize % (HALF + 1),
                        Clearing::Perhaps => HALF * (row[0] as usize & 1),
                    };
                    row[..cleared].fill(0);
                    let length = row.len();
                    for j in 0..4 {
                        let x = &mut row[(j * way.step + way.k) % length];
                        if way.updates {
                            *x = x.wrapping_mul(3).wrapping_add(v);
                        } else {
                            sum = sum.wrapping_add(*x);
                        }
                    }
                }
                if !way.updates {
                    self.arrays[array][self.i * WIDTH + WIDTH - 1] = sum;
                }
            }
            Statement::Scratch(_, a, k, e) => {
                let v = self.eval(e);
                let t = (0..WIDTH as i64).fold(0i64, |t, w| t.wrapping_add(v.wrapping_mul(w + 1)));
                let at = self.at(*k);
                self.arrays[self.map[*a]][at] = t;
            }
            Statement::Count(down, size, which, much) => {
                let (at, v) = (self.eval(which) as u64 as usize % COUNTERS, self.eval(much) as u64);
                let c = &mut self.counters[*size][at];
                let sum = if *down { c.wrapping_sub(v) } else { c.wrapping_add(v) };
                *c = sum & (u64::MAX >> (64 - 8 * size));
            }
            Statement::Swap(a, b, k) => {
                let at = self.at(*k);
                let (x, y) = (self.arrays[self.map[*a]][at], self.arrays[self.map[*b]][at]);
                self.arrays[self.map[*a]][at] = y;
                self.arrays[self.map[*b]][at] = x.wrapping_add(1);
            }
        }
    }
}

pub(super) fn interpret(p: &Program) -> String {
    let n = p.n;
    let arrays =
        (0..ARRAYS).map(|a| (0..n * WIDTH).map(|x| ((x * 7 + a * 13) % 101) as i64).collect()).collect();
    let (perm, counters) = ((0..n).map(|i| n - 1 - i).collect(), [[0; COUNTERS]; 9]);
    let mut m = Machine { p, arrays, counters, perm, map: [0, 1, 2, 3], i: 0, j: 0 };
    let mut total = 0i64;
    for _ in 0..p.rounds {
        for l in &p.loops {
            m.map = l.parameters.unwrap_or([0, 1, 2, 3]);
            let mut sum = 0i64;
            for i in 0..n {
                m.i = i;
                l.body.iter().for_each(|s| m.run(s));
                if let Some(e) = &l.sum {
                    sum = sum.wrapping_add(m.eval(e));
                }
            }
            total = total.wrapping_mul(3).wrapping_add(sum);
        }
    }
    let counted = SIZES.iter().flat_map(|(size, _)| m.counters[*size].map(|c| c as i64));
    let all = m.arrays.iter().flatten().copied().chain(counted);
    let hash = all.fold(0i64, |h, x| h.wrapping_mul(31).wrapping_add(x));
    format!("{} {}\n", hash as u64, total as u64)
}
