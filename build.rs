//! Nothing to do before the version script is generated.
fn main() {}
