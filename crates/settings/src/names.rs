//! Which variables there are, and which one was meant by a name that is none.

use crate::nearest_name::{distance, meant};
use crate::{catalogue, internal};

/// What promp's variables begin with.
const BEGINS: &str = "PROMP_";

/// Is there such a variable? (Those of the project's own tests begin with `PROMP_TEST_`.)
pub(crate) fn is_known(name: &str) -> bool {
    name.starts_with("PROMP_TEST_")
        || catalogue::ALL.iter().any(|s| s.name == name)
        || internal::ALL.iter().any(|i| i.name == name)
}

/// Can a name be one of promp's, but for one letter of its `PROMP_`? Of the letters that it begins with one
/// stands where it belongs, or one place further. Asked for each variable when a program starts.
fn may_be_meant(name: &[u8]) -> bool {
    matches!(name, [b'P' | b'R', ..] | [_, b'P' | b'R', ..])
}

/// What is to be said of a variable's name: nothing where it is none of promp's or known.
pub fn unknown(name: &str) -> Option<String> {
    if !may_be_meant(name.as_bytes()) || is_known(name) {
        return None;
    }
    let mut ours = catalogue::ALL.iter().map(|s| s.name).filter(|n| n.starts_with(BEGINS));
    let near = match name.starts_with(BEGINS) {
        true => meant(name, ours),
        false => Some(ours.find(|right| begins_nearly(name, right))?),
    };
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "it is ignored (`promp help run` has the options)".into(),
    };
    Some(format!("{name} is not known: {hint}"))
}

/// Is `name` the setting `right`, but for one letter of its `PROMP_`?
fn begins_nearly(name: &str, right: &str) -> bool {
    let (begins, rest) = right.split_at(BEGINS.len());
    name.strip_suffix(rest).is_some_and(|other| distance(other, begins) == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings that may be proposed.
    fn proposed() -> impl Iterator<Item = &'static str> {
        catalogue::ALL.iter().map(|s| s.name).filter(|n| n.starts_with(BEGINS))
    }

    #[test]
    fn names_are_there_once() {
        let settings = catalogue::ALL.iter().map(|s| s.name);
        let mut all: Vec<_> = settings.chain(internal::ALL.iter().map(|i| i.name)).collect();
        all.sort_unstable();
        let twice: Vec<_> = all.windows(2).filter(|w| w[0] == w[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn one_letter_off_is_answered_with_the_right_one() {
        for name in proposed() {
            let rest = name[BEGINS.len()..].to_owned();
            for i in 0..rest.len() {
                let (left, right) = (&rest[..i], &rest[i + 1..]);
                let swapped = format!("{}X{}", left, right);
                for wrong in [format!("{left}{right}"), swapped, format!("{left}X{}", &rest[i..])] {
                    let wrong = format!("{BEGINS}{wrong}");
                    let said = unknown(&wrong);
                    // One letter more or less may be another setting's name.
                    let right = said.as_deref().is_some_and(|t| t.contains(&format!("mean {name}?")));
                    assert!(
                        right || is_known(&wrong) || another_is_as_near(&wrong, name),
                        "{wrong}: {said:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_letter_off_in_the_part_that_all_have() {
        for name in proposed() {
            for wrong in ["ROMP_", "POMP_", "PROMPT_", "PRMOP_", "PROMP", "PROMO_", "PROMP__"] {
                let wrong = name.replacen(BEGINS, wrong, 1);
                let said = unknown(&wrong).unwrap_or_default();
                assert!(said.contains(&format!("mean {name}?")), "{wrong}: {said}");
            }
        }
        for other in ["OMP_NUM_THREADS", "PATH", "DIR", "PROMPT_COMMAND", "GOMP_DEBUG", "PROMPT", "OMP_TOOLS"]
        {
            assert_eq!(unknown(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_answered_may_be_meant() {
        for name in proposed() {
            for wrong in ["PROMP_", "ROMP_", "POMP_", "PROMPT_", "RPOMP_", "XROMP_", "XPROMP_", "PXOMP_"] {
                let wrong = name.replacen(BEGINS, wrong, 1);
                assert!(may_be_meant(wrong.as_bytes()), "{wrong}");
            }
        }
        for other in ["", "X", "HOME", "OMP_NUM_THREADS", "LANG"] {
            assert!(!may_be_meant(other.as_bytes()), "{other}");
        }
    }

    fn another_is_as_near(wrong: &str, right: &str) -> bool {
        let near = |to: &str| distance(wrong, to);
        proposed().any(|n| n != right && near(n) <= near(right))
    }

    #[test]
    fn what_is_nothing_like_a_setting_is_said_to_be_ignored() {
        for known in ["OMP_NUM_THREADS", "PROMP_CKPT_DIR", "PROMP_RUN", "OMP_TOOL"] {
            assert_eq!(unknown(known), None);
        }
        assert!(unknown("PROMP_ROOM_TEMPERATURE").expect("unknown").contains("ignored"));
        assert!(unknown("PROMP_CKPT_DIRS").expect("unknown").contains("did you mean PROMP_CKPT_DIR?"));
        assert!(unknown("PROMP_CKPT_EVERY").is_some());
    }
}
