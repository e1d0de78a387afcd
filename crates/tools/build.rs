//! The unit tests are a program of their own, in which sections are found by the names of their ends, too.

fn main() {
    println!("cargo:rustc-link-arg=-Wl,-z,nostart-stop-gc");
    println!("cargo:rerun-if-changed=build.rs");
}
