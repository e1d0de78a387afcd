//! The line of the construct that a place lies in.
//!
//! Compilers give the barrier at the end of a loop the line of the last statement in the loop, and a region
//! that of its first one. A reader looks for the directive. Where the source is at hand, and not newer than
//! the program, the directive around the line is found there.

use std::path::Path;

/// Directives this far above the line are found.
const FAR: usize = 400;

/// The line of the directive whose construct, at whose end threads wait, contains `line` of `file`, which
/// `module` was built from.
pub fn line(file: &str, line: u32, module: &str) -> Option<u32> {
    let text = source(file, module)?;
    let lines: Vec<&str> = text.lines().take(line as usize).collect();
    if lines.len() < line as usize {
        return None;
    }
    directive(&lines).map(|n| n as u32 + 1)
}

/// The line of the directive whose region begins with `line`: nothing of the program is between them.
pub fn region(file: &str, line: u32, module: &str) -> Option<u32> {
    let text = source(file, module)?;
    let lines: Vec<&str> = text.lines().take(line as usize).collect();
    begins(&lines).map(|n| n as u32 + 1)
}

/// The index of the directive of a region that the last of `lines` is the first statement of.
fn begins(lines: &[&str]) -> Option<usize> {
    let is_directive = |i: usize| {
        let low = lines[i].trim_start().to_ascii_lowercase();
        let words = ["#pragma omp", "!$omp", "c$omp", "*$omp"].iter().find_map(|s| low.strip_prefix(s));
        words.is_some_and(is_region)
    };
    let is_nothing = |i: usize| {
        let l = lines[i].trim();
        let goes_on = i > 0 && lines[i - 1].trim_end().ends_with(['\\', '&']);
        l.is_empty() || l == "{" || l.starts_with("//") || l.starts_with('!') || goes_on
    };
    let last = lines.len().checked_sub(1)?;
    let first = (0..last).rev().find(|&i| is_directive(i) || !is_nothing(i));
    if is_directive(last) { Some(last) } else { first.filter(|&i| is_directive(i)) }
}

/// The text of `file`, if it is not newer than `module`, which was built from it.
fn source(file: &str, module: &str) -> Option<String> {
    let written = |p: &str| Path::new(p).metadata().and_then(|m| m.modified()).ok();
    if written(file)? > written(module)? {
        return None;
    }
    let text = promp_files::read(file.as_ref(), super::SOURCE).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The index of the directive around the last of `lines`.
fn directive(lines: &[&str]) -> Option<usize> {
    // Braces closed less braces opened on the way up; and the least of that so far: what lies deeper is
    // another block.
    let (mut depth, mut outermost) = (0i32, 0i32);
    for (i, l) in lines.iter().enumerate().rev().take(FAR) {
        let low = l.trim_start().to_ascii_lowercase();
        let last = i + 1 == lines.len();
        if let Some(words) = low.strip_prefix("#pragma omp") {
            if depth <= outermost {
                match kind(words) {
                    Kind::Waits => return Some(i),
                    Kind::Region => return None,
                    Kind::Other => {}
                }
            }
        } else if let Some(words) = ["!$omp", "c$omp", "*$omp"].iter().find_map(|s| low.strip_prefix(s)) {
            let words = words.trim_start();
            match (words.starts_with("end"), kind(words)) {
                (true, Kind::Other) => {}
                (true, _) if last => {}
                (true, _) => return None,
                (false, Kind::Waits) => return Some(i),
                (false, Kind::Region) => return None,
                (false, Kind::Other) => {}
            }
        } else if ["subroutine ", "program ", "function "].iter().any(|w| low.starts_with(w)) {
            return None;
        }
        // On the way up the closing brace of a line comes first. That of the last line may be the construct's
        // own.
        for c in l.chars().rev() {
            match c {
                '}' if !last => depth += 1,
                '{' => depth -= 1,
                _ => {}
            }
            outermost = outermost.min(depth);
        }
    }
    None
}

/// What a directive is to a segment.
#[derive(PartialEq)]
enum Kind {
    /// Threads wait at its end, or at it.
    Waits,
    /// A region, which has no loop of its own.
    Region,
    /// No synchronisation of a team.
    Other,
}

fn names(words: &str) -> impl Iterator<Item = &str> {
    words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty())
}

/// Does a team begin there?
fn is_region(words: &str) -> bool {
    let directive = ["target", "teams", "distribute", "parallel", "loop"];
    names(words).take_while(|w| directive.contains(w)).any(|w| matches!(w, "parallel" | "teams"))
}

fn kind(words: &str) -> Kind {
    let mut words = names(words);
    let (mut region, mut first) = (false, true);
    for w in words.by_ref() {
        match w {
            "for" | "do" | "sections" | "single" | "workshare" | "barrier" | "loop" | "taskwait"
            | "taskgroup" | "taskloop" => return Kind::Waits,
            "parallel" | "teams" => region = true,
            "end" | "target" | "distribute" | "simd" | "masked" | "master" => {}
            // Clauses begin.
            _ if first => return Kind::Other,
            _ => break,
        }
        first = false;
    }
    if region { Kind::Region } else { Kind::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of the directive, from 1, for each line of a text.
    fn all(text: &str) -> Vec<Option<usize>> {
        let lines: Vec<&str> = text.lines().collect();
        (1..=lines.len()).map(|n| directive(&lines[..n]).map(|i| i + 1)).collect()
    }

    #[test]
    fn the_beginning_of_a_region() {
        let text = "#pragma omp parallel
    {
        a++;
    }
#pragma omp parallel for \\
    schedule(static)

    // Rows.
    for (;;) b++;
    _Pragma(\"omp parallel\")
    c++;
!$omp parallel do &
!$omp private(x)
  do i = 1, n
  d = 1
";
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<_> = (1..=lines.len()).map(|n| begins(&lines[..n]).map(|i| i + 1)).collect();
        assert_eq!(
            [found[0], found[2], found[4], found[8], found[13]],
            [Some(1), Some(1), Some(5), Some(5), Some(12)]
        );
        assert_eq!([found[3], found[9], found[10], found[14]], [None; 4]);
    }

    #[test]
    fn regions() {
        assert!(
            is_region(" parallel for reduction(+ : s)") && is_region(" target teams distribute parallel for")
        );
        assert!(!is_region(" for") && !is_region(" single") && !is_region(" taskloop if(parallel)"));
    }

    #[test]
    fn c() {
        let text = "void other(void) {
#pragma omp for
    for (;;) {
    }
}
void f(void) {
#pragma omp parallel
  {
#pragma omp for schedule(dynamic)
    for (;;) {
      if (x) {
#pragma omp atomic
        y++;
      }
      z++;
    }
    w++;
#pragma omp barrier
    LOOP()
    for (;;) {
      v++;
    }
  }
}
";
        let found = all(text);
        // In the loop; its last statement; its closing brace; the barrier.
        assert_eq!(
            [found[9], found[12], found[14], found[15], found[17]],
            [Some(9), Some(9), Some(9), Some(9), Some(18)]
        );
        // A region, the next function's beginning, and code in front of any directive have none.
        assert_eq!([found[6], found[7], found[5], found[0]], [None; 4]);
    }

    #[test]
    fn a_region_around_a_loop_of_a_macro_is_not_its_directive() {
        let text = "void f(void) {
#pragma omp parallel
    for (;;) {
        LOOP()
        for (;;) {
a++;
        }
        LOOP()
        for (;;) b++;
    }
}
";
        assert_eq!(all(text), vec![None; 11]);
    }

    #[test]
    fn fortran() {
        let text = "subroutine a
!$omp do
 do i = 1, n
  x = 1
 end do
!$omp end do
  y = 1
end subroutine
subroutine b
  z = 1
!$OMP PARALLEL DO PRIVATE(i)
 do i = 1, n
  w = 1
 end do
";
        let found = all(text);
        assert_eq!([found[3], found[4], found[5], found[12]], [Some(2), Some(2), Some(2), Some(11)]);
        assert_eq!([found[6], found[9]], [None; 2]);
    }
}
