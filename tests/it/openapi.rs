//! The description of the REST face: what is served, said in `docs/rest.md`, and reviewed when it changes.

use std::fmt::Write as _;
use std::path::Path;

use handoff_memory::http::openapi::description;
use serde_json::Value;

/// What stands above the part that is made from the description.
const MARK: &str = "<!-- Made from the description: UPDATE_SNAPSHOTS=1 cargo test --test it openapi -->";

/// Every route as Markdown.
fn reference() -> String {
    let document = description();
    let mut page = String::new();
    let mut tag = String::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let now = text(&operation["tags"][0]);
            if now != tag {
                let _ = write!(page, "\n## {now}\n");
                tag = now;
            }
            let about = format!("{}. {}", text(&operation["summary"]), text(&operation["description"]));
            let _ = writeln!(page, "\n### {} {path}\n\n{}", method.to_uppercase(), about.trim());
            fields(&mut page, operation);
            let statuses: Vec<String> = operation["responses"]
                .as_object()
                .expect("answers")
                .iter()
                .filter(|(status, _)| status.starts_with('2'))
                .map(|(status, answer)| format!("`{status}`: {}", text(&answer["description"])))
                .collect();
            let refusals: Vec<String> = operation["responses"]
                .as_object()
                .expect("answers")
                .keys()
                .filter(|status| !status.starts_with('2'))
                .map(|status| format!("`{status}`"))
                .collect();
            let _ = writeln!(page, "\n{}\n\nRefusals: {}", statuses.join(" "), refusals.join(", "));
        }
    }
    page
}

/// What a route takes behind the question mark and in its body.
fn fields(page: &mut String, operation: &Value) {
    let mut rows = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "query" {
            rows.push(row(
                &text(&parameter["name"]),
                "query",
                parameter["required"] == true,
                &parameter["description"],
            ));
        }
    }
    let body = &operation["requestBody"]["content"]["application/json"];
    let required = body["schema"]["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in body["schema"]["properties"].as_object().into_iter().flatten() {
        let needed = required.iter().any(|known| known == name.as_str());
        rows.push(row(name, "body", needed, &property["description"]));
    }
    if !rows.is_empty() {
        let _ = writeln!(
            page,
            "\n| field | in | what it is |\n|---|---|---|\n{}",
            rows.join("\n")
        );
    }
    if !body["example"].is_null() {
        let example = serde_json::to_string_pretty(&body["example"]).expect("JSON");
        let _ = writeln!(page, "\n```json\n{example}\n```");
    }
}

fn row(name: &str, place: &str, required: bool, words: &Value) -> String {
    let needed = if required { " **Required.**" } else { "" };
    format!("| `{name}` | {place} | {}{needed} |", text(words).replace('|', "\\|"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_page_on_rest_says_what_is_served() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rest.md");
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let by_hand = page.split(MARK).next().unwrap_or_default().trim_end();
    let whole = format!("{by_hand}\n\n{MARK}\n{}", reference());
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &whole).expect("the page is written");
        return;
    }
    let differs = page.lines().zip(whole.lines()).find(|(old, new)| old != new);
    assert!(
        page == whole,
        "docs/rest.md differs from what is served, first at {differs:?}; run UPDATE_SNAPSHOTS=1 cargo test --test it openapi"
    );
}

#[test]
fn every_route_says_what_it_answers_and_every_refusal_has_the_same_shape() {
    let document = description();
    assert_eq!(document["openapi"], "3.1.0");
    let mut names = Vec::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let place = format!("{method} {path}");
            names.push(text(&operation["operationId"]));
            assert!(!text(&operation["summary"]).is_empty(), "{place}");
            for (status, answer) in operation["responses"].as_object().expect("answers") {
                assert!(!text(&answer["description"]).is_empty(), "{place} {status}");
                let schema = &answer["content"]["application/json"]["schema"];
                if status.starts_with('2') {
                    assert_eq!(schema["type"], "object", "{place} {status}");
                } else {
                    assert_eq!(schema["$ref"], "#/components/schemas/Failed", "{place} {status}");
                }
            }
            if !path.starts_with("/health") {
                for status in ["401", "403", "429", "503"] {
                    assert!(operation["responses"][status].is_object(), "{place} {status}");
                }
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(!text(&parameter["description"]).is_empty(), "{place} {parameter}");
            }
        }
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "each has a name of its own");
    assert!(all >= 20, "{all}");
}
