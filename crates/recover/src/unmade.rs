//! Silent errors: what was asked for and is not done is said, once. Faults that need a search are ignored
//! without it, at the beginning; checks that were not made, at the end.

use super::report;
use crate::icv::Globals;
use crate::icv::devices::Mode;
use crate::say;
use promp_report::Sdc;

/// How GCC's images are judged, and what is said of a kernel without one.
pub const NO_PTX: &str = "no PTX to judge it by";

/// Says what is ignored. Is there to be a word at the end?
pub(crate) fn start(g: &Globals) -> bool {
    let mode = g.promp.devices.sdc;
    let chunks = matches!(mode, Mode::Chunks(_));
    let kernels = !chunks && mode != Mode::Off;
    let silent = &g.promp.silent;
    if g.promp.verbose >= 1 {
        if silent.iter().any(|f| f.chunk) && !chunks {
            say!("the silent errors of chunks in PROMP_FAULT are ignored: they need PROMP_SDC=chunks:P%");
        }
        if silent.iter().any(|f| !f.chunk) && !kernels {
            say!(
                "the silent errors of kernels in PROMP_FAULT are ignored: they need PROMP_SDC=eager or lazy"
            );
        }
    }
    kernels || (chunks && silent.iter().any(|f| f.chunk))
}

/// The program ends: says which checks were not made.
pub(crate) fn at_end(g: &Globals) {
    let of_chunks = match g.promp.devices.sdc {
        _ if g.promp.verbose == 0 => return,
        Mode::Off => return,
        mode => matches!(mode, Mode::Chunks(_)),
    };
    let sdc = report::SDC.get().and_then(|collect| collect());
    if !of_chunks && let Some(line) = line(&shown(g.promp.devices.sdc), sdc.as_ref()) {
        say!("{line}");
    }
    let wanted = g.promp.silent.iter().filter(|f| f.chunk == of_chunks).count();
    if wanted > 0 && sdc.is_none_or(|s| s.injected == 0) {
        say!(
            "none of the silent errors in PROMP_FAULT ({wanted}) struck: nothing that they name was executed \
             and verified"
        );
    }
}

/// PROMP_SDC, where it searches on devices.
fn shown(mode: Mode) -> String {
    match mode {
        Mode::Lazy(n @ 1..) => format!("lazy:{n}"),
        Mode::Lazy(_) => "lazy".into(),
        _ => "eager".into(),
    }
}

/// What is to be said of a search for silent errors of kernels that was `set` by PROMP_SDC.
fn line(set: &str, sdc: Option<&Sdc>) -> Option<String> {
    let Some(s) = sdc else {
        return Some(format!(
            "PROMP_SDC={set} has verified nothing: no device was used, and it looks at kernels on devices \
             (PROMP_DEVICES). Loops on CPUs: PROMP_SDC=chunks:5%"
        ));
    };
    let all = s.kernels + s.unverified_launches;
    if all == 0 {
        return Some(format!("PROMP_SDC={set} has verified nothing: no kernel was executed on a device"));
    }
    if s.unverified_launches == 0 {
        return None;
    }
    let first = s.unverified.first().map_or("a reason that is not known", |u| u);
    let more = match s.unverified.len() {
        0 | 1 => String::new(),
        n => format!("; {} more in the report", n - 1),
    };
    let unread = s.unverified.iter().any(|u| u.ends_with(NO_PTX));
    let todo = match unread {
        true => ", or build with an offload compiler, so that they can be judged",
        false => "",
    };
    Some(format!(
        "PROMP_SDC={set}: {} of {all} executions of kernels were not verified ({first}{more}). Vouch for \
         kernels that give the same again with PROMP_SDC_ASSUME{todo}",
        s.unverified_launches
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_that_were_not_made_are_counted() {
        let said = |kernels, unverified_launches, names: &[&str]| {
            let unverified = names.iter().map(|n| n.to_string()).collect();
            line("lazy", Some(&Sdc { kernels, unverified_launches, unverified, ..Sdc::default() }))
        };
        assert_eq!(said(3, 0, &[]), None);
        assert!(line("lazy:4", None).is_some_and(|l| l.contains("lazy:4") && l.contains("no device")));
        assert!(said(0, 0, &[]).is_some_and(|l| l.contains("no kernel was executed")));
        let l = said(0, 281, &["f: no PTX to judge it by", "g: clocks"]).expect("a line");
        for word in ["281 of 281", "f: no PTX", "1 more", "PROMP_SDC_ASSUME", "offload compiler"] {
            assert!(l.contains(word), "{word}: {l}");
        }
        let l = said(5, 2, &["g: clocks"]).expect("a line");
        assert!(l.contains("2 of 7") && !l.contains("offload") && !l.contains("more"), "{l}");
    }
}
