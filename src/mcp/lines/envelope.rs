//! Judges one line: a message for rmcp, an answer of ours, or nothing.
//!
//! rmcp would drop what it cannot parse, and would parse `arguments` into values that have lost digits, duplicate names
//! and their text. Here every line that cannot be handed on is answered, and `arguments` travel as they were sent.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequest, ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest, ErrorCode,
    InitializeRequest, ProtocolVersion, RequestId,
};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{RawArguments, id};
use crate::ask::surrogates::has_lone_surrogate;

/// Methods that are served, and that rmcp parses into a type of its own. With parameters that do not fit, it takes such a
/// request for one with an unknown method, which would be told to the client in the wrong words. Of a method that is not
/// served, just that is to be told.
const KNOWN_METHODS: [&str; 10] = [
    "initialize",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// What becomes of a line.
#[derive(Debug)]
pub(in crate::mcp) enum Verdict {
    /// Hand this to rmcp.
    Deliver(Box<ClientJsonRpcMessage>),
    /// Answer this.
    Refuse(Refusal),
    /// Say nothing: the line is blank, or it is of a kind that must not be answered.
    Ignore,
}

/// An error answer of our own.
#[derive(Debug, Serialize)]
pub(in crate::mcp) struct Refusal {
    jsonrpc: &'static str,
    id: Option<Box<RawValue>>,
    error: RefusalError,
}

#[derive(Debug, Serialize)]
struct RefusalError {
    code: i32,
    message: String,
}

impl Refusal {
    /// An error for the request with this id, or for nobody in particular.
    pub(in crate::mcp) fn new(id: Option<Box<RawValue>>, code: ErrorCode, message: impl Into<String>) -> Self {
        let error = RefusalError {
            code: code.0,
            message: message.into(),
        };
        Self {
            jsonrpc: "2.0",
            id,
            error,
        }
    }

    /// The line to write.
    pub(in crate::mcp) fn into_line(self) -> Vec<u8> {
        tracing::warn!(
            code = self.error.code,
            message = self.error.message,
            "a message was refused"
        );
        let mut line = serde_json::to_vec(&self).expect("a refusal is plain JSON");
        line.push(b'\n');
        line
    }
}

/// A message's members as they were written. `null` is kept apart from absent.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What rmcp's request and notification types are parsed from.
#[derive(Serialize)]
struct Call<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

impl Call<'_> {
    fn parse<T: for<'de> Deserialize<'de>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&serde_json::to_string(self)?)
    }
}

/// Judges the bytes of one line.
pub(in crate::mcp) fn judge(line: &[u8]) -> Verdict {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Verdict::Ignore;
    }
    let broken = |why: &str| Verdict::Refuse(Refusal::new(id::find(line), ErrorCode::PARSE_ERROR, why));
    let Ok(text) = str::from_utf8(line) else {
        return broken("the message is not valid UTF-8");
    };
    if let Err(error) = serde_json::from_str::<&RawValue>(text) {
        return broken(&format!("the message is not valid JSON: {error}"));
    }
    if has_lone_surrogate(text) {
        return broken("the message holds half of a surrogate pair, so it is no Unicode text");
    }
    message(text).unwrap_or_else(Verdict::Refuse)
}

/// Sorts a line of valid JSON.
fn message(text: &str) -> Result<Verdict, Refusal> {
    if text.starts_with('[') {
        let why = "batches are not supported: send one message at a time";
        return Err(Refusal::new(None, ErrorCode::INVALID_REQUEST, why));
    }
    if !text.starts_with('{') {
        return Err(Refusal::new(
            None,
            ErrorCode::INVALID_REQUEST,
            "a message is a JSON object",
        ));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text)
        .map_err(|error| Refusal::new(id::find(text.as_bytes()), ErrorCode::INVALID_REQUEST, error.to_string()))?;
    let answers = envelope.result.is_some() || envelope.error.is_some();
    if answers && envelope.method.is_none() {
        // An answer is never answered: two peers that do not understand each other would go on forever.
        return Ok(serde_json::from_str(text).map_or(Verdict::Ignore, |message| Verdict::Deliver(Box::new(message))));
    }
    let invalid = |why: &str| Refusal::new(id::find(text.as_bytes()), ErrorCode::INVALID_REQUEST, why);
    if envelope.jsonrpc.and_then(string).as_deref() != Some("2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    if answers {
        return Err(invalid("a message with `method` has neither `result` nor `error`"));
    }
    let Some(method) = envelope.method.and_then(string) else {
        return Err(invalid("`method` must be a string"));
    };
    let call = Call {
        method: &method,
        params: envelope.params.filter(|params| params.get() != "null"),
    };
    let Some(raw_id) = envelope.id else {
        // Nobody waits for a notification, so one that does not parse is not answered either.
        return Ok(call
            .parse::<ClientNotification>()
            .map_or(Verdict::Ignore, |notification| {
                Verdict::Deliver(Box::new(ClientJsonRpcMessage::notification(notification)))
            }));
    };
    let id: RequestId =
        serde_json::from_str(raw_id.get()).map_err(|_| invalid("`id` must be a string or a 64-bit integer"))?;
    let request =
        request(&call).map_err(|why| Refusal::new(Some(raw_id.to_owned()), ErrorCode::INVALID_PARAMS, why))?;
    Ok(Verdict::Deliver(Box::new(ClientJsonRpcMessage::request(request, id))))
}

/// The request that rmcp knows, or what is wrong with its parameters.
fn request(call: &Call<'_>) -> Result<ClientRequest, String> {
    match call.method {
        "tools/call" => tool_call(call.params).map(ClientRequest::CallToolRequest),
        "initialize" => initialize(call.params).map(ClientRequest::InitializeRequest),
        method => match call.parse() {
            Ok(ClientRequest::CustomRequest(_)) if KNOWN_METHODS.contains(&method) => {
                Err(format!("`params` are not what `{method}` takes"))
            }
            Ok(request) => Ok(request),
            Err(_) if KNOWN_METHODS.contains(&method) => Err(format!("`params` of `{method}` cannot be read")),
            // Whatever its parameters are, rmcp has to say that there is no such method.
            Err(_) => Ok(ClientRequest::CustomRequest(CustomRequest::new(method, None))),
        },
    }
}

/// A tool call whose arguments stay text, in the request's extensions.
fn tool_call(params: Option<&RawValue>) -> Result<CallToolRequest, String> {
    let mut members = members(params).ok_or("`params` must be an object with the tool's `name`")?;
    if member(&members, "name").and_then(string).is_none() {
        return Err("`params.name` must be a string: the tool to call".to_owned());
    }
    let arguments: Vec<_> = members.extract_if(.., |(name, _)| name == "arguments").collect();
    if arguments.len() > 1 {
        return Err("`params.arguments` is given twice".to_owned());
    }
    let params = object(&members);
    let call = Call {
        method: "tools/call",
        params: Some(&params),
    };
    let mut request: CallToolRequest = call
        .parse()
        .map_err(|error| format!("`params` cannot be read: {error}"))?;
    if let Some((_, arguments)) = arguments.first() {
        request.extensions.insert(RawArguments((*arguments).to_owned()));
    }
    Ok(request)
}

/// An `initialize` request with what it lacks filled in: a client that leaves out its version is told one that we
/// speak, and a capability that we cannot read is none that we would use.
fn initialize(params: Option<&RawValue>) -> Result<InitializeRequest, String> {
    let version = raw(ProtocolVersion::LATEST_WITH_INITIALIZE.as_str());
    let nothing = RawValue::from_string("{}".to_owned()).expect("an empty object is JSON");
    let nobody = raw("");
    let mut filled = members(params).unwrap_or_default();
    fill(&mut filled, "protocolVersion", &version, |value| {
        value.get().starts_with('"')
    });
    fill(&mut filled, "capabilities", &nothing, |value| {
        value.get().starts_with('{')
    });
    let client = member(&filled, "clientInfo")
        .and_then(|info| members(Some(info)))
        .unwrap_or_default();
    let mut named = client;
    fill(&mut named, "name", &nobody, |value| value.get().starts_with('"'));
    fill(&mut named, "version", &nobody, |value| value.get().starts_with('"'));
    let client = object(&named);
    filled.retain(|(name, _)| name != "clientInfo");
    filled.push((Cow::Borrowed("clientInfo"), &client));
    let whole = object(&filled);
    if let Ok(request) = (Call {
        method: "initialize",
        params: Some(&whole),
    })
    .parse()
    {
        return Ok(request);
    }
    tracing::debug!("reading only the version and the client's name of an `initialize` request");
    named.retain(|(name, _)| name == "name" || name == "version");
    let client = object(&named);
    filled.retain(|(name, _)| name == "protocolVersion");
    filled.push((Cow::Borrowed("capabilities"), &nothing));
    filled.push((Cow::Borrowed("clientInfo"), &client));
    let core = object(&filled);
    let call = Call {
        method: "initialize",
        params: Some(&core),
    };
    call.parse()
        .map_err(|error| format!("`params` cannot be read: {error}"))
}

type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// Puts `default` in the place of `name` when it is missing or not `fitting`.
fn fill<'a>(members: &mut Members<'a>, name: &'a str, default: &'a RawValue, fitting: fn(&RawValue) -> bool) {
    if !member(members, name).is_some_and(fitting) {
        members.retain(|(other, _)| other != name);
        members.push((Cow::Borrowed(name), default));
    }
}

fn member<'a>(members: &Members<'a>, name: &str) -> Option<&'a RawValue> {
    members.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
}

/// The members of an object in their order, or nothing when `value` is none.
fn members(value: Option<&RawValue>) -> Option<Members<'_>> {
    struct Collect;
    impl<'de> Visitor<'de> for Collect {
        type Value = Members<'de>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                members.push((Cow::Owned(name), value));
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(value?.get())
        .deserialize_map(Collect)
        .ok()
}

/// The JSON text of an object with these members.
fn object(members: &Members<'_>) -> Box<RawValue> {
    let mut text = String::from("{");
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(raw(name).get());
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    RawValue::from_string(text).expect("members of JSON make an object")
}

fn raw(text: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(text).expect("a string is JSON")
}

fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}
