//! Which of some names was meant by one that is none of them.

/// The nearest of `names`, if one is near enough to have been meant: a third of the letters may differ.
pub fn meant<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = names.into_iter().map(|n| (distance(name, n), n)).min_by_key(|(d, _)| *d)?;
    let most = (name.trim_start_matches("PROMP_").len() / 3).max(1);
    (nearest.0 <= most.max(prefixes(name, nearest.1))).then_some(nearest.1)
}

/// A name and what it begins with are near: as much as is missing.
fn prefixes(a: &str, b: &str) -> usize {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if long.starts_with(short) && short.len() > "PROMP_".len() { long.len() - short.len() } else { 0 }
}

/// How many letters are to be put in, left out, changed or exchanged with their neighbours to make `b` of
/// `a`.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(a[i - 1] != b[j - 1]);
                let mut least = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + same);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in
            [("", "", 0), ("a", "", 1), ("abc", "acb", 1), ("abc", "xbc", 1), ("ckpt", "chkpt", 1)]
        {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }

    #[test]
    fn what_is_far_was_not_meant() {
        assert_eq!(meant("--chkpt", ["--ckpt", "--keep"]), Some("--ckpt"));
        assert_eq!(meant("--zebra", ["--ckpt", "--keep"]), None);
        assert_eq!(meant("", ["--ckpt"]), None);
        assert_eq!(meant("x", []), None);
    }
}
