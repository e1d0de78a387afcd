//! What was written by others, as it is shown.

/// The text without what a terminal would obey.
pub fn sober(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "?")
}
