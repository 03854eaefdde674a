//! The sessions of clients that have such: whose each is, and that what one held is free when it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::{RestoreOutcome, SessionId, SessionManager};

use crate::app::{App, session};
use crate::domain::Session;

/// How long a session may be quiet: people leave a client open over night.
const QUIET: Duration = Duration::from_secs(12 * 60 * 60);

/// How many sessions there may be at once.
const MOST: usize = 4_096;

/// How many of them one token may have, so that nobody takes them all.
const EACH: usize = 512;

/// Whose each session is: a visitor's name for each session's.
#[derive(Debug, Clone, Default)]
pub struct Bound(Arc<Mutex<HashMap<String, String>>>);

impl Bound {
    fn kept(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes whose a session is.
    pub fn bind(&self, session: &str, who: &str) {
        self.kept().insert(session.to_owned(), who.to_owned());
    }

    /// Whether a session is not known to be another's.
    pub fn is_of(&self, session: &str, who: &str) -> bool {
        self.kept().get(session).is_none_or(|owner| owner == who)
    }

    /// How many sessions a visitor has.
    fn count(&self, who: &str) -> usize {
        self.kept().values().filter(|owner| *owner == who).count()
    }

    fn forget(&self, session: &str) {
        self.kept().remove(session);
    }
}

/// rmcp's own sessions, under names that tell which process they are of.
pub struct Sessions {
    inner: LocalSessionManager,
    app: Arc<App>,
    bound: Bound,
}

impl Sessions {
    /// No sessions yet.
    pub fn new(app: Arc<App>, bound: Bound) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(QUIET);
        Self { inner, app, bound }
    }

    /// Whether a visitor can have no further session for now. Whoever needs no token is alone on this machine.
    pub async fn is_full(&self, who: &str) -> bool {
        self.inner.sessions.read().await.len() >= MOST || (!who.is_empty() && self.bound.count(who) >= EACH)
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if self.inner.sessions.read().await.len() >= MOST {
            return Err(LocalSessionManagerError::SessionNotFound("too many sessions".into()));
        }
        let Some(name) = session::within_process() else {
            return self.inner.create_session().await;
        };
        let id: SessionId = name.as_str().into();
        match self.inner.restore_session(Arc::clone(&id)).await? {
            RestoreOutcome::Restored(transport) => Ok((id, transport)),
            // A name of random digits that is there already, or a manager that cannot take names.
            _ => self.inner.create_session().await,
        }
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.bound.forget(id);
        if let Ok(name) = Session::new(id) {
            self.app.end_session(name);
        }
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}
