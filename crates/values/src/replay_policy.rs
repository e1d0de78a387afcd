//! PROMP_REPLAY: which work may be executed again.

/// Which work counts as replayable (PROMP_REPLAY).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Only what is proved, or vouched for by `promp_replayable(1)`.
    Proven,
    /// Everything: the user vouches.
    Assume,
    /// Nothing.
    Never,
    /// Regions whose outlined function's name matches one of the globs.
    Functions(Vec<String>),
}

impl Replay {
    /// The variable's value.
    pub fn parse(v: &str) -> Option<Self> {
        match v {
            "" => None,
            "proven" => Some(Self::Proven),
            "assume" => Some(Self::Assume),
            "never" => Some(Self::Never),
            globs => {
                let list: Vec<String> = globs.split([',', ':']).map(|g| g.trim().to_string()).collect();
                let sound = |g: &String| {
                    !g.is_empty() && g.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.$*?@~".contains(&b))
                };
                list.iter().all(sound).then_some(Self::Functions(list))
            }
        }
    }
}

impl std::fmt::Display for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Proven => f.write_str("proven"),
            Self::Assume => f.write_str("assume"),
            Self::Never => f.write_str("never"),
            Self::Functions(list) => f.write_str(&list.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_globs() {
        let functions = |list: &[&str]| Some(Replay::Functions(list.iter().map(|f| f.to_string()).collect()));
        assert_eq!(Replay::parse("assume"), Some(Replay::Assume));
        assert_eq!(Replay::parse("main._omp_fn.*, work?"), functions(&["main._omp_fn.*", "work?"]));
        for bad in ["", "a b", "a,,b", ",", "a;b"] {
            assert_eq!(Replay::parse(bad), None, "{bad}");
        }
        for v in ["proven", "assume", "never", "main._omp_fn.*,work?"] {
            assert_eq!(Replay::parse(v).expect(v).to_string(), v);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(v in "\\PC{0,30}") {
            let _ = Replay::parse(&v);
        }
    }
}
