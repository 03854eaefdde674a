//! The answers of `token create | list | revoke`.

use schemars::JsonSchema;
use serde::Serialize;

/// A token, without its secret.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Token {
    /// Its public name.
    pub id: String,
    /// member, observer or root.
    pub role: String,
    /// For whom its holder acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The only agent that it stands for; absent: whichever the client is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it ends; absent: when it is revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
}

/// The answer of `token create`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Issued {
    /// The token as its holder shows it; it cannot be had again.
    pub secret: String,
    /// What is kept of it.
    pub token: Token,
}

/// The answer of `token list`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Tokens {
    /// Every token that was made, the oldest first.
    pub tokens: Vec<Token>,
}

/// The answer of `token revoke`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Revoked {
    /// What is kept of it.
    pub token: Token,
}
