//! Types as NumPy has them.

use std::fmt::Write;

/// An element.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A kind as NumPy names it (`i`, `u`, `f`, `c`, `b`, `S`), and its bytes.
    Number(char, usize),
    /// A structure: its bytes; of each member name, offset, type.
    Structure(usize, Vec<(String, usize, Shape)>),
}

/// An array of elements; without dimensions: one.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Of what.
    pub element: Element,
    /// How many, from the first index on.
    pub dimensions: Vec<u64>,
    /// The first index changes fastest (Fortran).
    pub by_columns: bool,
}

impl Element {
    /// Its size.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Number(_, n) | Self::Structure(n, _) => *n,
        }
    }

    /// NumPy's description, a Python literal.
    pub fn text(&self) -> String {
        match self {
            Self::Number(kind, n) => {
                let order = if *n == 1 || *kind == 'S' { '|' } else { '<' };
                format!("'{order}{kind}{n}'")
            }
            Self::Structure(bytes, members) => {
                let (mut text, mut at) = (String::from("["), 0);
                let gap = |text: &mut String, n: usize| {
                    if n > 0 {
                        let _ = write!(text, "('', '|V{n}'), ");
                    }
                };
                for (name, offset, shape) in members {
                    gap(&mut text, offset - at);
                    let dimensions: String = shape.dimensions.iter().map(|n| format!("{n},")).collect();
                    let of = shape.element.text();
                    let _ = match dimensions.is_empty() {
                        true => write!(text, "('{name}', {of}), "),
                        false => write!(text, "('{name}', {of}, ({dimensions})), "),
                    };
                    at = offset + shape.bytes();
                }
                gap(&mut text, bytes - at);
                text + "]"
            }
        }
    }
}

impl Shape {
    /// One element.
    pub fn one(element: Element) -> Self {
        Self { element, dimensions: Vec::new(), by_columns: false }
    }

    /// Its size; `usize::MAX` where there is no number for it.
    pub fn bytes(&self) -> usize {
        let of = |n: usize, d: &u64| n.checked_mul(usize::try_from(*d).ok()?);
        self.dimensions.iter().try_fold(self.element.bytes(), of).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_gaps() {
        let number = |kind, n| Shape::one(Element::Number(kind, n));
        let three = Shape { dimensions: vec![3], ..number('f', 8) };
        let s = Element::Structure(40, vec![("a".into(), 0, number('i', 4)), ("b".into(), 8, three)]);
        assert_eq!(s.text(), "[('a', '<i4'), ('', '|V4'), ('b', '<f8', (3,)), ('', '|V8'), ]");
        assert_eq!(Element::Number('i', 1).text(), "'|i1'");
        let many = Shape { dimensions: vec![u64::MAX, 2], ..number('f', 8) };
        assert_eq!(many.bytes(), usize::MAX);
    }
}
