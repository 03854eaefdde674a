//! The searches that are timed.

use handoff_memory::store::sqlite::search::Search;

/// A search for the newest records of the project, as one of its agents.
pub fn everything() -> Search<'static> {
    Search {
        project: 1,
        agent: Some("ann"),
        limit: 20,
        ..Search::default()
    }
}

/// Each search with what it stands for.
pub fn searches() -> Vec<(&'static str, Search<'static>)> {
    let query = |query| Search {
        query: Some(query),
        ..everything()
    };
    vec![
        ("common word", query("common")),
        ("half the records", query("half")),
        ("rare word", query("needle7")),
        ("no match", query("zzzz")),
        ("two common words", query("common half")),
        ("common and rare", query("common needle7")),
        ("two words that never meet", query("half other")),
        ("phrase", query("blue-green")),
        ("phrase of rare neighbours", query("half-common")),
        ("CJK, two characters", query("缓存")),
        ("CJK, four characters", query("缓存失效")),
        ("CJK, one character", query("缓")),
        ("two letters", query("db")),
        (
            "a sentence",
            query("what did we decide about the common needle7 in the half of all records"),
        ),
        ("a path", query("src/module7/file_42.rs")),
        ("form of a word", query("monitoring")),
        (
            "32 words",
            query(
                "common half other blue green db monitor needle1 needle2 needle3 needle4 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 \
             w12 w13 w14 w15 w16 w17 w18 w19 w20 w21",
            ),
        ),
        (
            "common word in a scope",
            Search {
                scope: Some("team3"),
                ..query("common")
            },
        ),
        (
            "common word in a deep scope",
            Search {
                scope: Some("team3/repo1/area2"),
                ..query("common")
            },
        ),
        (
            "common word with a tag",
            Search {
                tag: Some("tag3"),
                ..query("common")
            },
        ),
        (
            "common word, scope and tag",
            Search {
                scope: Some("team3/repo1"),
                tag: Some("tag3"),
                ..query("common")
            },
        ),
        (
            "rare word in a scope",
            Search {
                scope: Some("team3"),
                ..query("needle7")
            },
        ),
        (
            "CJK in a scope",
            Search {
                scope: Some("team3"),
                ..query("缓存")
            },
        ),
        (
            "a scope",
            Search {
                scope: Some("team3"),
                ..everything()
            },
        ),
        (
            "a tag",
            Search {
                tag: Some("tag3"),
                ..everything()
            },
        ),
        ("everything", everything()),
        (
            "common word, confidence 0.9",
            Search {
                min_confidence: Some(0.9),
                ..query("common")
            },
        ),
        (
            "common word, confidence 2",
            Search {
                min_confidence: Some(2.0),
                ..query("common")
            },
        ),
        ("punctuation", query("=>")),
    ]
}
