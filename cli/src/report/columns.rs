//! Tables of texts and numbers. A column in which nothing stands is left out.

/// A table.
pub(crate) struct Columns {
    heads: Vec<Head>,
    rows: Vec<Vec<String>>,
}

/// The head of a column.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    /// What stands in it.
    pub name: &'static str,
    /// Numbers, or texts?
    pub number: bool,
}

/// A column of numbers.
pub(crate) const fn number(name: &'static str) -> Head {
    Head { name, number: true }
}

/// A column of texts.
pub(crate) const fn text(name: &'static str) -> Head {
    Head { name, number: false }
}

/// Does it say nothing?
fn is_empty(cell: &str) -> bool {
    matches!(cell, "" | "-" | "0" | "0 s" | "0.0 MiB")
}

impl Columns {
    /// Those of `heads` that are not empty in all of `rows`.
    pub(crate) fn new(heads: &[Head], rows: Vec<Vec<String>>) -> Self {
        Self::with(heads, rows, &[])
    }

    /// The same with these whatever stands in them.
    pub(crate) fn with(heads: &[Head], rows: Vec<Vec<String>>, always: &[&str]) -> Self {
        let says = |c: usize| always.contains(&heads[c].name) || rows.iter().any(|r| !is_empty(&r[c]));
        let used: Vec<bool> = (0..heads.len()).map(says).collect();
        let rows = rows.into_iter().map(|r| kept(r, &used)).collect();
        Self { heads: kept(heads.to_vec(), &used), rows }
    }

    /// The heads.
    pub(crate) fn heads(&self) -> &[Head] {
        &self.heads
    }

    /// The rows, a cell a head.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// As text, numbers to the right.
    pub(crate) fn text(&self) -> String {
        let width = |c: usize| {
            let cells = self.rows.iter().map(|r| r[c].chars().count());
            cells.chain([self.heads[c].name.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(width).collect();
        let line = |cells: Vec<&str>| {
            let padded =
                cells.iter().zip(&widths).zip(&self.heads).map(|((cell, &width), h)| match h.number {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        let head = line(self.heads.iter().map(|h| h.name).collect());
        let rows = self.rows.iter().map(|r| line(r.iter().map(String::as_str).collect()));
        head + &rows.collect::<String>()
    }
}

/// Those that are used.
fn kept<T>(all: Vec<T>, used: &[bool]) -> Vec<T> {
    all.into_iter().zip(used).filter(|(_, used)| **used).map(|(x, _)| x).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_left_out() {
        let heads = [text("name"), number("n"), number("lost"), text("by")];
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let t = Columns::new(&heads, vec![row(["a", "1", "0", ""]), row(["long", "22", "0 s", "-"])]);
        assert_eq!(t.text(), "name   n\na      1\nlong  22\n");
        let t = Columns::new(&heads, vec![row(["a", "0", "5", "x"])]);
        assert_eq!(t.text(), "name  lost  by\na        5  x\n");
        assert_eq!(Columns::new(&heads, vec![]).text(), "\n");
    }
}
