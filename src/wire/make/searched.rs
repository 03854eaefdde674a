//! What was searched, in words, where nothing was found.

use crate::domain::Address;
use crate::domain::invalid::shown;
use crate::domain::sought::{Page, Sought};

/// That a record, or a version of it, was looked for by its name.
pub fn sought_one(at: &Address, version: Option<u64>) -> String {
    match version {
        Some(version) => format!("version {version} of the record {at}"),
        None => format!("the record {at}, by its exact scope and key"),
    }
}

/// What was searched, and where there would have been something.
pub fn searched(sought: &Sought, page: &Page) -> String {
    let mut filters = Vec::new();
    if let Some(query) = &sought.query {
        filters.push(format!("query {}", shown(query)));
    }
    if let Some(key) = &sought.key {
        filters.push(format!("key {}", shown(key.as_str())));
    }
    if let Some(tag) = &sought.tag {
        filters.push(format!("tag {}", shown(tag.as_str())));
    }
    if let Some(least) = sought.min_confidence {
        filters.push(format!("confidence of at least {}", least.get()));
    }
    let place = sought.scope.as_ref().map_or("all scopes".to_owned(), |scope| {
        format!("scope {}", shown(scope.as_str()))
    });
    let what = if filters.is_empty() {
        "any record".to_owned()
    } else {
        filters.join(", ")
    };
    let mut text = format!("{what} in {place}: 0");
    if !page.elsewhere.is_empty() {
        let names: Vec<String> = page
            .elsewhere
            .iter()
            .map(|(scope, count)| format!("{} ({count})", shown(scope)))
            .collect();
        text += &format!("; elsewhere: {}", names.join(", "));
    }
    text
}
