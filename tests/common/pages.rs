//! Pages for users: their blocks of commands, files and output, and their links.
//!
//! A fenced block is a kind of thing by the word behind the fence. `sh`: commands. `text`: what the commands
//! before it print. Any other word (`c`, `python` …): a file, whose name the page's source has in a comment
//! before it. Comments say what else there is to know:
//!
//!     <!-- file: pi.c -->            the block is this file
//!     <!-- from: ../README.md pi.c -->   this file is a block of that page
//!     <!-- status: 70 -->            the commands end with this exit status
//!     <!-- needs: cmake -->          without this program the block is left out
//!     <!-- shown below: where -->    the output is one of those further down
//!     <!-- varies: why -->           the output is one that there may be
//!     <!-- not run: why -->          no test runs the block

use std::path::{Path, PathBuf};

/// A fenced block.
#[derive(Debug, Clone)]
pub struct Block {
    /// The line of its opening fence, from 1.
    pub line: usize,
    /// The word behind the fence.
    pub kind: String,
    /// What stands between the fences, without their indentation.
    pub text: String,
    /// The comments before it.
    pub marks: Vec<(String, String)>,
}

impl Block {
    /// What a comment before the block says.
    pub fn mark(&self, key: &str) -> Option<&str> {
        self.marks.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

/// What a comment of a line of its own says: `<!-- key: value -->`.
fn mark(line: &str) -> Option<(String, String)> {
    let inside = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    inside.split_once(':').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()))
}

/// The blocks of a page, and its comments that stand before none.
pub fn blocks(text: &str) -> (Vec<Block>, Vec<(String, String)>) {
    let (mut found, mut loose, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((n, line)) = lines.next() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            let indent = line.len() - line.trim_start().len();
            let inside = lines.by_ref().map(|(_, l)| l).take_while(|l| l.trim() != "```");
            let text = inside.map(|l| format!("{}\n", l.get(indent..).unwrap_or_default())).collect();
            let marks = std::mem::take(&mut marks);
            found.push(Block { line: n + 1, kind: kind.to_owned(), text, marks });
        } else if let Some(mark) = mark(line) {
            marks.push(mark);
        } else if !line.trim().is_empty() {
            loose.append(&mut marks);
        }
    }
    loose.append(&mut marks);
    (found, loose)
}

/// The files that a page's links lead to, but for those on the web.
pub fn links(page: &Path, text: &str) -> Vec<PathBuf> {
    let here = page.parent().expect("a folder");
    let targets = text.split("](").skip(1).filter_map(|t| t.split(')').next());
    let files = targets.filter(|t| !t.contains("://")).map(|t| t.split('#').next().unwrap_or(t));
    files.filter(|t| !t.is_empty()).filter_map(|t| here.join(t).canonicalize().ok()).collect()
}

/// A line with one digit in the place of each address.
fn without_addresses(line: &str) -> String {
    let mut parts = line.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + "0" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// A line without what differs from run to run: numbers, their units, bars, how wide columns are.
pub fn shape(line: &str) -> String {
    let mut out = String::new();
    let mut last = ' ';
    for c in without_addresses(line.trim()).chars() {
        let next = match c {
            '0'..='9' => '#',
            '.' | ',' if last == '#' => continue,
            '█' | '▒' | '░' | '▓' | '─' => '█',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if !(next == last && "#█ ".contains(next)) {
            out.push(next);
        }
        last = next;
    }
    let words =
        out.split(' ').map(|w| if UNITS.contains(&w.trim_end_matches([',', ';', ':'])) { "s" } else { w });
    words.collect::<Vec<_>>().join(" ")
}

/// Units of which one stands in another one's place when a number is larger.
const UNITS: [&str; 9] = ["ns", "us", "µs", "ms", "s", "B", "kB", "MB", "GB"];

/// Is `said` what `shown` says it is? `…` on a line of its own stands for any lines. The lines that `shown`
/// would have if it were made from `said`, or none.
pub fn as_shown(shown: &str, said: &str) -> Option<Vec<String>> {
    let said: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    let (mut at, mut any, mut lines) = (0, false, Vec::new());
    for line in shown.lines() {
        if line.trim().is_empty() {
            lines.push(String::new());
        } else if line.trim() == "…" {
            any = true;
            lines.push(line.to_owned());
        } else {
            let fits = |l: &&&str| shape(l) == shape(line);
            let skipped = said[at..].iter().position(|l| fits(&l))?;
            if skipped > 0 && !any {
                return None;
            }
            lines.push(said[at + skipped].trim_end().to_owned());
            (at, any) = (at + skipped + 1, false);
        }
    }
    (any || at == said.len()).then_some(lines)
}
