//! What the transport remembers of a session: how far it has got, and which requests are under way.

use std::collections::HashSet;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::TxJsonRpcMessage;

use super::envelope::{Refusal, Verdict};

/// Requests that may be under way at once; further ones wait in the pipe.
const UNDER_WAY: usize = 256;

/// How far a session has got.
///
/// Until rmcp has taken a first request, a notification or an answer makes it leave, so those are held back.
#[derive(Debug, PartialEq, Eq)]
enum Opening {
    /// No request went through yet.
    Shut,
    /// This request was handed over. Unless rmcp refuses it before it asks for the next message, the session is open.
    Asked(RequestId),
    /// Everything passes.
    Open,
}

/// The state of one session.
#[derive(Debug)]
pub(super) struct Session {
    opening: Opening,
    under_way: HashSet<RequestId>,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            opening: Opening::Shut,
            under_way: HashSet::new(),
        }
    }

    /// Notes that rmcp asks for the next message, so it has not left.
    pub(super) fn asked_for_more(&mut self) {
        if matches!(self.opening, Opening::Asked(_)) {
            self.opening = Opening::Open;
        }
    }

    /// Whether one more request may be taken.
    pub(super) fn has_room(&self) -> bool {
        self.under_way.len() < UNDER_WAY
    }

    /// Lets a message pass, or says what becomes of it instead.
    pub(super) fn admit(&mut self, message: ClientJsonRpcMessage) -> Result<ClientJsonRpcMessage, Verdict> {
        match &message {
            JsonRpcMessage::Request(request) => {
                // rmcp keeps requests by id and would never answer the second of two.
                if !self.under_way.insert(request.id.clone()) {
                    let id = serde_json::value::to_raw_value(&request.id).ok();
                    let why = "a request with this `id` is still under way";
                    return Err(Verdict::Refuse(Refusal::new(id, ErrorCode::INVALID_REQUEST, why)));
                }
                let probe = matches!(
                    request.request,
                    ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                if self.opening != Opening::Open && !probe {
                    self.opening = Opening::Asked(request.id.clone());
                }
            }
            _ if self.opening != Opening::Open => {
                tracing::debug!("ignoring a message that came before the first request");
                return Err(Verdict::Ignore);
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp drops the answer to a cancelled request, so nothing else would take it off the list.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.under_way.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(message)
    }

    /// Notes what is sent to the client.
    pub(super) fn sent(&mut self, message: &TxJsonRpcMessage<RoleServer>) {
        let (id, refused) = match message {
            JsonRpcMessage::Response(response) => (Some(&response.id), false),
            ServerJsonRpcMessage::Error(error) => (error.id.as_ref(), true),
            _ => return,
        };
        let Some(id) = id else { return };
        self.under_way.remove(id);
        if matches!(&self.opening, Opening::Asked(asked) if asked == id) {
            self.opening = if refused { Opening::Shut } else { Opening::Open };
        }
    }
}
