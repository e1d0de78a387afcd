//! Reports as files, which others may have written.

use crate::Failure;
use promp_report::Report;
use std::path::Path;

/// Longer than a report with a trace becomes.
const MOST: u64 = 256 << 20;

/// Reads a report, from a pipe, too.
pub fn load(file: &Path) -> Result<Report, Failure> {
    let name = file.display();
    let mut text = promp_files::read_any(file, MOST)
        .map_err(|e| Failure::new(66, format!("{name} cannot be read: {e}")))?;
    without_controls(&mut text);
    serde_json::from_slice(&text).map_err(|e| Failure::new(65, format!("{name} is not a promp report: {e}")))
}

/// Takes out of a JSON text the characters that would do something to a terminal: what is in a report is
/// printed. Each becomes something of its length.
fn without_controls(text: &mut [u8]) {
    let mut i = 0;
    while i < text.len() {
        match &mut text[i..] {
            [b'\\', b'u', hex @ ..] if hex.len() >= 4 => {
                let code = std::str::from_utf8(&hex[..4]).ok().and_then(|h| u32::from_str_radix(h, 16).ok());
                if code.and_then(char::from_u32).is_some_and(|c| c.is_control() && c != '\n' && c != '\t') {
                    hex[..4].copy_from_slice(b"fffd");
                }
                i += 6;
            }
            [b'\\', c @ (b'b' | b'f' | b'r'), ..] => {
                // A tabulator.
                *c = b't';
                i += 2;
            }
            [b'\\', ..] => i += 2,
            [0xc2, second @ 0x80..=0x9f, ..] => {
                // A space that does not break.
                *second = 0xa0;
                i += 2;
            }
            [c @ 0x7f, ..] => {
                *c = b'?';
                i += 1;
            }
            _ => i += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_gone() {
        let all: String = (0..0x100u32).filter_map(char::from_u32).collect();
        for ascii in [true, false] {
            let mut json = serde_json::to_string(&all).unwrap();
            if ascii {
                json = format!(
                    "\"{}\"",
                    all.chars().map(|c| format!("\\u{:04x}", c as u32)).collect::<String>()
                );
            }
            let mut bytes = json.clone().into_bytes();
            without_controls(&mut bytes);
            let text: String = serde_json::from_slice(&bytes).unwrap();
            assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
            assert!(text.contains("abc"), "{text:?}");
            assert_eq!(text.chars().count(), all.chars().count());
        }
        // A backslash that is one.
        let mut bytes = br#""a\\u001b""#.to_vec();
        without_controls(&mut bytes);
        assert_eq!(bytes, br#""a\\u001b""#);
    }
}
