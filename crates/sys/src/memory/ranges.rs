//! Lists of ranges: [first, behind the last), in order, apart from each other.

/// Tells `part` of the parts of [from, end) that lie in `ranges` and of those that do not, in order: where each begins and ends, and which it is.
pub fn parts<T: Copy + Ord>(ranges: &[(T, T)], mut from: T, end: T, mut part: impl FnMut(T, T, bool)) {
    let mut i = ranges.partition_point(|r| r.1 <= from);
    while from < end {
        let next = ranges.get(i).map_or((end, end), |r| (r.0.clamp(from, end), r.1.min(end)));
        if from < next.0 {
            part(from, next.0, false);
        }
        if next.0 < next.1 {
            part(next.0, next.1, true);
        }
        from = next.1.max(next.0);
        i += 1;
    }
}

/// What is in `ranges` but not in `others`.
pub fn without<T: Copy + Ord>(ranges: &[(T, T)], others: &[(T, T)]) -> Vec<(T, T)> {
    those(ranges, others, false)
}

/// What is in `ranges` and in `others`.
pub fn within<T: Copy + Ord>(ranges: &[(T, T)], others: &[(T, T)]) -> Vec<(T, T)> {
    those(ranges, others, true)
}

/// Those parts of `ranges` that are, or are not, in `others`.
fn those<T: Copy + Ord>(ranges: &[(T, T)], others: &[(T, T)], wanted: bool) -> Vec<(T, T)> {
    let mut out = Vec::with_capacity(ranges.len() + others.len());
    for &(from, end) in ranges {
        parts(others, from, end, |from, end, inside| out.extend((inside == wanted).then_some((from, end))));
    }
    out
}

/// What is in `ranges` or in `others`.
pub fn union<T: Copy + Ord>(ranges: &[(T, T)], others: &[(T, T)]) -> Vec<(T, T)> {
    let mut all = without(ranges, others);
    all.extend(others);
    all.sort_unstable();
    joined(all.into_iter())
}

/// Is anything of [from, end) in `ranges`?
pub fn meet<T: Copy + Ord>(ranges: &[(T, T)], from: T, end: T) -> bool {
    ranges.get(ranges.partition_point(|r| r.1 <= from)).is_some_and(|r| r.0 < end)
}

/// `ranges`, in order, as few as they can be.
pub fn joined<T: Copy + PartialEq>(ranges: impl Iterator<Item = (T, T)>) -> Vec<(T, T)> {
    let mut out: Vec<(T, T)> = Vec::new();
    for r in ranges {
        match out.last_mut() {
            Some(last) if last.1 == r.0 => last.1 = r.1,
            _ => out.push(r),
        }
    }
    out
}

/// Any ranges, in order, as few as they can be.
pub fn ordered<T: Copy + Ord>(mut ranges: Vec<(T, T)>) -> Vec<(T, T)> {
    ranges.sort_unstable();
    let mut out: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for r in ranges {
        match out.last_mut() {
            Some(last) if r.0 <= last.1 => last.1 = last.1.max(r.1),
            _ => out.push(r),
        }
    }
    out
}

/// Bytes in `ranges` of addresses.
pub fn bytes(ranges: &[(usize, usize)]) -> usize {
    ranges.iter().map(|r| r.1 - r.0).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_meets_a_list() {
        let list = [(2, 4), (6, 8)];
        assert!(!meet(&list, 0, 2) && meet(&list, 0, 3) && meet(&list, 3, 4));
        assert!(!meet(&list, 4, 6) && meet(&list, 4, 7) && !meet(&list, 8, 9) && !meet(&[], 0, 9));
    }

    #[test]
    fn what_is_in_one_list_or_both() {
        let (a, b) = ([(0, 10), (20, 30), (30, 31), (40, 50)], [(0, 2), (5, 6), (9, 21), (25, 45), (60, 70)]);
        assert_eq!(without(&a, &b), [(2, 5), (6, 9), (21, 25), (45, 50)]);
        assert_eq!(without(&a, &[]), a);
        assert_eq!(within(&a, &b), [(0, 2), (5, 6), (9, 10), (20, 21), (25, 30), (30, 31), (40, 45)]);
        assert_eq!(union(&a, &b), [(0, 50), (60, 70)]);
        assert_eq!(joined(a.into_iter()), [(0, 10), (20, 31), (40, 50)]);
    }

    #[test]
    fn everything_is_in_one_part() {
        let ranges = [(3, 5), (5, 6), (9, 20), (30, 31)];
        for (a, b) in (0..40).flat_map(|a| (a..40).map(move |b| (a, b))) {
            let mut all = Vec::new();
            parts(&ranges, a, b, |from, to, inside| {
                assert!(from < to);
                all.extend((from..to).map(|p| (p, inside)));
            });
            let inside = |p: u64| ranges.iter().any(|r| (r.0..r.1).contains(&p));
            assert_eq!(all, (a..b).map(|p| (p, inside(p))).collect::<Vec<_>>(), "{a} to {b}");
        }
    }
}
