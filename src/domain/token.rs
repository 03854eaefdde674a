//! Tokens: what a caller over HTTP shows to say who it is.
//!
//! A token is `hmt_<id>_<secret>`: 16 and 64 hex digits. The id is public and names it in lists; of the secret, which is 32
//! random bytes, only the SHA-256 is kept. That is enough: nobody finds 256 random bits by trying.

use std::fmt;

use super::actor::Reach;
use super::{Agent, Hash, Invalid, Owner, Time};

const PREFIX: &str = "hmt_";

/// A token's public name: 16 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(String);

impl TokenId {
    /// The id that random bytes make.
    pub fn from_random(bytes: [u8; 8]) -> Self {
        Self(hex(&bytes))
    }

    /// Reads an id, or a whole token, whose secret is then left aside.
    ///
    /// # Errors
    /// When it is neither.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let id = text
            .strip_prefix(PREFIX)
            .map_or(text, |rest| rest.split('_').next().unwrap_or_default());
        if is_hex(id, 16) {
            Ok(Self(id.to_owned()))
        } else {
            // What came may be a secret, so that it is not repeated.
            Err(Invalid::new(
                "id",
                "something else",
                "a token's id of 16 hex digits, as `token list` shows it",
            ))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A token's secret part: 64 hex digits. Never printed but by [`Presented::text`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret that random bytes make.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(hex(&bytes))
    }

    /// What is kept of it.
    pub fn hash(&self) -> String {
        Hash::of(&[self.0.as_bytes()]).to_string()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A whole token, as a caller shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presented {
    /// Its public name.
    pub id: TokenId,
    /// Its secret.
    pub secret: Secret,
}

impl Presented {
    /// Takes a token apart; none when it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        (is_hex(id, 16) && is_hex(secret, 64)).then(|| Self {
            id: TokenId(id.to_owned()),
            secret: Secret(secret.to_owned()),
        })
    }

    /// The token as its holder keeps it.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret.0)
    }
}

/// What a token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Acts for its owner.
    Member,
    /// Sees what there is, without texts; changes nothing.
    Observer,
    /// Sees everything, and may end what belongs to others.
    Root,
}

impl Role {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Observer => "observer",
            Self::Root => "root",
        }
    }

    /// The role of a word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Member, Self::Observer, Self::Root]
            .into_iter()
            .find(|role| role.as_str() == word)
    }

    /// How far its holder sees; `strict`: every packet counts as owned.
    pub fn reach(self, strict: bool) -> Reach {
        match self {
            Self::Root => Reach::Root,
            Self::Observer => Reach::Observer,
            Self::Member if strict => Reach::Owned,
            Self::Member => Reach::Shared,
        }
    }
}

/// A token to make, checked.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What it is good for.
    pub role: Role,
    /// For whom its holder acts.
    pub owner: Option<Owner>,
    /// The only agent that it stands for; none: whichever the client is.
    pub agent: Option<Agent>,
    /// When it ends; none: when it is revoked.
    pub expires_at: Option<Time>,
}

impl NewToken {
    /// A token; one of a member stands for an owner, an agent or both.
    ///
    /// # Errors
    /// When a member's stands for nobody.
    pub fn new(role: Role, owner: Option<Owner>, agent: Option<Agent>) -> Result<Self, Invalid> {
        if role == Role::Member && owner.is_none() && agent.is_none() {
            return Err(Invalid::new(
                "--owner",
                "missing",
                "the person whose agents use the token, or --agent, or --root or --observer",
            ));
        }
        Ok(Self {
            role,
            owner,
            agent,
            expires_at: None,
        })
    }
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its public name.
    pub id: TokenId,
    /// What it is good for.
    pub role: Role,
    /// For whom its holder acts.
    pub owner: Option<Owner>,
    /// The only agent that it stands for.
    pub agent: Option<Agent>,
    /// When it was made.
    pub created_at: Time,
    /// When it ends.
    pub expires_at: Option<Time>,
    /// When it was revoked.
    pub revoked_at: Option<Time>,
}

impl Token {
    /// Whether it is good at this instant.
    pub fn is_good(&self, now: Time) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > now)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_to_text_and_back_and_shows_its_secret_nowhere_else() {
        let token = Presented {
            id: TokenId::from_random([1; 8]),
            secret: Secret::from_random([2; 32]),
        };
        let text = token.text();
        assert_eq!(text.len(), 4 + 16 + 1 + 64);
        assert_eq!(Presented::parse(&text), Some(token.clone()));
        assert_eq!(TokenId::new(&text).unwrap(), token.id);
        assert_eq!(TokenId::new(token.id.as_str()).unwrap(), token.id);
        assert!(!format!("{token:?}").contains("0202"));
        for wrong in [
            "",
            "hmt_",
            &text[1..],
            &text[..text.len() - 1],
            &text.to_uppercase(),
            &format!("{text} "),
        ] {
            assert_eq!(Presented::parse(wrong), None, "{wrong}");
        }
        let error = TokenId::new("hmt_secret").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn a_member_stands_for_somebody() {
        assert!(NewToken::new(Role::Member, None, None).is_err());
        assert!(NewToken::new(Role::Observer, None, None).is_ok());
        for role in [Role::Member, Role::Observer, Role::Root] {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
    }
}
