//! The other forms of an English word that a query also takes, and the words that carry no meaning alone.
//!
//! The forms are made when asking and not when storing: the index keeps what was written, so an exact hit can be told
//! from a near one, a write costs nothing more, and a better rule needs no new index.

/// Most other forms of one word.
const FORMS: usize = 6;

/// Words that say little by themselves. They still count among "all words"; they are left out of "any word".
const SMALL: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "did", "do", "does",
    "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not",
    "of", "on", "or", "our", "s", "should", "so", "t", "that", "the", "their", "then", "there", "they", "this", "to",
    "us", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "you", "your",
];

/// Whether `word` says little by itself.
pub fn is_small(word: &str) -> bool {
    SMALL.binary_search(&word).is_ok()
}

/// The other regular forms of `word`: `monitor` gives `monitors`, `monitored`, `monitoring`, and each gives the rest.
///
/// Some are no words; those find nothing and cost a look-up.
pub fn forms(word: &str) -> Vec<String> {
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) || is_small(word) {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    for base in bases(word) {
        for form in inflected(&base) {
            if form != word && !found.contains(&form) && found.len() < FORMS {
                found.push(form);
            }
        }
    }
    found
}

/// What `word` may be a form of, the likeliest first; `word` itself where it has no ending.
fn bases(word: &str) -> Vec<String> {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return vec![format!("{stem}y")];
    }
    if let Some(stem) = word.strip_suffix("es")
        && ["s", "x", "z", "ch", "sh"].iter().any(|end| stem.ends_with(end))
    {
        // `caches` is of `cache`, `boxes` of `box`: the ending alone does not tell.
        return vec![stem.to_owned(), format!("{stem}e")];
    }
    if let Some(stem) = word.strip_suffix('s')
        && !["s", "u", "i"].iter().any(|end| stem.ends_with(end))
    {
        return vec![stem.to_owned()];
    }
    let stem = word
        .strip_suffix("ing")
        .or_else(|| word.strip_suffix("ed"))
        .filter(|stem| stem.len() > 2);
    if let Some(stem) = stem {
        if let Some(stem) = stem.strip_suffix('i') {
            return vec![format!("{stem}y")];
        }
        let mut last = stem.bytes().rev();
        return match (last.next(), last.next()) {
            (Some(a), Some(b)) if a == b && a != b'l' && a != b's' => vec![stem[..stem.len() - 1].to_owned()],
            _ => vec![stem.to_owned(), format!("{stem}e")],
        };
    }
    vec![word.to_owned()]
}

/// The regular forms of `base`, itself first.
fn inflected(base: &str) -> Vec<String> {
    let vowel = |b: u8| b"aeiou".contains(&b);
    let bytes = base.as_bytes();
    let [.., a, b, c] = *bytes else {
        return vec![base.to_owned()];
    };
    if c == b'y' && !vowel(b) {
        let stem = &base[..base.len() - 1];
        return vec![
            base.to_owned(),
            format!("{stem}ies"),
            format!("{stem}ied"),
            format!("{base}ing"),
        ];
    }
    if c == b'e' {
        let stem = &base[..base.len() - 1];
        return vec![
            base.to_owned(),
            format!("{base}s"),
            format!("{base}d"),
            format!("{stem}ing"),
        ];
    }
    let plural = if b"sxz".contains(&c) || base.ends_with("ch") || base.ends_with("sh") {
        "es"
    } else {
        "s"
    };
    // A short word doubles its last consonant: `plan`, `planned`.
    let double = bytes.len() <= 4 && !vowel(a) && vowel(b) && !vowel(c) && !b"wxy".contains(&c);
    let twice = if double { &base[base.len() - 1..] } else { "" };
    vec![
        base.to_owned(),
        format!("{base}{plural}"),
        format!("{base}{twice}ed"),
        format!("{base}{twice}ing"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_leads_to_the_others() {
        for group in [
            &["monitor", "monitors", "monitored", "monitoring"][..],
            &["cache", "caches", "cached", "caching"],
            &["query", "queries", "queried", "querying"],
            &["plan", "plans", "planned", "planning"],
            &["fix", "fixes", "fixed", "fixing"],
            &["call", "calls", "called", "calling"],
        ] {
            for from in group {
                for to in group {
                    assert!(from == to || forms(from).contains(&(*to).to_owned()), "{from} -> {to}");
                }
            }
        }
    }

    #[test]
    fn names_and_small_words_have_no_forms() {
        for word in ["the", "db", "sha256", "用户", ""] {
            assert!(forms(word).is_empty(), "{word}");
        }
        assert!(SMALL.is_sorted());
    }
}
