//! The door of the page: a browser signs in with a token once, and is known by a cookie from then on.
//!
//! The cookie opens the page alone: REST and MCP take a token in a header, which no other site can make a browser send. What
//! the page changes asks for the form's own secret, too, and must come from the page itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use subtle::ConstantTimeEq as _;

use super::super::Shared;
use super::super::failure::Failure;
use crate::domain::name::percent_decoded;
use crate::domain::token::TokenId;

/// The cookie's name.
const COOKIE: &str = "handoff_memory";

/// How long a browser stays signed in.
const STAYS: Duration = Duration::from_secs(12 * 60 * 60);

/// How many browsers may be signed in at once; the one that came first has to sign in again then.
const MOST: usize = 10_000;

/// The longest form, in bytes.
const FORM: usize = 64 * 1024;

/// What a form carries to show that the page has made it.
#[derive(Debug, Clone)]
pub struct Proof(pub String);

struct Signed {
    token: TokenId,
    proof: String,
    since: Instant,
}

/// The browsers that are signed in. They are forgotten when the server ends.
pub struct Browsers {
    signed: Mutex<HashMap<String, Signed>>,
    /// The proof of browsers that need not sign in.
    open: String,
}

impl Browsers {
    /// Nobody yet.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            signed: Mutex::default(),
            open: random()?,
        })
    }

    fn signed(&self) -> MutexGuard<'_, HashMap<String, Signed>> {
        self.signed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The proof that forms carry where no token was ever made.
    pub fn open(&self) -> Proof {
        Proof(self.open.clone())
    }

    /// Signs a browser in; gives its cookie.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn sign_in(&self, token: TokenId, secure: bool) -> std::io::Result<HeaderValue> {
        let (name, proof) = (random()?, random()?);
        let mut signed = self.signed();
        signed.retain(|_, one| one.since.elapsed() < STAYS);
        if signed.len() >= MOST
            && let Some(first) = signed
                .iter()
                .min_by_key(|(_, one)| one.since)
                .map(|(name, _)| name.clone())
        {
            signed.remove(&first);
        }
        let since = Instant::now();
        let cookie = format!(
            "{COOKIE}={name}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}",
            STAYS.as_secs(),
            if secure { "; Secure" } else { "" }
        );
        signed.insert(name, Signed { token, proof, since });
        HeaderValue::from_str(&cookie).map_err(std::io::Error::other)
    }

    /// Forgets a browser; gives the cookie that takes its place.
    pub fn sign_out(&self, headers: &HeaderMap) -> HeaderValue {
        if let Some(name) = cookie(headers) {
            self.signed().remove(&name);
        }
        HeaderValue::from_static("handoff_memory=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    /// Whose token a browser signed in with, and what its forms carry.
    pub fn known(&self, headers: &HeaderMap) -> Option<(TokenId, Proof)> {
        let name = cookie(headers)?;
        let signed = self.signed();
        let one = signed.get(&name).filter(|one| one.since.elapsed() < STAYS)?;
        Some((one.token.clone(), Proof(one.proof.clone())))
    }
}

fn random() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let lines = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let mut pairs = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value.to_owned())
}

/// The fields of a form that the page itself has made.
pub struct Form(Vec<(String, String)>);

impl Form {
    /// A field that is not blank.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.trim().is_empty())
    }
}

impl FromRequest<Shared> for Form {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &Shared) -> Result<Self, Failure> {
        let proof = request.extensions().get::<Proof>().cloned();
        let fields = fields(request).await?;
        let shown = fields
            .0
            .iter()
            .find(|(name, _)| name == "proof")
            .map_or("", |(_, value)| value);
        let proven = proof.is_some_and(|proof| bool::from(proof.0.as_bytes().ct_eq(shown.as_bytes())));
        if proven {
            return Ok(fields);
        }
        Err(not_of_the_page(
            "the form is not one of this page, or of a sign-in that has ended",
        ))
    }
}

/// The fields of a form from this very origin; only signing in has no proof yet.
pub async fn fields(request: Request) -> Result<Form, Failure> {
    let site = request
        .headers()
        .get("sec-fetch-site")
        .and_then(|site| site.to_str().ok());
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(not_of_the_page("the form came from another site"));
    }
    if request.headers().contains_key(header::ORIGIN) && !super::super::gate::is_same_origin(&request) {
        return Err(not_of_the_page("the form came from another origin"));
    }
    let unreadable = || {
        Failure::new(
            StatusCode::BAD_REQUEST,
            "invalid_argument",
            "the form cannot be read",
            "open the page again and repeat it",
        )
    };
    let bytes = axum::body::to_bytes(request.into_body(), FORM)
        .await
        .map_err(|_| unreadable())?;
    let text = str::from_utf8(&bytes).map_err(|_| unreadable())?;
    let decoded = |text: &str| percent_decoded(&text.replace('+', " ")).ok_or_else(unreadable);
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let fields = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    });
    fields.collect::<Result<_, Failure>>().map(Form)
}

fn not_of_the_page(why: &str) -> Failure {
    Failure::new(
        StatusCode::FORBIDDEN,
        "not_allowed",
        why,
        "open the page again and press the button there",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_known_by_its_cookie_until_it_signs_out() {
        let browsers = Browsers::new().unwrap();
        let token = TokenId::from_random([1; 8]);
        let given = browsers.sign_in(token.clone(), true).unwrap();
        let given = given.to_str().unwrap();
        for word in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
            assert!(given.contains(word), "{given}");
        }
        let pair = given.split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        assert!(browsers.known(&headers).is_none());
        headers.insert(header::COOKIE, format!("a=b; {pair}").parse().unwrap());
        let (known, proof) = browsers.known(&headers).unwrap();
        assert_eq!((known, proof.0.len()), (token, 64));
        assert_ne!(proof.0, browsers.open().0);
        browsers.sign_out(&headers);
        assert!(browsers.known(&headers).is_none());
    }
}
