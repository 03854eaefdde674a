//! Full-text search over current versions.

/// The search index.
pub const TABLE: &str = "CREATE VIRTUAL TABLE search USING fts5(text, content='', contentless_delete=1);";
