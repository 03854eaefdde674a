//! Every route and every tool, as the server itself describes them, each asked in many ways: so that one that is added
//! later is not forgotten by the tests that go through all of them.

use serde_json::{Map, Value, json};

use crate::harness::answer_of;
use crate::web::Client;

/// What questions are filled in with.
pub struct Words<'a> {
    /// The packet that they name.
    pub packet: &'a str,
    /// What they search for.
    pub word: &'a str,
    /// Who asks, and for whom, as far as a body may say so.
    pub agent: &'a str,
    pub owner: Option<&'a str>,
    pub checkpoint: &'a str,
}

impl Words<'_> {
    /// What stands under a name. One that is not known here is a new one: whoever adds it says what to ask with it.
    fn of(&self, name: &str) -> Value {
        match name {
            "id" | "handoff_id" | "supersedes" => json!(self.packet),
            "query" | "tag" => json!(self.word),
            "agent" => json!(self.agent),
            "owner" => json!(self.owner),
            "checkpoint" => json!(self.checkpoint),
            "workspace" | "project" => json!("default"),
            "scope" => json!("app"),
            "key" => json!("rate"),
            "version" => json!(1),
            "min_confidence" | "confidence" => json!(0.25),
            "limit" => json!(200),
            "cursor" => json!("q0"),
            "since" | "expected_version" => json!(0),
            "state" => json!("all"),
            "order" => json!("newest"),
            "cwd" => json!("/src/app"),
            "to_agent" => json!("codex"),
            "expires_in" => json!("7d"),
            "outcome" => json!("success"),
            "mine" | "shared" | "peek" | "verify" => json!(true),
            "title" | "summary" | "note" | "outcome_ref" | "session" | "value" => json!("plain"),
            "next_steps" | "open_questions" | "files_touched" | "tags" => json!(["plain"]),
            "refs" => json!([{"scope": "app", "key": "rate"}]),
            unknown => panic!("say here what to ask with `{unknown}`"),
        }
    }
}

/// One question and its answer.
#[derive(Debug)]
pub struct Told {
    /// The route's or tool's name.
    pub name: String,
    /// All of the question.
    pub question: String,
    /// Whether it is to change something.
    pub writes: bool,
    /// The status; of a tool, the one that a route would have.
    pub status: u16,
    /// All of the answer.
    pub text: String,
}

/// Asks every route and every tool with nothing but what it needs, with each thing more, and with all; what only
/// looks with each two, too.
#[track_caller]
pub fn everything(client: &Client, words: &Words) -> Vec<Told> {
    let mut all = routes(client, words);
    all.extend(tools(client, words));
    all.extend(resources(client, words));
    all
}

/// What a client may attach to a talk, by its address, and the lists of it.
fn resources(client: &Client, words: &Words) -> Vec<Told> {
    let mut asked = vec![("resources/list", String::new()), ("prompts/list", String::new())];
    let templates = client.mcp("resources/templates/list", None, json!({}));
    for template in templates["result"]["resourceTemplates"].as_array().expect("templates") {
        let mut uri = template["uriTemplate"].as_str().expect("a template").to_owned();
        while let Some((name, _)) = uri.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
            uri = uri.replace(&format!("{{{name}}}"), &text_of(&words.of(name)));
        }
        asked.push(("resources/read", uri));
    }
    let told = asked.into_iter().map(|(method, uri)| {
        let (name, params) = if uri.is_empty() {
            (None, json!({}))
        } else {
            (Some(uri.as_str()), json!({"uri": uri}))
        };
        let reply = client.mcp(method, name, params);
        Told {
            name: method.to_owned(),
            question: format!("{method} {uri}"),
            writes: false,
            status: if reply["result"].is_object() { 200 } else { 404 },
            text: reply.to_string(),
        }
    });
    told.collect()
}

fn routes(client: &Client, words: &Words) -> Vec<Told> {
    let document = client.get("//openapi.json");
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            for (address, body) in questions(path, operation, words) {
                let text = body.as_ref().map(ToString::to_string);
                let answer = client.ask(&method.to_uppercase(), &format!("/{address}"), text.as_deref());
                let question = format!("{method} {address} {}", text.unwrap_or_default());
                described(&document, operation, &question, answer.status, &answer.json());
                all.push(Told {
                    name: operation["operationId"].as_str().expect("a name").to_owned(),
                    question,
                    writes: method == "post" && body.is_some_and(|body| body["peek"] != true),
                    status: answer.status,
                    text: answer.body,
                });
            }
        }
    }
    for beside in ["/metrics", "/openapi.json"] {
        let answer = client.ask("GET", &format!("/{beside}"), None);
        all.push(Told {
            name: beside.to_owned(),
            question: format!("get {beside}"),
            writes: false,
            status: answer.status,
            text: answer.body,
        });
    }
    all
}

/// Addresses and bodies of one operation.
fn questions(path: &str, operation: &Value, words: &Words) -> Vec<(String, Option<Value>)> {
    let mut address = path.to_owned();
    let (mut needed, mut more) = (Vec::new(), Vec::new());
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().expect("a name");
        match parameter["in"].as_str() {
            Some("path") => address = address.replace(&format!("{{{name}}}"), &text_of(&words.of(name))),
            Some("query") if parameter["required"] == true => needed.push(name),
            Some("query") => more.push(name),
            // What a header may say is tested by itself.
            _ => {}
        }
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if body.is_object() {
        return filled(body, words, false)
            .into_iter()
            .map(|body| (address.clone(), Some(body)))
            .collect();
    }
    let pair = |name: &&str| {
        let bytes = text_of(&words.of(name)).into_bytes();
        // What may stand as it is does so: an address is looked through for names.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let encoded: String = bytes
            .iter()
            .map(|byte| {
                if plain(*byte) {
                    char::from(*byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect();
        format!("{name}={encoded}")
    };
    choices(&more, true)
        .into_iter()
        .map(|chosen| {
            let pairs: Vec<String> = needed.iter().chain(&chosen).map(pair).collect();
            let mark = if pairs.is_empty() { "" } else { "?" };
            (format!("{address}{mark}{}", pairs.join("&")), None)
        })
        .collect()
}

fn tools(client: &Client, words: &Words) -> Vec<Told> {
    let listed = client.mcp("tools/list", None, json!({}));
    let mut all = Vec::new();
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        let name = tool["name"].as_str().expect("a name");
        let looks = tool["annotations"]["readOnlyHint"] == true;
        for arguments in filled(&tool["inputSchema"], words, looks) {
            let params = json!({"name": name, "arguments": arguments});
            let reply = client.mcp("tools/call", Some(name), params);
            let status = match answer_of(&reply) {
                Ok(_) => 200,
                Err(refusal) => match refusal.code.as_str() {
                    "invalid_argument" => 422,
                    "not_allowed" => 403,
                    "not_found" => 404,
                    "conflict" => 409,
                    other => panic!("{name} {arguments}: {other}"),
                },
            };
            all.push(Told {
                name: format!("tool {name}"),
                question: format!("tool {name} {arguments}"),
                writes: !looks && arguments["peek"] != true,
                status,
                text: reply["result"].to_string(),
            });
        }
    }
    all
}

/// Objects of a schema: with what is required, and more.
fn filled(schema: &Value, words: &Words, looks: bool) -> Vec<Value> {
    let needed: Vec<&str> = strings(&schema["required"]);
    let properties = schema["properties"].as_object().expect("an object");
    let more: Vec<&str> = properties.keys().map(String::as_str).collect();
    let more: Vec<&str> = more.into_iter().filter(|name| !needed.contains(name)).collect();
    choices(&more, looks)
        .into_iter()
        .map(|chosen| {
            let names = needed.iter().chain(&chosen);
            let fields: Map<String, Value> = names.map(|name| ((*name).to_owned(), words.of(name))).collect();
            Value::Object(fields)
        })
        .collect()
}

/// None of the names, each one, each two where it only looks, and all.
fn choices<'a>(names: &[&'a str], looks: bool) -> Vec<Vec<&'a str>> {
    let mut choices = vec![Vec::new()];
    for (place, one) in names.iter().enumerate() {
        choices.push(vec![*one]);
        let others = names[place + 1..].iter().filter(|_| looks);
        choices.extend(others.map(|other| vec![*one, *other]));
    }
    if names.len() > 1 {
        choices.push(names.to_vec());
    }
    choices
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Asserts that an answer is one that the description of its route names, in the shape that stands there.
#[track_caller]
pub fn described(document: &Value, operation: &Value, question: &str, status: u16, answer: &Value) {
    let told = &operation["responses"][status.to_string()];
    assert!(told.is_object(), "{question}: {status} is not described: {answer}");
    let mut schema = &told["content"]["application/json"]["schema"];
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|at| at.strip_prefix("#/components/schemas/"))
    {
        schema = &document["components"]["schemas"][name];
    }
    assert!(schema.is_object(), "{question}: {status} has no shape");
    fits(schema, answer, &format!("{question}: {status}"));
}

/// Asserts that a value has the shape of a schema, and nothing that the schema does not name.
#[track_caller]
fn fits(schema: &Value, value: &Value, place: &str) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if let Some(wanted) = schema["type"].as_str() {
        let fits = wanted == kind || (wanted == "number" && kind == "integer");
        assert!(fits, "{place} is {kind} and not {wanted}: {value}");
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{place} is none of {words:?}: {value}");
    }
    for name in strings(&schema["required"]) {
        assert!(value.get(name).is_some(), "{place} has no {name}: {value}");
    }
    if let (Some(properties), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
        for (name, field) in fields {
            match properties.get(name) {
                Some(property) => fits(property, field, &format!("{place}.{name}")),
                None => assert!(
                    properties.is_empty(),
                    "{place} has {name}, which is not described: {value}"
                ),
            }
        }
    }
    for item in value.as_array().into_iter().flatten() {
        fits(&schema["items"], item, &format!("{place}[]"));
    }
}
