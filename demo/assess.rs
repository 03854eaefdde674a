//! The scout's judgement: one small rule over a listing's rate, its client's history and its text.

use serde::{Deserialize, Serialize};

/// Below this nothing else about a listing matters, in USD an hour.
const FLOOR: f64 = 50.0;

/// A listing, as the board shows it.
#[derive(Clone, Deserialize, Serialize)]
pub struct Listing {
    pub id: u32,
    pub title: String,
    pub rate: Rate,
    /// The client's own estimate of the whole work.
    pub hours: f64,
    pub client: Client,
    pub posted: String,
    pub tags: Vec<String>,
    pub text: String,
    /// An earlier listing that this one corrects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(tag = "kind", content = "usd", rename_all = "lowercase")]
pub enum Rate {
    Hourly(f64),
    Fixed(f64),
}

#[derive(Clone, Deserialize, Serialize)]
pub struct Client {
    pub hires: u32,
    pub spent_usd: u32,
    /// Out of 5; none until somebody rated the client.
    pub rating: Option<f64>,
    /// The board has seen this client pay.
    pub verified: bool,
}

#[derive(Clone, Copy, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pursue,
    Maybe,
    Pass,
    Reject,
}

impl Verdict {
    /// The word that is stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pursue => "pursue",
            Self::Maybe => "maybe",
            Self::Pass => "pass",
            Self::Reject => "reject",
        }
    }
}

/// What is stored under `listing/<id>/assessment`.
#[derive(Clone, Deserialize, Serialize)]
pub struct Assessment {
    pub listing: u32,
    pub title: String,
    pub url: String,
    pub verdict: Verdict,
    pub score: u32,
    pub hourly_usd: f64,
    pub reasons: Vec<String>,
}

/// What a serious client says: what is watched, how often, in which form, and when the work is done.
const SIGNS: [(&str, &[&str]); 4] = [
    ("what", &["shops", "products", "brands", "sailings", "hotels"]),
    ("how often", &["daily", "hourly", "weekly", "every"]),
    ("in which form", &["csv", "api", "postgresql", "spreadsheet"]),
    ("when it is done", &["accepted when", "done when"]),
];

/// What no serious client asks for.
const ALARMS: [(&str, &str); 3] = [
    ("unpaid", "asks for unpaid work"),
    ("off the board", "wants to leave the board"),
    ("deposit", "asks for money"),
];

/// Assesses one listing, and says how sure that is (0..1): the more is known, the surer.
pub fn assess(listing: &Listing, url: String) -> (Assessment, f64) {
    let text = listing.text.to_lowercase();
    let hourly_usd = match listing.rate {
        Rate::Hourly(usd) => usd,
        Rate::Fixed(usd) => usd / listing.hours,
    };
    let client = &listing.client;
    let clear: Vec<&str> = SIGNS
        .iter()
        .filter(|(_, words)| words.iter().any(|word| text.contains(word)))
        .map(|(sign, _)| *sign)
        .collect();
    let alarms: Vec<String> = ALARMS
        .iter()
        .filter(|(word, _)| text.contains(word))
        .map(|(_, meaning)| (*meaning).to_owned())
        .collect();

    let mut score = match hourly_usd {
        usd if usd >= 80.0 => 3,
        usd if usd >= 65.0 => 2,
        usd if usd >= FLOOR => 1,
        _ => 0,
    };
    score += u32::from(client.verified);
    score += match client.hires {
        10.. => 2,
        3.. => 1,
        _ => 0,
    };
    score += u32::from(client.rating.is_some_and(|rating| rating >= 4.7));
    score += clear.len() as u32;

    let verdict = match score {
        _ if !alarms.is_empty() => Verdict::Reject,
        _ if hourly_usd < FLOOR => Verdict::Pass,
        8.. => Verdict::Pursue,
        5.. => Verdict::Maybe,
        _ => Verdict::Pass,
    };
    let mut reasons = alarms;
    reasons.push(format!("{hourly_usd:.0} USD an hour"));
    reasons.push(match (client.hires, client.verified) {
        (0, _) => "a client without a history".to_owned(),
        (1, true) => "1 hire, verified".to_owned(),
        (1, false) => "1 hire, not verified".to_owned(),
        (hires, true) => format!("{hires} hires, verified"),
        (hires, false) => format!("{hires} hires, not verified"),
    });
    reasons.push(match clear.as_slice() {
        [] => "says neither what nor how".to_owned(),
        signs => format!("says {}", signs.join(", ")),
    });

    let known = [
        client.verified,
        client.hires >= 3,
        client.rating.is_some(),
        clear.len() >= 3,
    ];
    let percent = 50 + 10 * known.iter().filter(|known| **known).count() as u32;
    let assessment = Assessment {
        listing: listing.id,
        title: listing.title.clone(),
        url,
        verdict,
        score,
        hourly_usd,
        reasons,
    };
    (assessment, f64::from(percent) / 100.0)
}
