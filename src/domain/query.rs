//! Free-text queries: what a text asks for, as terms that an index holds.
//!
//! Any text is a valid query. Nothing in it is an operator: quotes, minus signs, colons and `OR` mean themselves.

mod forms;
mod split;

pub use split::{Piece, TERM_BYTES, split};

/// Most terms of one query; those beyond are not asked for.
pub const QUERY_TERMS: usize = 32;

/// What a query asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// At least one clause; a record with all of them answers best.
    Clauses(Vec<Clause>),
    /// The text holds nothing that is indexed (punctuation alone): it is looked for as it stands.
    Literal(String),
}

/// One thing asked for: a word, or words that stand side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// The terms, which follow each other.
    pub terms: Vec<String>,
    /// What is taken in their place: other forms of the word, the parts of a word of mixed case.
    pub also: Vec<Vec<String>>,
    /// Whether the terms are pairs of characters of a script without spaces.
    pub dense: bool,
}

impl Clause {
    /// Whether this is one word that says little by itself.
    pub fn is_small(&self) -> bool {
        matches!(&self.terms[..], [word] if forms::is_small(word))
    }

    /// The beginning by which longer words are taken when whole ones are too few.
    pub fn beginning(&self) -> Option<&str> {
        match &self.terms[..] {
            [word] if !self.dense && !self.is_small() && word.chars().count() >= 3 => Some(word),
            _ => None,
        }
    }
}

impl Query {
    /// Reads `text`; `None` when it is blank.
    pub fn read(text: &str) -> Option<Self> {
        let mut reader = Reader::default();
        for chunk in text.split_whitespace() {
            split(chunk, &mut |piece| reader.take(piece));
            reader.close();
            if reader.left == 0 {
                break;
            }
        }
        match text.trim() {
            "" => None,
            literal if reader.clauses.is_empty() => Some(Self::Literal(literal.to_owned())),
            _ => Some(Self::Clauses(reader.clauses)),
        }
    }
}

/// Gathers the pieces of one chunk into clauses.
struct Reader {
    clauses: Vec<Clause>,
    terms: Vec<String>,
    parts: Vec<String>,
    dense: bool,
    left: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            clauses: Vec::new(),
            terms: Vec::new(),
            parts: Vec::new(),
            dense: false,
            left: QUERY_TERMS,
        }
    }
}

impl Reader {
    fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Term(term) => self.add(term, false),
            Piece::Pair(pair) => self.add(pair, true),
            Piece::Parts(parts) => self.parts = parts.to_vec(),
            Piece::End => self.close(),
            // A query of one character is a pair's only one; in longer ones the pairs say it.
            Piece::Single(_) => {}
        }
    }

    /// Adds a term. A clause is of one kind of script, so that it may begin and end inside what is glued in a text.
    fn add(&mut self, term: &str, dense: bool) {
        if self.dense != dense {
            self.close();
            self.dense = dense;
        }
        if self.left > 0 {
            self.left -= 1;
            self.terms.push(term.to_owned());
        }
    }

    /// Ends the clause that was being gathered.
    fn close(&mut self) {
        let (terms, parts) = (std::mem::take(&mut self.terms), std::mem::take(&mut self.parts));
        let mut also = Vec::new();
        if let ([word], false) = (&terms[..], self.dense) {
            also.extend(forms::forms(word).into_iter().map(|form| vec![form]));
            if !parts.is_empty() {
                also.push(parts);
            }
        }
        if !terms.is_empty() && !self.clauses.iter().any(|known| known.terms == terms) {
            self.clauses.push(Clause {
                terms,
                also,
                dense: self.dense,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clauses(text: &str) -> Vec<String> {
        match Query::read(text) {
            Some(Query::Clauses(clauses)) => clauses.iter().map(|clause| clause.terms.join(" ")).collect(),
            Some(Query::Literal(text)) => vec![format!("literal {text}")],
            None => Vec::new(),
        }
    }

    #[test]
    fn a_chunk_is_a_phrase_and_nothing_is_an_operator() {
        assert_eq!(clauses("POL-358"), ["pol 358"]);
        assert_eq!(clauses("TODO: fix -foo a OR"), ["todo", "fix", "foo", "a", "or"]);
        assert_eq!(
            clauses("\"unbal src/main.rs std::fs"),
            ["unbal", "src main rs", "std fs"]
        );
        assert_eq!(clauses("C++ don't"), ["c ⧺", "don t"]);
        assert_eq!(clauses("fix fix FIX"), ["fix"]);
    }

    #[test]
    fn script_borders_part_clauses() {
        assert_eq!(clauses("重跑gen-itgc后"), ["重跑", "gen itgc", "后"]);
        assert_eq!(clauses("用户,身份 x"), ["用户", "身份", "x"]);
    }

    #[test]
    fn mixed_case_is_also_its_parts() {
        let Some(Query::Clauses(clauses)) = Query::read("getUserName") else {
            panic!("clauses")
        };
        assert_eq!(clauses[0].terms, ["getusername"]);
        assert!(
            clauses[0]
                .also
                .contains(&vec!["get".into(), "user".into(), "name".into()])
        );
    }

    #[test]
    fn punctuation_alone_is_literal_and_blank_is_nothing() {
        assert_eq!(clauses(" -> "), ["literal ->"]);
        assert_eq!(Query::read(" \n\t"), None);
    }

    #[test]
    fn a_long_query_is_capped() {
        let text: String = (0..900).map(|n| format!("w{n} ")).collect();
        assert_eq!(clauses(&text).len(), QUERY_TERMS);
        assert_eq!(clauses(&"用".repeat(1300)), [["用用"; QUERY_TERMS].join(" ")]);
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(text in any::<String>()) {
            match Query::read(&text) {
                None => prop_assert!(text.trim().is_empty()),
                Some(Query::Literal(literal)) => prop_assert_eq!(literal, text.trim()),
                Some(Query::Clauses(clauses)) => for clause in clauses {
                    prop_assert!(!clause.terms.is_empty());
                    for term in clause.terms.iter().chain(clause.also.iter().flatten()) {
                        prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES && !term.contains([' ', '"']));
                    }
                },
            }
        }
    }
}
