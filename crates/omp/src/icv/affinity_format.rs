//! The affinity format of OpenMP 5.1, section 6.14 (OMP_AFFINITY_FORMAT, `omp_display_affinity`).

use std::fmt::Write;

/// What the fields of a format show of a thread.
pub struct Fields {
    /// `%t` team number, `%T` number of teams.
    pub(crate) team: (u32, u32),
    /// `%L` nesting level.
    pub(crate) level: u32,
    /// `%n` thread number, `%N` team size.
    pub(crate) thread: (u32, u32),
    /// `%a` ancestor's thread number at the previous level.
    pub(crate) ancestor: i32,
    /// `%A` processors, as a list of ranges.
    pub(crate) affinity: String,
    /// `%i` native thread identifier.
    pub(crate) native: u32,
}

/// Processor numbers as `0-3,8`.
pub(crate) fn ranges(cpus: &[u32]) -> String {
    let mut out = String::new();
    let mut i = 0;
    while i < cpus.len() {
        let mut j = i;
        while j + 1 < cpus.len() && cpus[j + 1] == cpus[j] + 1 {
            j += 1;
        }
        let sep = if out.is_empty() { "" } else { "," };
        let _ = if i == j {
            write!(out, "{sep}{}", cpus[i])
        } else {
            write!(out, "{sep}{}-{}", cpus[i], cpus[j])
        };
        i = j + 1;
    }
    out
}

/// Expands `format`. Unknown fields expand to `undefined`; `%%` is a percent sign.
pub fn expand(format: &str, f: &Fields) -> String {
    let mut out = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let zero = chars.next_if_eq(&'0').is_some();
        let right = chars.next_if_eq(&'.').is_some();
        let mut width = 0usize;
        while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
            width = (width * 10 + d as usize).min(4096);
            chars.next();
        }
        let name = match chars.next_if_eq(&'{') {
            Some(_) => chars.by_ref().take_while(|&c| c != '}').collect::<String>(),
            None => chars.next().map(String::from).unwrap_or_default(),
        };
        let (value, numeric) = match name.as_str() {
            "t" | "team_num" => (f.team.0.to_string(), true),
            "T" | "num_teams" => (f.team.1.to_string(), true),
            "L" | "nesting_level" => (f.level.to_string(), true),
            "n" | "thread_num" => (f.thread.0.to_string(), true),
            "N" | "num_threads" => (f.thread.1.to_string(), true),
            "a" | "ancestor_tnum" => (f.ancestor.to_string(), true),
            "H" | "host" => (hostname(), false),
            "P" | "process_id" => (crate::sys::syscall::getpid().to_string(), true),
            "i" | "native_thread_id" => (f.native.to_string(), true),
            "A" | "thread_affinity" => (f.affinity.clone(), false),
            _ => ("undefined".to_string(), false),
        };
        let _ = match (zero && numeric, right) {
            (true, _) => match value.strip_prefix('-') {
                Some(digits) => write!(out, "-{digits:0>0$}", width.saturating_sub(1)),
                None => write!(out, "{value:0>width$}"),
            },
            (_, true) => write!(out, "{value:>width$}"),
            _ => write!(out, "{value:<width$}"),
        };
    }
    out
}

fn hostname() -> String {
    let mut buf = [0u8; 256];
    // SAFETY: the buffer is writable and its last byte stays 0.
    unsafe { libc::gethostname(buf.as_mut_ptr().cast(), buf.len() - 1) };
    let end = buf.iter().position(|&b| b == 0).unwrap_or(0);
    String::from_utf8_lossy(&buf[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields() -> Fields {
        Fields { team: (0, 1), level: 1, thread: (2, 4), ancestor: 0, affinity: "0-3,8".into(), native: 77 }
    }

    #[test]
    fn fields_expand() {
        assert_eq!(
            expand("L%L n%03n/%.4N %A %%|%{thread_num}|%x", &fields()),
            "L1 n002/   4 0-3,8 %|2|undefined"
        );
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    proptest! {
        #[test]
        fn any_format(s in "\\PC{0,40}") {
            expand(&s, &fields());
        }
    }
}
