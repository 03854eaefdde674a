//! Reading rows that may hold anything.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::{CHUNK, Check};

/// A table walked by its row number.
pub struct Walk {
    /// Its name, for a fault.
    pub name: &'static str,
    /// A query on `?1`, the row number after which to go on, and `?2`, how many rows; the row number comes first, and the
    /// rows ascend by it.
    pub sql: &'static str,
}

impl Walk {
    /// Reads one chunk in one moment; the last row number, or none at the end.
    pub fn chunk<'a>(
        &self,
        check: &mut Check<'a>,
        last: i64,
        each: &mut impl FnMut(&mut Check<'a>, &Cells),
    ) -> rusqlite::Result<Option<i64>> {
        let conn = check.conn;
        let moment = conn.unchecked_transaction()?;
        let mut statement = moment.prepare_cached(self.sql)?;
        let mut rows = statement.query((last, CHUNK as i64))?;
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

impl Cells<'_> {
    fn value(&self, column: usize) -> Result<ValueRef<'_>, Wrong> {
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
        self.maybe(column)?.ok_or_else(|| self.wrong(column, "a text"))
    }

    /// A text, or nothing.
    pub fn maybe(&self, column: usize) -> Result<Option<String>, Wrong> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
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

    /// Bytes, or nothing.
    pub fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, Wrong> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) => Ok(Some(bytes.to_vec())),
            _ => Err(self.wrong(column, "bytes")),
        }
    }
}

/// A set of row numbers from 1 to a bound.
pub struct Bits {
    words: Vec<u64>,
    bound: u64,
}

/// Row numbers are given one by one, so that one past this stands for damage and not for a large store.
const LARGEST: u64 = 1 << 34;

impl Bits {
    /// An empty set of numbers up to `bound`.
    pub fn up_to(bound: u64) -> Self {
        let bound = bound.min(LARGEST);
        Self {
            words: vec![0; usize::try_from(bound / 64 + 1).unwrap_or(0)],
            bound,
        }
    }

    /// Puts a number in; one past the bound is left out.
    pub fn put(&mut self, number: i64) {
        if let Some((word, bit)) = self.place(number) {
            self.words[word] |= bit;
        }
    }

    /// Whether a number is in. One past the bound counts as in: it came later.
    pub fn has(&self, number: i64) -> bool {
        match self.place(number) {
            Some((word, bit)) => self.words[word] & bit != 0,
            None => u64::try_from(number).is_ok_and(|number| number > self.bound && number <= LARGEST),
        }
    }

    fn place(&self, number: i64) -> Option<(usize, u64)> {
        let number = u64::try_from(number).ok().filter(|number| *number <= self.bound)?;
        Some((usize::try_from(number / 64).ok()?, 1 << (number % 64)))
    }
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
            [0, 1, 2, 129, 130, 131, -1].map(|n| bits.has(n)),
            [false, true, false, false, true, true, false]
        );
        assert!(!Bits::up_to(u64::MAX >> 30).has(i64::MAX));
    }
}
