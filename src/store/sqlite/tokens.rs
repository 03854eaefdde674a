//! Tokens: kept beside the projects, outside their ledgers. Only a hash of each secret is here.

use rusqlite::{Connection, OptionalExtension, Row, params};
use subtle::ConstantTimeEq as _;

use super::fail::Fail;
use super::schema;
use super::versions::stored;
use crate::domain::token::{NewToken, Presented, Role, Token, TokenId};
use crate::domain::{Agent, Owner, Refusal, Time};

const COLUMNS: &str = "id, role, owner, agent, created_at, expires_at, revoked_at, hash";

/// What became of a token that was shown, or of none.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// No token was ever made for this store.
    Open,
    /// It is good.
    Known(Token),
    /// Tokens were made for this store, and none was shown.
    Missing,
    /// It is none of this store's, or is not good any more.
    Refused,
}

/// Keeps a new token.
pub fn add(conn: &Connection, token: &Presented, new: &NewToken, now: Time) -> Result<Token, Fail> {
    conn.prepare_cached(
        "INSERT INTO token (id, hash, role, owner, agent, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        token.id.as_str(),
        token.secret.hash(),
        new.role.as_str(),
        new.owner.as_ref().map(Owner::as_str),
        new.agent.as_ref().map(Agent::as_str),
        now.to_string(),
        new.expires_at.map(|at| at.to_string()),
    ])?;
    find(conn, &token.id)?
        .map(|(token, _)| token)
        .ok_or_else(|| Fail::Damaged("a token that was written is not there".to_owned()))
}

/// Every token that was made, the oldest first.
pub fn all(conn: &Connection) -> Result<Vec<Token>, Fail> {
    if !schema::is_current(conn)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM token ORDER BY created_at, id"))?;
    let rows = statement.query_map([], |row| Ok(token(row)))?;
    rows.map(|row| Ok(row??.0)).collect()
}

/// The token of this id.
pub fn one(conn: &Connection, id: &TokenId) -> Result<Option<Token>, Fail> {
    if !schema::is_current(conn)? {
        return Ok(None);
    }
    Ok(find(conn, id)?.map(|(token, _)| token))
}

/// Ends a token; one that has been ended stays as it is.
pub fn revoke(conn: &Connection, id: &TokenId, now: Time) -> Result<Token, Fail> {
    conn.prepare_cached("UPDATE token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL")?
        .execute(params![id.as_str(), now.to_string()])?;
    match find(conn, id)? {
        Some((token, _)) => Ok(token),
        None => Err(unknown(id).into()),
    }
}

/// That there is no such token.
pub fn unknown(id: &TokenId) -> Refusal {
    Refusal::not_found(
        format!("there is no token {id}"),
        "`handoff-memory token list` shows which there are",
    )
}

/// Whether a caller that shows this may come in.
pub fn admit(conn: &Connection, shown: Option<&str>, now: Time) -> Result<Admission, Fail> {
    // An older file has no such table, and so no tokens.
    if !schema::is_current(conn)? {
        return Ok(Admission::Open);
    }
    let any: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM token)")?
        .query_row([], |row| row.get(0))?;
    if !any {
        return Ok(Admission::Open);
    }
    let Some(shown) = shown else {
        return Ok(Admission::Missing);
    };
    let Some(shown) = Presented::parse(shown) else {
        return Ok(Admission::Refused);
    };
    let Some((token, hash)) = find(conn, &shown.id)? else {
        return Ok(Admission::Refused);
    };
    let same: bool = shown.secret.hash().as_bytes().ct_eq(hash.as_bytes()).into();
    Ok(if same && token.is_good(now) {
        Admission::Known(token)
    } else {
        Admission::Refused
    })
}

fn find(conn: &Connection, id: &TokenId) -> Result<Option<(Token, String)>, Fail> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM token WHERE id = ?1"))?
        .query_row([id.as_str()], |row| Ok(token(row)))
        .optional()?
        .transpose()
}

fn token(row: &Row) -> Result<(Token, String), Fail> {
    let damaged = || Fail::Damaged("a token cannot be read".to_owned());
    let text = |column: usize| -> rusqlite::Result<Option<String>> { row.get(column) };
    let time = |column: usize| text(column)?.map(|at| Time::parse(&at).ok_or_else(damaged)).transpose();
    let token = Token {
        id: stored(TokenId::new(&text(0)?.unwrap_or_default()))?,
        role: Role::parse(&text(1)?.unwrap_or_default()).ok_or_else(damaged)?,
        owner: text(2)?.map(|name| stored(Owner::new(&name))).transpose()?,
        agent: text(3)?.map(|name| stored(Agent::new(&name))).transpose()?,
        created_at: time(4)?.ok_or_else(damaged)?,
        expires_at: time(5)?,
        revoked_at: time(6)?,
    };
    Ok((token, row.get(7)?))
}
