//! Values of variables while loops are looked at as a whole: a number, plus multiples of the loops' counters,
//! plus what is not known of it. What is said of a value holds for each iteration.

use super::blocks::DIMS;
use promp_layouts::Op;

/// `first`, or up to `more` above it, plus `terms` times the counters of the loops around. 64 bits; unsigned
/// ones of 2^63 and more count as negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub is_known: bool,
    pub first: i64,
    pub more: i64,
    pub terms: [i64; DIMS],
}

/// An integer's type: 1 to 64 bits, and whether it has a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Type {
    pub bits: u32,
    pub signed: bool,
}

impl Type {
    /// The number as one of this type.
    pub(crate) fn of(self, x: i64) -> i64 {
        let off = 64 - self.bits;
        if self.signed { x << off >> off } else { ((x as u64) << off >> off) as i64 }
    }
}

pub(crate) const UNKNOWN: Value = Value { is_known: false, first: 0, more: 0, terms: [0; DIMS] };

impl Value {
    pub(crate) fn of(x: i64) -> Self {
        Self { is_known: true, first: x, ..UNKNOWN }
    }

    fn between(low: i128, high: i128) -> Self {
        match (i64::try_from(low), i64::try_from(high - low)) {
            (Ok(first), Ok(more)) if more >= 0 => Self { is_known: true, first, more, ..UNKNOWN },
            _ => UNKNOWN,
        }
    }

    /// The number that it is, if it is one in all iterations.
    pub(crate) fn exact(&self) -> Option<i64> {
        (self.is_known && self.more == 0 && self.terms == [0; DIMS]).then_some(self.first)
    }

    /// Its least and its largest value, if the loops are executed so often.
    pub(crate) fn hull(&self, counts: &[i64]) -> Option<(i128, i128)> {
        let (mut low, mut high) = (i128::from(self.first), i128::from(self.first) + i128::from(self.more));
        for (d, &t) in self.terms.iter().enumerate() {
            if t != 0 {
                let far = i128::from(t) * (i128::from(*counts.get(d)?) - 1);
                low += far.min(0);
                high += far.max(0);
            }
        }
        self.is_known.then_some((low, high))
    }

    /// Of type `t` (what is exact is so modulo its width); unknown if it may not be.
    pub(crate) fn fits(self, t: Type, counts: &[i64]) -> Self {
        if let Some(x) = self.exact() {
            return Self::of(t.of(x));
        }
        let Some((low, high)) = self.hull(counts) else { return UNKNOWN };
        let (least, most) = match (t.signed, t.bits) {
            (_, 64..) => (i128::from(i64::MIN), i128::from(i64::MAX)),
            (true, b) => (-(1 << (b - 1)), (1 << (b - 1)) - 1),
            (false, b) => (0, (1 << b) - 1),
        };
        if low >= least && high <= most { self } else { UNKNOWN }
    }

    fn scaled(self, k: i64) -> Option<Self> {
        let mut v = self;
        v.first = self.first.checked_mul(k)?;
        v.more = self.more.checked_mul(k)?;
        if v.more < 0 {
            v.first = v.first.checked_add(v.more)?;
            v.more = v.more.checked_neg()?;
        }
        for t in &mut v.terms {
            *t = t.checked_mul(k)?;
        }
        Some(v)
    }

    fn sum(self, o: Self) -> Option<Self> {
        let mut v = self;
        v.first = self.first.checked_add(o.first)?;
        v.more = self.more.checked_add(o.more)?;
        for (t, u) in v.terms.iter_mut().zip(o.terms) {
            *t = t.checked_add(u)?;
        }
        Some(v)
    }

    /// `a` OP `b`, whose type is `from`, as a value of type `to`. `counts`: how often the loops are executed.
    pub(crate) fn operation(op: Op, to: Type, from: Type, a: Self, b: Self, counts: &[i64]) -> Self {
        let masks = op == Op::And && (a.is_known || b.is_known);
        if !masks && (!a.is_known || (!matches!(op, Op::Copy | Op::Neg | Op::Not) && !b.is_known)) {
            return UNKNOWN;
        }
        let unary = !b.is_known && !masks;
        if let (Some(x), Some(y)) = (a.exact(), b.exact().or(unary.then_some(0))) {
            return numbers(op, from, x, y).map_or(UNKNOWN, |r| Self::of(to.of(r)));
        }
        let result = match op {
            Op::Copy => Some(a),
            Op::Add => a.sum(b),
            Op::Sub => b.scaled(-1).and_then(|b| a.sum(b)),
            Op::Neg => a.scaled(-1),
            Op::Mul => match (a.exact(), b.exact()) {
                (_, Some(k)) => a.scaled(k),
                (Some(k), _) => b.scaled(k),
                _ => None,
            },
            Op::Shl => match b.exact() {
                Some(k @ 0..=31) => a.scaled(1 << k),
                _ => None,
            },
            _ => None,
        };
        result.unwrap_or_else(|| Self::range(op, from, a, b, counts)).fits(to, counts)
    }

    /// By the ranges of both.
    fn range(op: Op, from: Type, a: Self, b: Self, counts: &[i64]) -> Self {
        if op == Op::And {
            // What is not negative bounds it.
            let most = |v: Self| v.hull(counts).filter(|h| h.0 >= 0).map(|h| h.1);
            return match (most(a), most(b)) {
                (Some(x), Some(y)) => Self::between(0, x.min(y)),
                (Some(x), None) | (None, Some(x)) => Self::between(0, x),
                _ => UNKNOWN,
            };
        }
        let (Some((a0, a1)), Some((b0, b1))) = (a.hull(counts), b.hull(counts)) else { return UNKNOWN };
        // Unsigned ones that count as negative would be others.
        if !from.signed && (a0 < 0 || b0 < 0) {
            return UNKNOWN;
        }
        let truth = |always: bool, never: bool| match (always, never) {
            (true, _) => Self::of(1),
            (_, true) => Self::of(0),
            _ => Self::between(0, 1),
        };
        match op {
            Op::Mul => {
                let all = [a0.checked_mul(b0), a0.checked_mul(b1), a1.checked_mul(b0), a1.checked_mul(b1)];
                let all: Option<Vec<i128>> = all.into_iter().collect();
                all.map_or(UNKNOWN, |v| {
                    Self::between(*v.iter().min().unwrap_or(&0), *v.iter().max().unwrap_or(&0))
                })
            }
            Op::Div if b0 == b1 && b0 > 0 => Self::between(a0 / b0, a1 / b0),
            Op::Mod if b0 == b1 && b0 > 0 && a0 >= 0 => Self::between(0, a1.min(b0 - 1)),
            Op::Shr if b0 == b1 && (0..=62).contains(&b0) => Self::between(a0 >> b0, a1 >> b0),
            Op::Min => Self::between(a0.min(b0), a1.min(b1)),
            Op::Max => Self::between(a0.max(b0), a1.max(b1)),
            Op::Eq => truth(false, a1 < b0 || b1 < a0),
            Op::Ne => truth(a1 < b0 || b1 < a0, false),
            Op::Lt => truth(a1 < b0, a0 >= b1),
            Op::Le => truth(a1 <= b0, a0 > b1),
            Op::Gt => truth(a0 > b1, a1 <= b0),
            Op::Ge => truth(a0 >= b1, a1 < b0),
            _ => UNKNOWN,
        }
    }
}

/// Of two numbers of a type. `None`: it has no value.
fn numbers(op: Op, t: Type, a: i64, b: i64) -> Option<i64> {
    let (x, y) =
        if t.signed { (i128::from(a), i128::from(b)) } else { (i128::from(a as u64), i128::from(b as u64)) };
    Some(match op {
        Op::Copy => a,
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div if y != 0 => (x / y) as i64,
        Op::Mod if y != 0 => (x % y) as i64,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl if (0..i128::from(t.bits)).contains(&y) => a << y,
        Op::Shr if (0..i128::from(t.bits)).contains(&y) => (x >> y) as i64,
        Op::Min => x.min(y) as i64,
        Op::Max => x.max(y) as i64,
        Op::Eq => i64::from(x == y),
        Op::Ne => i64::from(x != y),
        Op::Lt => i64::from(x < y),
        Op::Le => i64::from(x <= y),
        Op::Gt => i64::from(x > y),
        Op::Ge => i64::from(x >= y),
        Op::Neg => a.wrapping_neg(),
        Op::Not => !a,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: Type = Type { bits: 32, signed: true };
    const UNSIGNED: Type = Type { bits: 32, signed: false };
    const SIZE: Type = Type { bits: 64, signed: false };

    /// A loop's counter, times `step`, from `first` on.
    fn counter(d: usize, first: i64, step: i64) -> Value {
        let mut v = Value::of(first);
        v.terms[d] = step;
        v
    }

    /// Each operation on values of two loops' counters has all results that it really has among its own.
    #[test]
    fn results_are_among_what_is_said() {
        let counts = [5, 4];
        let mut kinds = vec![Value::of(3), Value::of(0), Value::of(-2), Value::of(1)];
        kinds.extend([counter(0, 2, 1), counter(1, -3, 2), counter(0, 7, -3)]);
        let mut fuzzy = counter(1, 0, 5);
        fuzzy.more = 2;
        kinds.push(fuzzy);
        let mut seen = 0;
        for op in (0..).map_while(Op::of) {
            for (x, y) in kinds.iter().flat_map(|x| kinds.iter().map(move |y| (*x, *y))) {
                for t in
                    [INT, UNSIGNED, SIZE, Type { bits: 64, signed: true }, Type { bits: 8, signed: false }]
                {
                    let r = Value::operation(op, t, t, x, y, &counts);
                    if !r.is_known {
                        continue;
                    }
                    let all = |v: Value, i: i64, j: i64| {
                        let at = v.first + v.terms[0] * i + v.terms[1] * j;
                        (at..=at + v.more).collect::<Vec<_>>()
                    };
                    for (i, j) in (0..counts[0]).flat_map(|i| (0..counts[1]).map(move |j| (i, j))) {
                        let can = all(r, i, j);
                        for (a, b) in all(x, i, j)
                            .into_iter()
                            .flat_map(|a| all(y, i, j).into_iter().map(move |b| (a, b)))
                        {
                            // A value of the type it is; what is negative is none of an unsigned type's.
                            let (ta, tb) = (t.of(a), t.of(b));
                            if (ta, tb) != (a, b) || (!t.signed && (a < 0 || b < 0)) {
                                continue;
                            }
                            if let Some(real) = numbers(op, t, a, b) {
                                assert!(can.contains(&t.of(real)), "{op:?} {t:?} {a} {b} {r:?}");
                                seen += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(seen > 10_000);
    }

    #[test]
    fn what_wraps_is_not_known() {
        let v = counter(0, i64::from(i32::MAX) - 2, 1);
        let add = |n| Value::operation(Op::Add, INT, INT, v, Value::of(n), &[3]);
        assert!(add(0).is_known && !add(1).is_known);
        // Numbers are as the machine has them.
        let one = Value::operation(Op::Add, INT, INT, Value::of(i64::from(i32::MAX)), Value::of(1), &[]);
        assert_eq!(one.exact(), Some(i64::from(i32::MIN)));
        // A pointer, less eight.
        let back = Value::operation(Op::Add, SIZE, SIZE, counter(0, 4096, 8), Value::of(-8), &[10]);
        assert_eq!((back.first, back.terms[0]), (4088, 8));
        assert!(!Value::operation(Op::Shr, SIZE, SIZE, counter(0, -8, 8), Value::of(3), &[4]).is_known);
    }
}
