//! Any text as a query, with any filters: it is never refused for what it says, it is answered at once, what is found was
//! there, pages neither repeat nor skip, and blanks around it mean nothing.

#![no_main]

use std::collections::HashSet;
use std::sync::LazyLock;

use handoff_memory::app::memory::Room;
use handoff_memory::app::{App, AppError, Caller};
use handoff_memory::domain::query::{QUERY_TERMS, Query, TERM_BYTES};
use handoff_memory::domain::record::{NewVersion, Tags};
use handoff_memory::domain::sought::{Page, SearchCursor, Sought};
use handoff_memory::domain::{Confidence, JsonText, Key, Scope, Tag};
use handoff_memory_fuzz::place::{FILE, Place, RUNTIME, root};
use libfuzzer_sys::{Corpus, fuzz_target};

/// What is remembered beside the export. Nothing writes after that, so that the store serves every input.
const RECORDS: [(&str, &str, &str); 12] = [
    (
        "listing/berlin",
        "482/assessment",
        "\"getUserName of src/main.rs, C++ and C#; POL-358\"",
    ),
    (
        "listing/berlin",
        "price-monitor",
        "{\"monitors\":[\"monitoring\",1.5,\"-0.25\"],\"Stra\u{df}e\":\"Caf\u{e9} cafe\u{301}\"}",
    ),
    (
        "\u{9879}\u{76ee}/\u{641c}\u{7d22}",
        "\u{7528}\u{6237}",
        "\"\u{91cd}\u{8dd1}gen-itgc\u{540e}\u{4fee}\u{590d} \u{7528}\u{6237}\u{8eab}\u{4efd}\u{9a8c}\u{8bc1}\"",
    ),
    (
        "\u{30c6}\u{30b9}\u{30c8}",
        "\u{d55c}\u{ad6d}\u{c5b4}",
        "[\"\u{e44}\u{e17}\u{e22}\u{e40}\u{e1b}\u{e47}\u{e19}\", \"\u{30ab}\u{30bf}\u{30ab}\u{30ca}\u{3072}\u{3089}\"]",
    ),
    (
        "symbols",
        "arrow",
        "\"a -> b => c \u{2705} \u{1f600} \\\" ' * ^ ( ) : { } NEAR OR AND NOT\"",
    ),
    ("symbols", "quote", "\"she said \\\"unbalanced\""),
    ("words", "small", "\"the what did we of a\""),
    (
        "words",
        "long",
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
    ),
    ("words", "numbers", "[123456789, 1e100, 0.5, \"007\"]"),
    (
        "words",
        "greek",
        "\"\u{39f}\u{3b4}\u{3cc}\u{3c2} \u{1f48}\u{3b4}\u{3cc}\u{3c2} \u{43f}\u{440}\u{438}\u{432}\u{435}\u{442} \u{401}\u{436}\"",
    ),
    (
        "words",
        "marks",
        "\"\u{fb03} \u{ff26}\u{ff35}\u{ff2c}\u{ff2c} \u{200d}\u{200b} \u{130}stanbul \u{131}\"",
    ),
    ("words", "nul", "\"\\u0000\\u0001\\u001f\""),
];

static STORE: LazyLock<(Place, App, Caller)> = LazyLock::new(|| {
    let place = Place::new();
    place.put(&FILE);
    let (app, caller) = (place.app(), root("fuzz"));
    for (scope, key, value) in RECORDS {
        let value = JsonText::value("value", value).expect("a value");
        let mut new = NewVersion::new(
            Scope::new(scope).expect("a scope"),
            Key::new(key).expect("a key"),
            value,
        );
        new.tags = Tags::new(&["red".to_owned(), scope.to_owned()]).expect("tags");
        RUNTIME.block_on(app.remember(&caller, new)).expect("it is written");
    }
    (place, app, caller)
});

fuzz_target!(|input: &[u8]| -> Corpus {
    // A query, then what narrows it, parted by a character that stands in none of them.
    let text = String::from_utf8_lossy(input);
    let mut parts = text.split('\u{1d}');
    let query = parts.next().unwrap_or_default();
    let named = |part: Option<&str>| part.filter(|part| !part.trim().is_empty()).map(str::to_owned);
    let sought = Sought {
        query: Some(query.to_owned()),
        scope: named(parts.next()).and_then(|text| Scope::new(&text).ok()),
        key: named(parts.next()).and_then(|text| Key::new(&text).ok()),
        tag: named(parts.next()).and_then(|text| Tag::new(&text).ok()),
        min_confidence: parts
            .next()
            .and_then(|text| Confidence::named("confidence", text.parse().ok()?).ok()),
        limit: parts
            .next()
            .and_then(|text| text.parse::<usize>().ok())
            .unwrap_or(3)
            .clamp(1, 200),
        from: parts.next().and_then(|text| SearchCursor::parse(text).ok()),
    };
    read(query);
    let found = match search(&sought) {
        Ok(found) => found,
        Err(error) => {
            assert_eq!(error.code(), "invalid_argument", "{error}");
            let whole = query.len() <= handoff_memory::domain::limits::QUERY_BYTES;
            assert!(sought.from.is_some() || !whole, "{query:?}: {error}");
            return Corpus::Keep;
        }
    };
    let ids = |page: &Page| -> Vec<String> { page.versions.iter().map(|version| version.hash.clone()).collect() };
    if sought.from.is_none() && query.len() < 4_000 {
        let blank = Sought {
            query: Some(format!(" \t{query}\n ")),
            ..sought.clone()
        };
        let also = search(&blank).expect("blanks are no fault");
        assert_eq!((ids(&also), also.total), (ids(&found), found.total), "{query:?}");
    }
    if sought.from.is_none() {
        pages(sought, &found, ids);
    }
    Corpus::Keep
});

fn search(sought: &Sought) -> Result<Page, AppError> {
    let (_, app, caller) = &*STORE;
    RUNTIME.block_on(app.search(caller, sought.clone(), Room::UNBOUNDED))
}

/// What the text is compiled to is bounded, and holds nothing that FTS5 would take for its own.
fn read(query: &str) {
    let Some(Query::Clauses(clauses)) = Query::read(query) else {
        return;
    };
    assert!(!clauses.is_empty());
    assert!(
        clauses.iter().map(|clause| clause.terms.len()).sum::<usize>() <= QUERY_TERMS,
        "{query:?}"
    );
    for term in clauses
        .iter()
        .flat_map(|clause| clause.terms.iter().chain(clause.also.iter().flatten()))
    {
        assert!(!term.is_empty() && term.len() <= TERM_BYTES, "{term:?}");
        assert!(!term.contains([' ', '"', '\0']), "{term:?}");
    }
}

/// Page after page there is each record once, and as many as the first page said.
fn pages(mut sought: Sought, first: &Page, ids: impl Fn(&Page) -> Vec<String>) {
    let mut seen = HashSet::new();
    let mut page = first.clone();
    for _ in 0..500 {
        assert!(page.versions.len() <= sought.limit, "{sought:?}");
        for id in ids(&page) {
            assert!(seen.insert(id), "a page repeats what was on one before: {sought:?}");
        }
        let Some(next) = page.next else {
            assert!(
                first.total_capped || seen.len() as u64 == first.total,
                "{} of {}: {sought:?}",
                seen.len(),
                first.total
            );
            return;
        };
        sought.from = Some(next);
        page = search(&sought).expect("a page follows");
    }
    panic!("the pages have no end: {sought:?}");
}
