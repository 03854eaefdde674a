//! The page's forms: a browser that signed in with a token may do through them what its token may do, and no other site can
//! send them.

use serde_json::json;

use crate::harness::Place;
use crate::shell::Shell;
use crate::web::{Answer, Client, Web, id_of, token};

/// A browser: a cookie, and the secret that the page's forms carry.
struct Browser {
    client: Client,
    cookie: String,
    proof: String,
}

fn forms(client: &Client) -> Client {
    client
        .clone()
        .header("Content-Type", "application/x-www-form-urlencoded")
}

impl Browser {
    /// Signs in with a token, and opens a page that has a form.
    #[track_caller]
    fn signed_in(web: &Web, token: &str) -> Self {
        let signing = forms(&web.anyone()).ask("POST", "//ui/signin", Some(&format!("token={token}")));
        assert_eq!(signing.status, 303, "{signing:?}");
        let given = signing.header("set-cookie").expect("a cookie");
        for word in ["HttpOnly", "SameSite=Strict"] {
            assert!(given.contains(word), "{given}");
        }
        let cookie = given.split(';').next().expect("a pair").to_owned();
        assert!(!given.contains(id_of(token)), "a cookie is no token");
        let client = web.anyone().header("Cookie", &cookie);
        let page = client.ask("GET", "//ui/verify", None).body;
        let proof = page.split(r#"name="proof" value=""#).nth(1).expect("a form");
        let proof = proof.split('"').next().expect("its value").to_owned();
        Self { client, cookie, proof }
    }

    fn press(&self, verb: &str, packet: &str, more: &str) -> Answer {
        let path = format!("//ui/default/default/handoffs/{packet}/{verb}");
        forms(&self.client).ask("POST", &path, Some(&format!("proof={}{more}", self.proof)))
    }
}

#[test]
fn a_browser_does_what_its_token_may_do_until_the_token_ends() {
    let place = Place::new();
    let tokens = [["--owner", "ann"], ["--owner", "bob"]].map(|flags| token(&place, &flags));
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let [ann, bob] = tokens.clone().map(|token| Browser::signed_in(&web, &token));
    let root = Browser::signed_in(&web, &token(&place, &["--root"]));
    let observer = Browser::signed_in(&web, &token(&place, &["--observer"]));
    let packet = web.with(&tokens[0]).hand_off("hers");
    let state = || web.with(&tokens[0]).get(&format!("/handoffs/{packet}"))["packet"]["state"].clone();
    for verb in ["accept", "release", "cancel"] {
        // Another owner's packet is one that never was.
        let (hers, none) = (bob.press(verb, &packet, ""), bob.press(verb, "h_0123456789abcdef", ""));
        assert_eq!((hers.status, none.status), (404, 404), "{verb}");
        assert_eq!(observer.press(verb, &packet, "").status, 403, "{verb}");
    }
    assert_eq!(state(), "open");
    assert_eq!(
        (ann.press("accept", &packet, "").status, state()),
        (303, json!("accepted"))
    );
    assert_eq!(
        (ann.press("release", &packet, "&note=later").status, state()),
        (303, json!("open"))
    );
    // To force is root's alone, and a word in a form makes nobody root.
    let held = web.with(&tokens[0]).hand_off("held by another");
    let other = web.with(&token(&place, &["--owner", "ann", "--agent", "other"]));
    other.posted(&format!("/handoffs/{held}/accept"), json!({}));
    assert_eq!(ann.press("release", &held, "&force=1").status, 403);
    assert_eq!(root.press("release", &held, "&force=1").status, 303);
    assert_eq!(other.get(&format!("/handoffs/{held}"))["packet"]["state"], "open");
    // The cookie opens the page alone.
    for path in ["/stats", "//workspaces", "//mcp", "//metrics", "//openapi.json"] {
        assert_eq!(ann.client.ask("GET", path, None).status, 401, "{path}");
    }
    assert_eq!(ann.client.post("/resume", &json!({})).status, 401);
    let mut live = bob.client.stream("//ui/live");
    assert!(live.next().is_some());
    Shell::of(&place, "admin").json(&["token", "revoke", id_of(&tokens[1])]);
    assert_eq!(bob.client.ask("GET", "//", None).status, 401);
    assert!(live.count() <= 1, "its stream ends, too");
    // Signing out is for this browser alone.
    let again = Browser::signed_in(&web, &tokens[0]);
    let out = forms(&ann.client).ask("POST", "//ui/signout", Some(&format!("proof={}", ann.proof)));
    assert_eq!(out.status, 303);
    assert_eq!(ann.client.ask("GET", "//", None).status, 401);
    assert_eq!(again.client.ask("GET", "//", None).status, 200);
}

#[test]
fn x04_a_form_that_the_page_has_not_made_changes_nothing() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann"]);
    let open = Place::new();
    for web in [
        Web::of(&place, &["--allow-origin", "https://board.example"]),
        Web::of(&open, &[]),
    ] {
        let closed = web.anyone().ask("GET", "//", None).status == 401;
        let (browser, author) = if closed {
            (Browser::signed_in(&web, &ann), web.with(&ann))
        } else {
            let page = web.anyone().ask("GET", "//ui/verify", None).body;
            let proof = page.split(r#"name="proof" value=""#).nth(1).expect("a form");
            let proof = proof.split('"').next().expect("its value").to_owned();
            let (client, cookie) = (web.anyone(), "none=here".to_owned());
            (Browser { client, cookie, proof }, web.anyone())
        };
        let packet = author.hand_off("waits");
        let path = format!("//ui/default/default/handoffs/{packet}/accept");
        let body = format!("proof={}", browser.proof);
        let other = "0".repeat(64);
        let as_it_is = forms(&browser.client);
        for (client, body) in [
            (as_it_is.clone(), String::new()),
            (as_it_is.clone(), "proof=".to_owned()),
            (as_it_is.clone(), format!("proof={other}")),
            (as_it_is.clone().header("Origin", "null"), body.clone()),
            (as_it_is.clone().header("Origin", "https://evil.example"), body.clone()),
            (as_it_is.clone().header("Origin", "https://board.example"), body.clone()),
            (as_it_is.clone().header("Sec-Fetch-Site", "cross-site"), body.clone()),
            (as_it_is.clone().header("Sec-Fetch-Site", "same-site"), body.clone()),
            (as_it_is.clone().header("Host", "evil.example"), body.clone()),
        ] {
            let answer = client.ask("POST", &path, Some(&body));
            assert_eq!(answer.status, 403, "{answer:?}");
        }
        if closed {
            let unknown = forms(&web.anyone()).header("Cookie", &browser.cookie.replace('a', "b"));
            assert_eq!(unknown.ask("POST", &path, Some(&body)).status, 401);
            assert_eq!(forms(&web.anyone()).ask("POST", &path, Some(&body)).status, 401);
        }
        // Looking at an address presses no button.
        assert_eq!(browser.client.ask("GET", &path, None).status, 405);
        assert_eq!(author.get(&format!("/handoffs/{packet}"))["packet"]["state"], "open");
        let pressed = as_it_is
            .header("Origin", &web.url)
            .header("Sec-Fetch-Site", "same-origin");
        assert_eq!(pressed.ask("POST", &path, Some(&body)).status, 303);
        assert_eq!(
            author.get(&format!("/handoffs/{packet}"))["packet"]["state"],
            "accepted"
        );
    }
}

#[test]
fn tokens_are_not_tried_without_end() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann"]);
    let web = Web::of(&place, &["--rate-limit", "1"]);
    let sign = |token: &str| forms(&web.anyone()).ask("POST", "//ui/signin", Some(&format!("token={token}")));
    let late = loop {
        let answer = sign("hmt_x");
        if answer.status != 401 {
            break answer;
        }
    };
    assert!(late.status == 429 && late.header("retry-after").is_some(), "{late:?}");
    let hers = web.with(&ann).ask("GET", "/stats", None);
    assert_eq!(hers.status, 200, "who has a token is not kept out by that");
}
