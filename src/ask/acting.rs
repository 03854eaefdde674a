//! Who a request says that it is for. Over HTTP the token says it: a body may only say the same.

use super::Arguments;
use crate::domain::{Agent, Owner, Refusal, Session};

/// The names under which a body may say who acts.
const AGENT: [&str; 3] = ["agent", "author", "from_agent"];

/// Takes what a request says of its agent, owner and session; gives the session.
///
/// # Errors
/// When a name is none, or another than the caller's.
pub fn session(arguments: &mut Arguments, agent: &Agent, owner: Option<&Owner>) -> Result<Option<Session>, Refusal> {
    let other = |field: &str, said: &str, is: &str| {
        Refusal::not_allowed(
            format!("{field}: got {said}, but this request comes from {is}"),
            format!("leave {field} out; who acts is told by the token"),
        )
    };
    for field in AGENT {
        if let Some(said) = arguments.string(field)?
            && Agent::named(field, &said)? != *agent
        {
            return Err(other(field, &said, agent.as_str()));
        }
    }
    if let Some(said) = arguments.string("owner")? {
        let said = Owner::new(&said)?;
        if Some(&said) != owner {
            return Err(other(
                "owner",
                said.as_str(),
                owner.map_or("nobody in particular", Owner::as_str),
            ));
        }
    }
    let session = arguments.string("session")?;
    Ok(session.map(|text| Session::new(&text)).transpose()?)
}
