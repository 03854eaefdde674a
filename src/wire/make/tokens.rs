//! Tokens.

use crate::domain::token;
use crate::wire::{Issued, Revoked, Token, Tokens};

/// A token, without its secret.
pub fn token(token: &token::Token) -> Token {
    Token {
        id: token.id.to_string(),
        role: token.role.as_str().to_owned(),
        owner: token.owner.as_ref().map(ToString::to_string),
        agent: token.agent.as_ref().map(ToString::to_string),
        created_at: token.created_at.to_string(),
        expires_at: token.expires_at.map(|at| at.to_string()),
        revoked_at: token.revoked_at.map(|at| at.to_string()),
    }
}

/// A token that was made, with its secret for once.
pub fn issued(made: &token::Token, secret: String) -> Issued {
    Issued {
        secret,
        token: token(made),
    }
}

/// Every token.
pub fn tokens(all: &[token::Token]) -> Tokens {
    Tokens {
        tokens: all.iter().map(token).collect(),
    }
}

/// A token that was ended.
pub fn revoked(ended: &token::Token) -> Revoked {
    Revoked { token: token(ended) }
}
