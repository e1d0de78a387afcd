//! Levels of the x86-64 instruction set (System V ABI, "Micro-Architecture Levels"): what a run is bound to
//! that shall go on on other machines.

use serde::{Deserialize, Serialize};

/// A level. Each has what the ones before it have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// SSE4.2.
    #[serde(rename = "x86-64-v2")]
    V2,
    /// AVX2.
    #[serde(rename = "x86-64-v3")]
    V3,
    /// AVX-512.
    #[serde(rename = "x86-64-v4")]
    V4,
}

/// All of them.
pub const LEVELS: [Level; 3] = [Level::V2, Level::V3, Level::V4];

impl Level {
    /// By its name.
    pub fn parse(name: &str) -> Option<Self> {
        LEVELS.into_iter().find(|l| l.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 => "x86-64-v2",
            Self::V3 => "x86-64-v3",
            Self::V4 => "x86-64-v4",
        }
    }

    /// What it has, as in /proc/cpuinfo.
    pub(crate) fn features(self) -> Vec<&'static str> {
        const V2: [&str; 7] = ["cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"];
        const V3: [&str; 9] = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];
        const V4: [&str; 5] = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"];
        let mut all = V2.to_vec();
        all.extend(V3.iter().filter(|_| self >= Self::V3));
        all.extend(V4.iter().filter(|_| self >= Self::V4));
        all
    }

    /// What of it is not among `have`.
    pub fn missing(self, have: &[String]) -> Vec<&'static str> {
        self.features().into_iter().filter(|f| !have.iter().any(|h| h == f)).collect()
    }

    /// The tunable that keeps glibc from choosing what is above it, added to `before`, the program's
    /// GLIBC_TUNABLES. Names that a glibc does not know it passes over; before 2.33 they were others.
    pub fn tunables(self, before: &str) -> String {
        const NAME: &str = "glibc.cpu.hwcaps=";
        const V3: [&str; 16] = [
            "AVX",
            "AVX2",
            "BMI1",
            "BMI2",
            "F16C",
            "FMA",
            "LZCNT",
            "MOVBE",
            "XSAVE",
            "OSXSAVE",
            "VAES",
            "VPCLMULQDQ",
            "AVX_Usable",
            "AVX2_Usable",
            "FMA_Usable",
            "AVX_Fast_Unaligned_Load",
        ];
        const V4: [&str; 8] = [
            "AVX512F",
            "AVX512BW",
            "AVX512CD",
            "AVX512DQ",
            "AVX512VL",
            "AVX512F_Usable",
            "AVX512DQ_Usable",
            "AVX512VL_Usable",
        ];
        const NONE: [&str; 7] = ["AVX512ER", "AVX512PF", "FMA4", "FMA4_Usable", "XOP", "RTM", "XSAVEC"];
        let above = NONE
            .iter()
            .chain(V3.iter().filter(|_| self < Self::V3))
            .chain(V4.iter().filter(|_| self < Self::V4));
        let off: Vec<String> = above.map(|n| format!("-{n}")).collect();
        let mut all: Vec<String> = before.split(':').filter(|t| !t.is_empty()).map(str::to_owned).collect();
        let own: Vec<String> =
            all.iter().filter_map(|t| t.strip_prefix(NAME)).map(str::to_owned).chain(off).collect();
        all.retain(|t| !t.starts_with(NAME));
        all.push(format!("{NAME}{}", own.join(",")));
        all.join(":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names_and_features() {
        for l in LEVELS {
            assert_eq!(Level::parse(l.name()), Some(l));
            assert_eq!(serde_json::to_value(l).unwrap(), l.name());
        }
        assert_eq!(Level::parse("x86-64-v5"), None);
        let have: Vec<String> = Level::V3.features().into_iter().map(str::to_owned).collect();
        assert!(Level::V2.missing(&have).is_empty() && Level::V3.missing(&have).is_empty());
        assert_eq!(Level::V4.missing(&have), ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]);
    }

    #[test]
    fn tunables_are_added_to_the_programs() {
        let t = Level::V3.tunables("");
        assert!(
            t.starts_with("glibc.cpu.hwcaps=-") && t.contains("-AVX512F,") && !t.contains("-AVX2"),
            "{t}"
        );
        assert!(Level::V2.tunables("").contains("-AVX2,"));
        assert!(!Level::V4.tunables("").contains("-AVX512F"));
        let t = Level::V3.tunables("glibc.malloc.check=1:glibc.cpu.hwcaps=-ERMS");
        assert!(t.starts_with("glibc.malloc.check=1:glibc.cpu.hwcaps=-ERMS,-"), "{t}");
    }
}
