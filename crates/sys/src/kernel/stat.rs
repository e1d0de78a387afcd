//! What the kernel says of a process or thread in one line (/proc/PID/stat, see proc(5)).

use crate::maps;
use core::ffi::CStr;

/// The fields behind the name.
pub struct Stat(Vec<usize>);

impl Stat {
    /// The file at `path`.
    pub fn read(path: &CStr) -> Option<Self> {
        Self::of(&String::from_utf8_lossy(&maps::read_file(path)?))
    }

    /// Such a line. The name, in parentheses, may hold anything; what is negative counts as 0.
    pub fn of(text: &str) -> Option<Self> {
        let fields = text.rsplit_once(')')?.1.split_whitespace();
        Some(Self(fields.map(|f| f.parse().unwrap_or(0)).collect()))
    }

    /// A field, by its number in proc(5), which counts from 1: from 4 on. 0: the kernel does not tell it.
    pub fn field(&self, number: usize) -> usize {
        number.checked_sub(3).and_then(|i| self.0.get(i)).copied().unwrap_or(0)
    }

    /// Some fields; none if one of them is 0.
    pub fn all<const N: usize>(&self, numbers: [usize; N]) -> Option<[usize; N]> {
        let fields = numbers.map(|n| self.field(n));
        (!fields.contains(&0)).then_some(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_manuals_numbers() {
        let numbers: Vec<String> =
            (4..=52).map(|n| if n == 8 { "-1".into() } else { n.to_string() }).collect();
        let s = Stat::of(&format!("1 (a) b) S {}", numbers.join(" "))).expect("fields");
        assert!((4..=52).filter(|n| *n != 8).all(|n| s.field(n) == n));
        assert_eq!([1, 3, 8, 53].map(|n| s.field(n)), [0; 4]);
        assert_eq!((s.all([48, 51]), s.all([48, 8])), (Some([48, 51]), None));
        assert!(Stat::of("").is_none());
    }

    #[test]
    fn this_process() {
        let s = Stat::read(c"/proc/self/stat").expect("it may look at itself");
        // SAFETY: plain call.
        assert_eq!(s.field(4), unsafe { libc::getppid() } as usize);
        assert!(Stat::read(c"/proc/self/none").is_none());
    }
}
