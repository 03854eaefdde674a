//! One shared, versioned memory for several AI agents, and the handoff that carries work across sessions.
//!
//! The program `handoff-memory` serves this over MCP; the crate is the same thing as a library. Data walks one way: a
//! face parses words, [`app`] runs one use case, [`domain`] decides purely, [`store`] keeps it in one transaction, and the
//! answer walks back out through [`wire`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`domain`] | the words and rules as types: names, hashes, confidence, the packet's state machine, limits |
//! | [`store`] | what is kept, and what is promised of it; [`store::sqlite`] keeps it in one file |
//! | [`config`] | settings from flags and environment |
//! | [`app`] | the use cases, one verb each |
//! | [`ask`] | what callers ask for, read leniently, once for MCP and REST |
//! | [`wire`] | the answer shapes, the same on every face |
//! | [`mcp`], [`http`], [`cli`] | the faces |
//!
//! # Example
//!
//! Two agents of one person, on one file. The second one takes over what the first one wrote down, with the exact versions
//! to start from; an agent of another person does not see the packet.
//!
//! ```
//! use handoff_memory::app::{App, Caller};
//! use handoff_memory::config::Config;
//! use handoff_memory::domain::handoff::place::Cwd;
//! use handoff_memory::domain::handoff::seen::Standing;
//! use handoff_memory::domain::handoff::{NewHandoff, Texts};
//! use handoff_memory::domain::record::NewVersion;
//! use handoff_memory::domain::{JsonText, Key, Owner, Scope, Session};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("memory.db");
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! // Nothing is opened or created before the first write.
//! let app = App::new(Config::at(path)?);
//! let alice = Some(Owner::new("alice")?);
//! let scout = Caller { owner: alice.clone(), session: Some(Session::new("scout-1")?), ..Caller::new("scout")? };
//!
//! // Remember: a value is JSON text, kept byte for byte.
//! let note = |text| -> Result<NewVersion, handoff_memory::domain::Invalid> {
//!     Ok(NewVersion::new(Scope::new("listing")?, Key::new("482/assessment")?, JsonText::value("value", text)?))
//! };
//! let written = app.remember(&scout, note(r#"{"fit": "good"}"#)?).await?;
//! assert_eq!(written.remembered.version.version, 1);
//!
//! // Hand over: without refs, the packet pins what the session wrote and read.
//! let texts = Texts::new("Listings", "One fits.", vec!["Apply for 482".into()], vec![], vec![])?;
//! let (handed, _) = app.hand_off(&scout, NewHandoff::new(texts)).await?;
//! assert_eq!(handed.refs.len(), 1);
//!
//! // The record moves on after the packet.
//! app.remember(&scout, note(r#"{"fit": "taken"}"#)?).await?;
//!
//! // Another person's agent does not see the packet; one of the same person gets it, and is told what is stale.
//! let stranger = Caller { owner: Some(Owner::new("bob")?), ..Caller::new("executor")? };
//! assert!(app.resume(&stranger, None).await?.0.found.is_none());
//! let executor = Caller { owner: alice, cwd: Some(Cwd::new("/src/app")?), ..Caller::new("executor")? };
//! let (resumed, _) = app.resume(&executor, None).await?;
//! let (packet, refs, _) = resumed.found.ok_or("no packet")?;
//! assert_eq!(packet.packet.id, handed.seen.packet.id);
//! assert!(matches!(refs[0].standing, Standing::Stale { version: 2, same_value: false, .. }));
//!
//! // Prove every hash, chain and row.
//! assert!(app.verify(vec![], |_done, _of| {}).await?.ok());
//! app.close().await;
//! # Ok(())
//! # })
//! # }
//! ```

pub mod app;
pub mod ask;
pub mod cli;
pub mod config;
pub mod domain;
pub mod http;
pub mod mcp;
pub mod store;
pub mod wire;
