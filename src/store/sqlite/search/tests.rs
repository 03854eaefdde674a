//! What the index promises, on a real SQLite.

mod filters;
mod paging;
mod upkeep;
mod words;

use rusqlite::Connection;

use super::*;

const TABLES: &str = "
CREATE TABLE version(id INTEGER PRIMARY KEY, project_id, seq, scope TEXT, key TEXT, version, content_id, tags TEXT,
                     base_confidence REAL, private_to TEXT, UNIQUE(project_id, scope, key, version));
CREATE TABLE content(id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE head(project_id, scope, key, version_id, PRIMARY KEY(project_id, scope, key)) WITHOUT ROWID;
CREATE TABLE opinion(version_id INTEGER PRIMARY KEY, confidence REAL);
";

/// A store that holds only what search reads.
struct Store {
    conn: Connection,
    seq: i64,
}

/// What a test writes; the defaults are what a test does not care about.
struct Write<'a> {
    project: i64,
    scope: &'a str,
    key: &'a str,
    tags: &'a [&'a str],
    value: serde_json::Value,
    private_to: Option<&'a str>,
    confidence: f64,
}

impl Default for Write<'_> {
    fn default() -> Self {
        let value = serde_json::Value::Null;
        Self {
            project: 1,
            scope: "app",
            key: "key",
            tags: &[],
            value,
            private_to: None,
            confidence: 0.7,
        }
    }
}

impl Store {
    fn new() -> Self {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(TABLES).unwrap();
        conn.execute_batch(CREATE).unwrap();
        Self { conn, seq: 0 }
    }

    fn write(&mut self, write: &Write<'_>) -> i64 {
        self.seq += 1;
        let (
            conn,
            &Write {
                project, scope, key, ..
            },
        ) = (&self.conn, write);
        let body = write.value.to_string();
        let tags = serde_json::to_string(write.tags).unwrap();
        let old: Option<i64> = conn
            .query_row(
                "SELECT max(version_id) FROM head WHERE project_id = ?1 AND scope = ?2 AND key = ?3",
                (project, scope, key),
                |row| row.get(0),
            )
            .unwrap();
        conn.execute("INSERT INTO content(body) VALUES (?1)", [&body]).unwrap();
        conn.execute(
            "INSERT INTO version(project_id, seq, scope, key, version, content_id, tags, base_confidence, private_to)
             VALUES (?1, ?2, ?3, ?4, ?2, last_insert_rowid(), ?5, ?6, ?7)",
            (project, self.seq, scope, key, &tags, write.confidence, write.private_to),
        )
        .unwrap();
        let id = conn.last_insert_rowid();
        conn.execute(
            "INSERT OR REPLACE INTO head VALUES (?1, ?2, ?3, ?4)",
            (project, scope, key, id),
        )
        .unwrap();
        conn.execute("INSERT INTO opinion VALUES (?1, ?2)", (id, write.confidence))
            .unwrap();
        if let Some(old) = old {
            unindex(conn, old).unwrap();
        }
        let (tags, body) = (tags.as_str(), Some(body.as_str()));
        index(
            conn,
            id,
            &Indexed {
                project,
                scope,
                key,
                tags,
                private_to: write.private_to,
                body,
            },
        )
        .unwrap();
        id
    }

    /// Writes a text under a key of its own.
    fn say(&mut self, text: &str) -> i64 {
        let key = format!("k{}", self.seq);
        self.write(&Write {
            key: &key,
            value: text.into(),
            ..Write::default()
        })
    }

    fn find(&self, search: Search<'_>) -> Found {
        find(&self.conn, &search).unwrap()
    }

    fn query(&self, query: &str) -> Vec<i64> {
        self.find(Search {
            query: Some(query),
            ..plain()
        })
        .hits
    }

    fn pages(&self, search: &Search<'_>) -> Vec<i64> {
        let mut search = search.clone();
        let mut hits = Vec::new();
        loop {
            let page = self.find(search.clone());
            hits.extend(page.hits);
            search.position = page.next;
            if search.position.is_none() {
                return hits;
            }
        }
    }
}

fn plain() -> Search<'static> {
    Search {
        project: 1,
        limit: 20,
        ..Search::default()
    }
}
