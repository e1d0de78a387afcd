//! `!$promp` lines in free-form Fortran: the compiler takes them for comments, so the driver hands it a copy of the file in which each
//! is a call, on the same line. (The plugin knows these calls, with an interface or without: rename.cc.)

use std::path::Path;

/// Is it a file of free-form Fortran?
pub fn is_source(name: &str) -> bool {
    let ext = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or("").to_lowercase();
    ["f90", "f95", "f03", "f08", "f18"].contains(&ext.as_str())
}

/// `text` of file `name` with its directives as calls; `None` if it has none. An error is "file:line: what".
pub fn rewrite(name: &str, text: &str) -> Result<Option<String>, String> {
    let mut found = false;
    // Messages name the original.
    let mut out = format!("# 1 \"{name}\"\n");
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let sentinel = trimmed.get(..7).filter(|s| s.eq_ignore_ascii_case("!$promp"));
        match sentinel
            .map(|_| trimmed[7..].trim())
            .filter(|_| trimmed[7..].starts_with([' ', '\t']) || trimmed.len() == 7)
        {
            None => out += line,
            Some(directive) => {
                found = true;
                out += &call(directive).ok_or_else(|| {
                    format!(
                        "{name}:{}: `!$promp {directive}` is not known; it is frags(m), \
                         recompute(static|dynamic), checkpoint, sdc checkpoint or sdc error-detect",
                        i + 1
                    )
                })?;
            }
        }
        out.push('\n');
    }
    Ok(found.then_some(out))
}

fn call(directive: &str) -> Option<String> {
    let lower = directive.to_lowercase().replace(' ', "");
    let argument = |name: &str| {
        let at = directive.to_lowercase().find(name)? + name.len();
        Some(directive[at..].trim().strip_prefix('(')?.strip_suffix(')')?.trim().to_string())
    };
    match &*lower {
        "checkpoint" => Some("call promp_potential_ckpt()".into()),
        "sdccheckpoint" => Some("call promp_sdc_checkpoint()".into()),
        "sdcerror-detect" => Some("call promp_sdc_detect()".into()),
        "recompute(static)" => Some("call promp_recompute(1)".into()),
        "recompute(dynamic)" => Some("call promp_recompute(2)".into()),
        l if l.starts_with("frags(") => {
            let m = argument("frags").filter(|m| !m.is_empty() && !m.contains(['\'', '"', '!', ';']))?;
            Some(format!("call promp_frags(int({m}, kind=4))"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_become_calls_on_the_same_line() {
        let text = "program p\n  !$promp frags(2 * n)\n!$OMP parallel do\n!$PROMP Recompute( static )\n! !$promp frags(1)\nend\n";
        let new = rewrite("p.f90", text).unwrap().unwrap();
        let lines: Vec<&str> = new.lines().collect();
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[0], "# 1 \"p.f90\"");
        assert!(lines[2].ends_with("call promp_frags(int(2 * n, kind=4))"), "{}", lines[2]);
        assert!(lines[4].ends_with("call promp_recompute(1)"), "{}", lines[4]);
        let marks = rewrite("p.f90", "!$promp sdc checkpoint\n!$promp sdc error-detect\n").unwrap().unwrap();
        let called: Vec<&str> = marks.lines().skip(1).collect();
        assert_eq!(called, ["call promp_sdc_checkpoint()", "call promp_sdc_detect()"]);
        assert_eq!((lines[3], lines[5]), ("!$OMP parallel do", "! !$promp frags(1)"));
    }

    #[test]
    fn files_without_directives_are_left_alone_and_wrong_ones_refused() {
        assert_eq!(rewrite("p.f90", "print *, 1\n!$prompt x\nend\n"), Ok(None));
        for bad in
            ["frag(2)", "recompute(guided)", "checkpoint(1)", "sdc", "sdc begin", "frags()", "frags(1; stop)"]
        {
            let e = rewrite("p.f90", &format!("\n!$promp {bad}\n")).unwrap_err();
            assert!(e.starts_with("p.f90:2: ") && e.contains("frags(m)"), "{e}");
        }
    }
}
