//! `token create | list | revoke`: who may come in over HTTP.

use clap::{Args, Subcommand};

use super::Face;
use super::output::{Done, Ran, say};
use super::print::{FAINT, styled, table, visible};
use super::words::given;
use crate::domain::token::{NewToken, Role, TokenId};
use crate::domain::{Agent, Owner, Span, Time};
use crate::wire::make;

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum Tokens {
    /// Make a token for --owner, for --agent, or for that agent of that owner alone; prints it once
    ///
    /// Of its secret only a hash is kept. From the first token on, `serve` lets nobody in without one.
    Create(Create),
    /// Every token that was made, the oldest first
    List,
    /// End a token: the next request that shows it is refused
    Revoke(Revoke),
}

/// What `token create` takes.
#[derive(Debug, Args)]
pub struct Create {
    /// It sees everything, and may end what belongs to others
    #[arg(long, conflicts_with = "observer")]
    root: bool,
    /// It sees what there is, without texts, and changes nothing
    #[arg(long)]
    observer: bool,
    /// How long it is good: 12h, 90d; 0: until it is revoked
    #[arg(long, alias = "expires_in", value_name = "SPAN", default_value = "0")]
    expires_in: String,
}

/// What `token revoke` takes.
#[derive(Debug, Args)]
pub struct Revoke {
    /// The token's id, as `token list` shows it
    id: String,
}

/// Runs one of them.
pub async fn run(face: &mut Face, command: Tokens) -> Ran {
    match command {
        Tokens::Create(args) => create(face, args).await,
        Tokens::List => list(face).await,
        Tokens::Revoke(args) => revoke(face, args).await,
    }
}

async fn create(face: &mut Face, args: Create) -> Ran {
    // Only what stands beside the word counts: a variable of this shell says who is here, and not who the token is for.
    let owner = given(face.flags.owner.clone())
        .map(|text| Owner::named("--owner", &text))
        .transpose()?;
    let agent = given(face.flags.agent.clone())
        .map(|text| Agent::named("--agent", &text))
        .transpose()?;
    let role = match (args.root, args.observer) {
        (true, _) => Role::Root,
        (false, true) => Role::Observer,
        (false, false) => Role::Member,
    };
    let wait = Span::parse("expires_in", &args.expires_in)?;
    let (token, secret) = face.app.issue(NewToken::new(role, owner, agent)?, wait).await?;
    let answer = make::issued(&token, secret);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    face.out.line(&answer.secret)?;
    face.out.flush()?;
    say("handoff-memory: keep it now, it is not shown again; a request carries it as `Authorization: Bearer TOKEN`");
    Ok(Done::Well)
}

async fn list(face: &mut Face) -> Ran {
    let tokens = face.app.tokens().await?;
    let answer = make::tokens(&tokens);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    if answer.tokens.is_empty() {
        face.out.line("no tokens: `serve` lets everyone on this machine in")?;
        return Ok(Done::Well);
    }
    let now = face.app.ago(Span::parse("now", "0")?);
    let rows = tokens.iter().map(|token| {
        let text = |name: Option<String>| name.unwrap_or_else(|| "-".to_owned());
        let cells = vec![
            token.id.to_string(),
            token.role.as_str().to_owned(),
            text(token.owner.as_ref().map(ToString::to_string)),
            text(token.agent.as_ref().map(ToString::to_string)),
            day(token.created_at),
            match (token.revoked_at, token.expires_at) {
                (Some(at), _) => format!("revoked {}", day(at)),
                (None, Some(end)) if end <= now => format!("ended {}", day(end)),
                (None, Some(end)) => format!("until {}", day(end)),
                (None, None) => "good".to_owned(),
            },
        ];
        (
            cells,
            if token.is_good(now) {
                anstyle::Style::new()
            } else {
                FAINT
            },
        )
    });
    let width = face.out.width();
    for line in table(
        &[".ID", ".ROLE", "OWNER", "AGENT", ".MADE", ".STATE"],
        rows.collect(),
        width,
    ) {
        face.out.line(line)?;
    }
    Ok(Done::Well)
}

async fn revoke(face: &mut Face, args: Revoke) -> Ran {
    let token = face.app.revoke(TokenId::new(&args.id)?).await?;
    let answer = make::revoked(&token);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    let whose = answer.token.owner.as_deref().unwrap_or("nobody in particular");
    face.out
        .line(format!("revoked: {} of {}", answer.token.id, visible(whose)))?;
    face.out
        .line(styled(FAINT, "the next request that shows it is refused"))?;
    Ok(Done::Well)
}

fn day(at: Time) -> String {
    at.to_string().chars().take(10).collect()
}
