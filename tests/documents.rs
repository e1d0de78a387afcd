//! README.md and the pages for users (docs/, docs/howto/): what they tell people to type works, in the order
//! in which it stands there, and prints what they show. From README.md every answer is two steps away.
//!
//! PROMP_WRITE_DOCS=1 puts what the commands have printed into the pages (`make docs`).

use crate::common::pages::{Block, as_shown, blocks, links, shape};
use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Pages for users that are made from tables, or whose commands another test runs.
const ELSEWHERE: [&str; 5] =
    ["docs/environment.md", "docs/api.md", "docs/install.md", "docs/papers.md", "docs/SUMMARY.md"];

/// The pages in a folder of the project's.
fn pages_in(folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(root().join(folder)).expect(folder);
    let names = files.map(|f| f.expect("a file").file_name().into_string().expect("UTF-8"));
    names.filter(|n| n.ends_with(".md")).map(|n| format!("{folder}/{n}")).collect()
}

/// The pages for users.
fn pages() -> Vec<String> {
    let mut all = [vec!["README.md".to_owned()], pages_in("docs"), pages_in("docs/howto")].concat();
    all.retain(|p| !ELSEWHERE.contains(&p.as_str()));
    all.sort();
    all
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|e| panic!("{page}: {e}"))
}

/// What commands are looked for in: promp's own folder first.
fn path() -> String {
    let bin = library().parent().expect("a folder").to_path_buf();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
}

/// Is there such a program (or a part of promp, like its plugin)?
fn there_is(program: &str) -> bool {
    std::env::split_paths(&path()).any(|folder| folder.join(program).is_file())
}

/// A page that is followed by somebody who does what stands there.
struct Reader<'a> {
    page: &'a str,
    folder: PathBuf,
    /// What the last commands have printed, and where in the page they are; none if they were left out.
    said: Option<String>,
    /// The page is to show what comes out, whatever it showed before.
    writes: bool,
    /// Some commands were left out.
    left_out: bool,
    /// Blocks of what is printed further down.
    promised: Vec<Block>,
    /// Line numbers of blocks of output, and what was printed in their place.
    new: BTreeMap<usize, Vec<String>>,
}

impl Reader<'_> {
    /// Does what one block asks for. An error says what came out that is not in the page.
    fn follow(&mut self, block: &Block) -> Result<(), String> {
        let place = format!("{}:{}", self.page, block.line);
        if let Some(reason) = block.mark("not run") {
            assert!(reason.split(' ').count() > 3, "{place}: not run, and why? {reason}");
            self.said = None;
            return Ok(());
        }
        if block.mark("shown below").is_some() {
            self.promised.push(block.clone());
            return Ok(());
        }
        match block.kind.as_str() {
            "sh" => self.run(block, &place),
            "text" => self.compare(block, &place),
            _ => {
                let name = block.mark("file").unwrap_or_else(|| panic!("{place}: which file is it?"));
                std::fs::write(self.folder.join(name), &block.text).expect("target is writable");
                Ok(())
            }
        }
    }

    fn run(&mut self, block: &Block, place: &str) -> Result<(), String> {
        self.said = None;
        let needed = block.mark("needs").unwrap_or_default();
        if let Some(missing) = needed.split_whitespace().find(|p| !there_is(p)) {
            println!("{place}: left out, there is no {missing}");
            self.left_out = true;
            return Ok(());
        }
        let mut c = Command::new("bash");
        clean(&mut c);
        c.args(["-ec", &format!("exec 2>&1\n{}", block.text)]).current_dir(&self.folder).env("PATH", path());
        c.env_remove("MAKEFLAGS");
        let done = limited(c, Duration::from_secs(300));
        let status = block.mark("status").map_or(0, |s| s.parse().expect("a number"));
        let said = done.out.replace(self.folder.to_str().expect("UTF-8"), "/home/me");
        if done.hung || done.status != status {
            return Err(format!(
                "{place}: status {} instead of {status}\n{}\n{said}",
                done.status, block.text
            ));
        }
        self.said = Some(said);
        Ok(())
    }

    /// What the page shows before it comes to that is shown further down, too. Its commands begin with `$`.
    fn keep_promises(&mut self) -> Result<(), String> {
        for block in std::mem::take(&mut self.promised).into_iter().filter(|_| !self.left_out) {
            let shown = |line: &str| {
                let like = |l: &&String| shape(l) == shape(line);
                let there = self.new.values().flatten().find(like).cloned();
                let command = line.starts_with('$').then(|| line.to_owned());
                command.or(there).ok_or(format!("{}:{}: shown nowhere: {line}", self.page, block.line))
            };
            let lines = block.text.lines().map(shown).collect::<Result<_, _>>()?;
            self.new.insert(block.line, lines);
        }
        Ok(())
    }

    fn compare(&mut self, block: &Block, place: &str) -> Result<(), String> {
        let Some(said) = self.said.take() else { return Ok(()) };
        let lines = as_shown(&block.text, &said);
        let lines = match lines {
            None if self.writes => said.lines().map(str::to_owned).collect(),
            None if block.mark("varies").is_some() => return Ok(()),
            None => return Err(format!("{place}: it shows\n{}\nand it is\n{said}", block.text)),
            Some(lines) => lines,
        };
        self.new.insert(block.line, lines);
        Ok(())
    }
}

/// Follows a page from its beginning, in an empty folder.
fn follow(page: &str, text: &str, writes: bool) -> Result<BTreeMap<usize, Vec<String>>, String> {
    let folder = empty_folder(&format!("documents/{}", page.replace(['/', '.'], "_")));
    let (blocks, loose) = blocks(text);
    let from = loose.iter().chain(blocks.iter().flat_map(|b| &b.marks)).filter(|(key, _)| key == "from");
    for (_, from) in from {
        let (other, file) = from.split_once(' ').expect("from: PAGE FILE");
        let path = root().join(page).with_file_name(other);
        let other =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{page}: {}: {e}", path.display()));
        let found = crate::common::pages::blocks(&other).0.into_iter().find(|b| b.mark("file") == Some(file));
        let text = found.unwrap_or_else(|| panic!("{page}: {} has no {file}", path.display())).text;
        std::fs::write(folder.join(file), text).expect("target is writable");
    }
    let (promised, new) = (Vec::new(), BTreeMap::new());
    let mut reader = Reader { page, folder, said: None, writes, left_out: false, promised, new };
    blocks.iter().try_for_each(|b| reader.follow(b))?;
    reader.keep_promises()?;
    Ok(reader.new)
}

/// The page with what was printed in its blocks of output.
fn rewritten(text: &str, new: &BTreeMap<usize, Vec<String>>) -> String {
    let (mut out, mut lines) = (String::new(), text.lines().enumerate());
    while let Some((n, line)) = lines.next() {
        out += &format!("{line}\n");
        if let Some(said) = new.get(&(n + 1)) {
            let indent = &line[..line.len() - line.trim_start().len()];
            said.iter().for_each(|l| out += &format!("{}\n", format!("{indent}{l}").trim_end()));
            let _ = lines.by_ref().map(|(_, l)| l).take_while(|l| l.trim() != "```").count();
            out += &format!("{indent}```\n");
        }
    }
    out
}

/// Follows a page. Chance decides which thread does what: it has three tries.
fn works(page: &str) {
    let writes = std::env::var_os("PROMP_WRITE_DOCS").is_some();
    let text = read(page);
    let mut tries = (0..3).map(|_| follow(page, &text, writes));
    let first = tries.next().expect("a try");
    let done = first.or_else(|e| {
        println!("again: {e}");
        tries.find_map(Result::ok).ok_or(e)
    });
    let new = done.unwrap_or_else(|e| panic!("{e}"));
    if writes {
        std::fs::write(root().join(page), rewritten(&text, &new)).expect("the page is writable");
    }
}

/// A test for each page, and the list of them.
macro_rules! followed {
    ($($test:ident $page:literal)*) => {
        const FOLLOWED: &[&str] = &[$($page),*];
        $(#[test]
        fn $test() {
            works($page);
        })*
    };
}
followed! {
    readme "README.md"
    command "docs/command.md"
    comparison "docs/comparison.md"
    exit_statuses "docs/exit-statuses.md"
    faq "docs/faq.md"
    build_systems "docs/howto/build-systems.md"
    containers "docs/howto/containers.md"
    fortran_batch "docs/howto/fortran-batch.md"
    gpus "docs/howto/gpus.md"
    python "docs/howto/python.md"
    r "docs/howto/r.md"
    slow_loop "docs/howto/slow-loop.md"
    workflows "docs/howto/workflows.md"
    limits "docs/limits.md"
    ompt "docs/ompt.md"
    report "docs/report.md"
    security "docs/security.md"
    tutorial "docs/tutorial.md"
    versions "docs/versions.md"
}

#[test]
fn every_page_is_followed() {
    assert_eq!(pages(), FOLLOWED);
}

/// Commands stand in fenced blocks, where the tests find them, and few are not run.
#[test]
fn every_command_is_found() {
    let mut not_run = Vec::new();
    for page in pages() {
        let text = read(&page);
        for block in blocks(&text).0 {
            let known = ["sh", "text"].contains(&block.kind.as_str()) || block.mark("file").is_some();
            assert!(known || block.mark("not run").is_some(), "{page}:{}: {:?}", block.line, block.kind);
            not_run.extend(block.mark("not run").map(|_| format!("{page}:{}", block.line)));
        }
        let outside = text.split("```").step_by(2);
        for line in outside.flat_map(str::lines) {
            let code = line.strip_prefix("    ").is_some_and(|l| l.starts_with(|c: char| !c.is_whitespace()));
            assert!(!code, "{page}: code without a fence: {line}");
        }
    }
    assert!(not_run.len() <= 20, "{} blocks are not run: {not_run:?}", not_run.len());
}

/// What somebody asks who has nothing but README.md: the question, the page, the words that answer it.
const QUESTIONS: [(&str, &str, &str); 20] = [
    (
        "What happens to a program that loses a thread?",
        "README.md",
        "the others compute the lost chunk again",
    ),
    ("How do I install it?", "docs/install.md", "Rust 1.90"),
    ("Can promp serve my program at all?", "docs/tutorial.md", "`promp doctor PROGRAM` says beforehand"),
    ("Why was my run stopped with status 70?", "docs/exit-statuses.md", "could not be recovered"),
    ("And with 71?", "docs/exit-statuses.md", "a restart was refused"),
    ("What do I do with status 85 in a job script?", "docs/exit-statuses.md", "run the same line again"),
    ("How does my Slurm job go on after its time limit?", "docs/howto/fortran-batch.md", "promp slurm"),
    ("Does it work for Python, with NumPy?", "docs/howto/python.md", "OPENBLAS_NUM_THREADS"),
    ("And for an R script?", "docs/howto/r.md", "PROMP_CRASHES=runtime"),
    (
        "My job is a script of many steps. Where do I put promp?",
        "docs/howto/workflows.md",
        "in front of each program",
    ),
    (
        "How do I build a CMake project with promp-cc?",
        "docs/howto/build-systems.md",
        "-DCMAKE_C_COMPILER=promp-cc",
    ),
    ("Does it work in a container?", "docs/howto/containers.md", "personality"),
    ("Which of my loops is slow?", "docs/howto/slow-loop.md", "parallel efficiency"),
    ("Are wrong results of a GPU found?", "docs/howto/gpus.md", "PROMP_SDC"),
    ("What if a thread hangs?", "docs/faq.md", "--watchdog"),
    ("Can it restart with another number of threads?", "docs/command.md", "--any-threads"),
    ("What does it cost without failures?", "docs/faq.md", "1.01"),
    ("Does it checkpoint MPI jobs?", "docs/limits.md", "MPI"),
    ("Who may read or write a checkpoint?", "docs/security.md", "An image is a program"),
    ("Will next year's promp read today's checkpoint?", "docs/versions.md", "the promp of the run"),
];

/// The pages to which links lead from these.
fn one_step(from: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut found = from.clone();
    for page in from.iter().filter(|p| p.extension().is_some_and(|e| e == "md")) {
        let text = std::fs::read_to_string(page).expect("a page");
        found.extend(links(page, &text));
    }
    found
}

#[test]
fn every_answer_is_two_steps_away() {
    let readme = BTreeSet::from([root().join("README.md").canonicalize().expect("README.md")]);
    let near = one_step(&one_step(&readme));
    for (question, page, words) in QUESTIONS {
        let path = root().join(page).canonicalize().unwrap_or_else(|e| panic!("{question} {page}: {e}"));
        assert!(near.contains(&path), "{question} {page} is further than two steps from README.md");
        let text = read(page).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{question} {page} does not say {words:?}");
    }
    for page in pages() {
        let path = root().join(&page).canonicalize().expect("a page");
        assert!(near.contains(&path), "{page} is further than two steps from README.md");
    }
}

/// The list of pages that mdBook builds the book from.
#[test]
fn the_book_has_all_pages() {
    let summary = root().join("docs/SUMMARY.md");
    let listed = links(&summary, &read("docs/SUMMARY.md"));
    let all = [pages(), pages_in("docs/internals")].concat();
    for page in all.into_iter().filter(|p| p != "README.md") {
        assert!(
            listed.contains(&root().join(&page).canonicalize().expect("a page")),
            "SUMMARY.md lacks {page}"
        );
    }
}

/// Followed to the letter, a page that is wrong is found.
#[test]
fn a_wrong_page_is_found() {
    let page = |text: &str| follow("docs/wrong.md", text, false);
    let hello = "```sh\necho 12 of 13\n```\n\n";
    assert!(page(hello).is_ok());
    assert!(page(&format!("{hello}```text\n1 of 7\n```\n")).is_ok());
    assert!(page(&format!("{hello}```text\n…\n12 of 13\n…\n```\n")).is_ok());
    assert!(
        page(&format!(
            "<!-- shown below: there -->\n```text\n$ echo\n1 of 2\n```\n\n{hello}```text\n3 of 4\n```\n"
        ))
        .is_ok()
    );
    assert!(page("```sh\necho at 0x7f1e, in 2 ms\n```\n\n```text\nat 0x10, in 1.5 s\n```\n").is_ok());
    for wrong in [
        "```sh\nfalse\n```\n".to_owned(),
        "<!-- status: 3 -->\n```sh\ntrue\n```\n".to_owned(),
        "```sh\nfalse\ntrue\n```\n".to_owned(),
        "```sh\ncat missing.c\n```\n".to_owned(),
        format!("{hello}```text\n12 from 13\n```\n"),
        format!("{hello}```text\n12 of 13\nand more\n```\n"),
        "```sh\necho 1; echo 2\n```\n\n```text\n1\n```\n".to_owned(),
        format!("<!-- shown below: where? -->\n```text\n1 of 2\n```\n\n{hello}"),
    ] {
        assert!(page(&wrong).is_err(), "{wrong}");
    }
}

/// tools/style.py counts the words of the pages for users, and of their sentences.
#[test]
fn long_pages_are_seen() {
    let tree = empty_folder("documents/style");
    let put = |file: &str, text: &str| {
        let path = tree.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("target is writable");
        std::fs::write(path, text).expect("target is writable");
    };
    let said = |text: &str| {
        put("docs/howto/page.md", text);
        let o =
            Command::new(root().join("tools/style.py")).arg("--root").arg(&tree).output().expect("style.py");
        (o.status.success(), String::from_utf8_lossy(&o.stdout).into_owned())
    };
    assert!(Command::new("git").args(["init", "-q"]).current_dir(&tree).status().expect("git").success());
    put("style.toml", "[wide]\n");
    put("README.md", "A page. See [the other](docs/howto/page.md).\n");
    let words = |n: usize| "word\n".repeat(n);
    let shown = format!("```text\n{}```\n", words(20_000));
    for fine in
        ["Few words.\n".to_owned(), words(25), shown, format!("<!-- t -->\n{}<!-- /t -->\n", words(20_000))]
    {
        let (fine, said) = said(&fine);
        assert!(fine, "{said}");
    }
    for (text, wanted) in [
        (words(26), "docs/howto/page.md: a sentence of 26 words"),
        ("One. Two. Three. Four.\n\n".repeat(3_000), "pages for users: 12005 words"),
        (format!("{}\n", "long ".repeat(23)), "wider than 110"),
        ("[none](none.md)\n".to_owned(), "leads nowhere"),
    ] {
        let (fine, said) = said(&text);
        assert!(!fine && said.contains(wanted), "{wanted}: {said}");
    }
}
