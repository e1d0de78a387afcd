//! Prints the C++ header of what the plugin shares with Rust: the layouts that the runtime reads
//! (crates/layouts), and the interface of its analysis (plugin/analysis/src/ffi.rs).
//!
//! ```text
//! promp-header FILE.rs...
//! ```

use cbindgen::{Builder, Config, ConstantConfig, EnumConfig, ExportConfig, Language, RenameRule};

/// The types of the analysis' interface: in Rust, in C++.
const NAMES: [(&str, &str); 7] = [
    ("CPlace", "promp_place"),
    ("CAccess", "promp_access"),
    ("CEffect", "promp_effect"),
    ("CSegment", "promp_segment"),
    ("CSaved", "promp_saved"),
    ("CVerdict", "promp_verdict"),
    ("CControl", "promp_control"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config {
        language: Language::Cxx,
        include_guard: Some("PROMP_LAYOUTS_H".to_string()),
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".to_string(), "stdint.h".to_string()],
        enumeration: EnumConfig {
            enum_class: false,
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        constant: ConstantConfig {
            allow_static_const: true,
            allow_constexpr: true,
            ..ConstantConfig::default()
        },
        export: ExportConfig {
            // What no function of the interface names.
            include: ["Verdict", "Kind", "Touched", "Acts", "Handed", "Instruction", "Operand", "Op"]
                .map(str::to_string)
                .to_vec(),
            rename: NAMES.map(|(rust, cpp)| (rust.to_string(), cpp.to_string())).into(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let files = std::env::args_os().skip(1);
    let builder = files.fold(Builder::new().with_config(config), |b, file| b.with_src(file));
    builder.generate()?.write(std::io::stdout());
    Ok(())
}
