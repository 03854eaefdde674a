//! Every limit on what is stored and asked, once, the same on every face.

/// Longest scope or key, in bytes of UTF-8.
pub const NAME_BYTES: usize = 512;
/// Longest other name (agent, session, owner, workspace, project, outcome_ref), in bytes of UTF-8.
pub const SHORT_NAME_BYTES: usize = 256;
/// Largest value, in bytes of compact JSON.
pub const VALUE_BYTES: usize = 1024 * 1024;
/// Deepest nesting of arrays and objects in a value; a scalar has depth 0.
pub const VALUE_DEPTH: usize = 64;
/// Most tags on one version.
pub const TAGS: usize = 32;
/// Longest tag, in bytes of UTF-8.
pub const TAG_BYTES: usize = 64;
/// Longest packet title, in characters.
pub const TITLE_CHARS: usize = 200;
/// Longest packet summary, in bytes of UTF-8.
pub const SUMMARY_BYTES: usize = 16 * 1024;
/// Most entries in each of a packet's lists: next steps, open questions, files touched.
pub const LIST_ENTRIES: usize = 64;
/// Longest entry of such a list, in bytes of UTF-8.
pub const LIST_ENTRY_BYTES: usize = 2 * 1024;
/// Most refs on a packet or an outcome.
pub const REFS: usize = 256;
/// Largest packet with its refs but without their values, in bytes of compact JSON.
pub const PACKET_BYTES: usize = 40 * 1024;
/// Longest note on an outcome, in bytes of UTF-8.
pub const NOTE_BYTES: usize = 16 * 1024;
/// Longest search query, in bytes of UTF-8.
pub const QUERY_BYTES: usize = 4 * 1024;
/// Longest working directory, in bytes of UTF-8.
pub const CWD_BYTES: usize = 1024;
/// Largest page that is given: more is taken as this, with a warning.
pub const PAGE_MAX: usize = 200;
/// Page size when nothing is asked.
pub const PAGE_DEFAULT: usize = 20;
/// Longest JSON-RPC line, in bytes without its line end.
pub const LINE_BYTES: usize = 8 * 1024 * 1024;
/// Entries in a list inside an answer, other than records, versions and refs.
pub const ANSWER_LIST: usize = 20;
/// What an answer stays under by default, in bytes of compact JSON.
pub const ANSWER_BYTES: usize = 32 * 1024;
/// What an answer never passes, in bytes of compact JSON.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;
