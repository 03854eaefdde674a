//! Reading rows that may hold anything.

use std::collections::HashMap;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::{CHUNK, Check};
use crate::domain::Hash;

/// A table walked by its row number.
pub struct Walk {
    /// Its name, for a fault.
    pub name: &'static str,
    /// A query on `?1`, the least row number to go on with, and `?2`, how many rows; the row number comes first, and the
    /// rows ascend by it.
    pub sql: &'static str,
}

impl Walk {
    /// Reads one chunk in one moment; the last row number, or none at the end.
    pub fn chunk<'a>(
        &self,
        check: &mut Check<'a>,
        least: i64,
        each: &mut impl FnMut(&mut Check<'a>, &Cells),
    ) -> rusqlite::Result<Option<i64>> {
        let conn = check.conn;
        let moment = conn.unchecked_transaction()?;
        let mut statement = moment.prepare_cached(self.sql)?;
        let mut rows = statement.query((least, CHUNK as i64))?;
        let mut reached = None;
        while let Some(row) = rows.next()? {
            reached = Some(row.get(0)?);
            each(check, &Cells(row));
        }
        Ok(reached)
    }
}

/// What a row holds where something else belongs.
pub type Wrong = String;

/// One row, its columns read by what they must be.
pub struct Cells<'r>(pub &'r Row<'r>);

impl<'r> Cells<'r> {
    fn value(&self, column: usize) -> Result<ValueRef<'r>, Wrong> {
        self.0
            .get_ref(column)
            .map_err(|_| format!("column {column} is missing"))
    }

    fn wrong(&self, column: usize, wanted: &str) -> Wrong {
        let name = self.0.as_ref().column_name(column).unwrap_or("?").to_owned();
        format!("{name} is not {wanted}")
    }

    /// A text.
    pub fn text(&self, column: usize) -> Result<String, Wrong> {
        self.str(column).map(str::to_owned)
    }

    /// A text, or nothing.
    pub fn maybe(&self, column: usize) -> Result<Option<String>, Wrong> {
        Ok(self.maybe_str(column)?.map(str::to_owned))
    }

    /// A text where it lies: entries and versions are most of the rows.
    pub fn str(&self, column: usize) -> Result<&'r str, Wrong> {
        self.maybe_str(column)?.ok_or_else(|| self.wrong(column, "a text"))
    }

    /// A text where it lies, or nothing.
    pub fn maybe_str(&self, column: usize) -> Result<Option<&'r str>, Wrong> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.wrong(column, "UTF-8")),
            },
            _ => Err(self.wrong(column, "a text")),
        }
    }

    /// A whole number.
    pub fn integer(&self, column: usize) -> Result<i64, Wrong> {
        self.maybe_integer(column)?
            .ok_or_else(|| self.wrong(column, "a whole number"))
    }

    /// A whole number, or nothing.
    pub fn maybe_integer(&self, column: usize) -> Result<Option<i64>, Wrong> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            _ => Err(self.wrong(column, "a whole number")),
        }
    }

    /// A number.
    pub fn number(&self, column: usize) -> Result<f64, Wrong> {
        match self.value(column)? {
            ValueRef::Real(number) => Ok(number),
            ValueRef::Integer(number) => Ok(number as f64),
            _ => Err(self.wrong(column, "a number")),
        }
    }

    /// The salted hash of a stored text, given by the columns of its nonce and of its body, or nothing where it was
    /// emptied. The bytes are hashed where they lie: texts are most of a file.
    pub fn text_hash(&self, nonce: usize, body: usize) -> Result<Option<Hash>, Wrong> {
        match (self.value(nonce)?, self.value(body)?) {
            (ValueRef::Null, ValueRef::Null) => Err("its stored text is not there".to_owned()),
            (ValueRef::Blob([]), ValueRef::Text([])) => Ok(None),
            (ValueRef::Blob(nonce), ValueRef::Text(body)) => Ok(Some(Hash::of(&[nonce, body]))),
            _ => Err("its stored text is not bytes and a text".to_owned()),
        }
    }
}

/// A set of row numbers up to a bound. Row numbers are given one by one from 1, and a damaged file may hold any: only
/// the pages of numbers that are there take memory.
pub struct Bits {
    pages: HashMap<i64, Box<[u64; WORDS]>>,
    bound: i64,
}

/// How many words of 64 numbers stand together.
const WORDS: usize = 512;

impl Bits {
    /// An empty set of numbers up to `bound`.
    pub fn up_to(bound: i64) -> Self {
        Self {
            pages: HashMap::new(),
            bound,
        }
    }

    /// Puts a number in; one past the bound is left out.
    pub fn put(&mut self, number: i64) {
        if number <= self.bound {
            let (page, word, bit) = place(number);
            self.pages.entry(page).or_insert_with(|| Box::new([0; WORDS]))[word] |= bit;
        }
    }

    /// Whether a number is in. One past the bound counts as in: it came later.
    pub fn has(&self, number: i64) -> bool {
        let (page, word, bit) = place(number);
        number > self.bound || self.pages.get(&page).is_some_and(|words| words[word] & bit != 0)
    }
}

fn place(number: i64) -> (i64, usize, u64) {
    let size = WORDS as i64 * 64;
    let within = usize::try_from(number.rem_euclid(size)).unwrap_or(0);
    (number.div_euclid(size), within / 64, 1 << (within % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_what_was_put_in() {
        let mut bits = Bits::up_to(130);
        bits.put(1);
        bits.put(130);
        assert_eq!(
            [i64::MIN, -1, 0, 1, 2, 129, 130, 131, i64::MAX].map(|n| bits.has(n)),
            [false, false, false, true, false, false, true, true, true]
        );
        let mut wide = Bits::up_to(i64::MAX);
        for number in [i64::MIN, i64::MAX] {
            assert!(!wide.has(number));
            wide.put(number);
            assert!(wide.has(number));
        }
        assert_eq!(wide.pages.len(), 2);
    }
}
