//! SQL functions of ours.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// Adds `fold(name)`, the form in which two agents are the same, and `holds(json, needle)`, whether a JSON text or one of its
/// strings holds a text, to a connection.
///
/// # Errors
/// When SQLite refuses.
pub fn add(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    conn.create_scalar_function("holds", 2, flags, |context| {
        let (text, needle): (Option<String>, String) = (context.get(0)?, context.get(1)?);
        Ok(text.is_some_and(|text| crate::domain::purge::holds(&text, &needle)))
    })?;
    conn.create_scalar_function("fold", 1, flags, |context| {
        let name: Option<String> = context.get(0)?;
        Ok(name.map(|name| crate::domain::name::fold(&name)))
    })
}
