//! Turns a panic in a request's handler into one answer.
//!
//! rmcp runs each request on a task of its own. When such a task panics, nobody is left to answer, and the client waits
//! until its own patience ends.

use std::any::Any;
use std::borrow::Cow;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use rmcp::model::{
    CallToolResult, ClientNotification, ClientRequest, ContentBlock, ErrorData, ProtocolVersion, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler, Service};

/// What a caller is told when the server is at fault.
const APOLOGY: &str = "the server failed while it worked on this request; what was acknowledged before is unharmed";

/// A handler whose panics are caught and answered.
#[derive(Debug)]
pub(super) struct Guarded<H>(pub(super) H);

impl<H: ServerHandler> Service<RoleServer> for Guarded<H> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let is_call = matches!(request, ClientRequest::CallToolRequest(_));
        let version = context.protocol_version();
        // rmcp moves what runs a request about many times, and the handlers of all methods together are large.
        match caught(Box::pin(self.0.handle_request(request, context))).await {
            Ok(answer) => answer,
            Err(panic) => {
                tracing::error!(panic, "a request's handler panicked");
                if is_call {
                    Ok(failed_call(version.as_ref()))
                } else {
                    Err(ErrorData::internal_error(APOLOGY, None))
                }
            }
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}

/// A tool result with the error shape that every tool has. It is text alone: structured content would have to conform
/// to the tool's output schema.
fn failed_call(version: Option<&ProtocolVersion>) -> ServerResult {
    let error = serde_json::json!({"error": {
        "code": "internal",
        "message": APOLOGY,
        "hint": "try it once more; if it fails again, report it with the server's standard error output",
    }});
    let mut result = ServerResult::CallToolResult(CallToolResult::error(vec![ContentBlock::text(error.to_string())]));
    // The blanket handler would have done this for an answer that it saw.
    if version.is_none_or(|version| version.as_str() < ProtocolVersion::V_2026_07_28.as_str()) {
        result.strip_result_type_for_legacy_peer();
    }
    result
}

/// Drives `future` and gives what it panicked with, should it. A future that panicked is not polled again, and the
/// state behind it is guarded by its own locks and transactions, so looking at it afterwards is safe.
pub(in crate::mcp) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(message(panic.as_ref()))),
        },
    )
    .await
}

fn message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "with no message".to_owned()
    }
}
