//! Lists of `key=value,…`, as PROMP_FAULT has them for each fault.

use crate::quantities;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    /// The key.
    pub key: &'a str,
    /// The value.
    pub value: &'a str,
}

/// Those of `list`, one by one. An error says which is none, or whose key was there before.
pub(crate) fn pairs(list: &str) -> impl Iterator<Item = Result<Pair<'_>, String>> {
    let mut seen: Vec<&str> = Vec::new();
    list.split(',').map(move |pair| {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(format!("\"{}\" is not key=value", pair.trim()));
        };
        let (key, value) = (key.trim(), value.trim());
        if seen.contains(&key) {
            return Err(format!("{key} is given twice"));
        }
        seen.push(key);
        Ok(Pair { key, value })
    })
}

impl Pair<'_> {
    /// What is said if the value is no such thing.
    pub(crate) fn wrong(&self, what: &str) -> String {
        format!("{}={}: expected {what}", self.key, self.value)
    }

    /// What the value means, if it is one of `words`.
    pub(crate) fn among<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        words.iter().find(|word| word.0 == self.value).map(|word| word.1)
    }

    /// A number.
    pub(crate) fn number(&self) -> Result<u64, String> {
        quantities::number(self.value).ok_or_else(|| self.wrong("a number"))
    }

    /// A number from 1; `what` describes it.
    pub(crate) fn least_one(&self, what: &str) -> Result<u64, String> {
        quantities::number(self.value).filter(|&n| n >= 1).ok_or_else(|| self.wrong(what))
    }

    /// The mean of random times, in nanoseconds.
    pub(crate) fn mean_ns(&self) -> Result<u64, String> {
        let n = quantities::duration_ns(self.value).filter(|&n| n >= 1000);
        n.ok_or_else(|| self.wrong("a duration of at least 1us"))
    }
}
