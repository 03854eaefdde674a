//! Tokens: making them, ending them, and who a caller over HTTP is.

use super::{App, AppError, Caller, now};
use crate::domain::token::{NewToken, Presented, Role, Secret, Token, TokenId};
use crate::domain::{Agent, Reach, Session, Span};
pub use crate::store::sqlite::Admission;

impl App {
    /// Makes a token, and gives it once: only a hash of its secret is kept. `wait` is how long it is good, zero being for ever.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub async fn issue(&self, new: NewToken, wait: Span) -> Result<(Token, String), AppError> {
        let no_random = |_| AppError::internal("the system gave no random numbers");
        let (mut id, mut secret) = ([0; 8], [0; 32]);
        getrandom::fill(&mut id).map_err(no_random)?;
        getrandom::fill(&mut secret).map_err(no_random)?;
        let presented = Presented {
            id: TokenId::from_random(id),
            secret: Secret::from_random(secret),
        };
        let text = presented.text();
        let now = now();
        let new = NewToken {
            expires_at: (!wait.is_zero()).then(|| now.plus(wait)),
            ..new
        };
        Ok((self.store.add_token(presented, new, now).await?, text))
    }

    /// Every token that was made, the oldest first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn tokens(&self) -> Result<Vec<Token>, AppError> {
        Ok(self.store.tokens().await?)
    }

    /// Ends a token: the next request that shows it is refused.
    ///
    /// # Errors
    /// Not found when there is none of this id.
    pub async fn revoke(&self, id: TokenId) -> Result<Token, AppError> {
        Ok(self.store.revoke_token(id, now()).await?)
    }

    /// Whether a caller that shows this, or nothing, may come in.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn admit(&self, shown: Option<String>) -> Result<Admission, AppError> {
        Ok(self.store.admit(shown, now()).await?)
    }

    /// The token of this id, if it is good now.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn good_token(&self, id: TokenId) -> Result<Option<Token>, AppError> {
        Ok(self.store.token(id).await?.filter(|token| token.is_good(now())))
    }

    /// The caller that a visitor is, in the configured project. `client` is what its client calls itself.
    pub fn caller_of(&self, visitor: &Visitor, client: Option<&str>, session: Option<Session>) -> Caller {
        let named = client.and_then(|name| Agent::new(name).ok());
        let base = Caller {
            session,
            cwd: None,
            ..self.caller(None, None)
        };
        match &visitor.token {
            // The settings of this process say who it is; they name no client.
            None => Caller {
                agent: named.unwrap_or(base.agent),
                reach: Reach::Local,
                ..base
            },
            // Who it is cannot be chosen where the token says it.
            Some(token) => {
                let owned = || token.owner.as_ref().and_then(|owner| Agent::new(owner.as_str()).ok());
                let role = || Agent::new(token.role.as_str()).ok();
                let agent = token.agent.clone().or(named).or_else(owned).or_else(role);
                Caller {
                    agent: agent.unwrap_or(base.agent),
                    owner: token.owner.clone(),
                    reach: token.role.reach(visitor.strict),
                    guest: token.role != Role::Root,
                    ..base
                }
            }
        }
    }
}

/// Who came in over HTTP.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The token that was shown; none: no token was ever made, and the server serves this machine alone.
    pub token: Option<Token>,
    /// Whether every packet counts as owned.
    pub strict: bool,
}

impl Visitor {
    /// What tells this visitor from others, for what is counted or kept for each: the token's id, or nothing.
    pub fn name(&self) -> &str {
        self.token.as_ref().map_or("", |token| token.id.as_str())
    }

    /// Whether it may do what only root does: with a root token, or where everyone on this machine may do everything.
    pub fn may_force(&self) -> bool {
        self.token.as_ref().is_none_or(|token| token.role == Role::Root)
    }
}
