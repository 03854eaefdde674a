//! Files of an older schema: read as they are, brought up to date by the first write.

use super::{Bench, actor, at};
use crate::domain::Owner;
use crate::domain::token::{NewToken, Presented, Role, Secret, TokenId};
use crate::store::sqlite::Admission;

/// The file as version 1 made it.
fn aged() -> Bench {
    let bench = Bench::new();
    bench.remember(&actor("a", Some("s"), None, at(0)), "k", "1");
    bench.runtime.block_on(bench.store.close());
    let sql = rusqlite::Connection::open(bench.store.path()).unwrap();
    sql.execute_batch("DROP TABLE token; DROP INDEX outcome_packet; PRAGMA user_version = 1")
        .unwrap();
    bench
}

fn schema(bench: &Bench) -> i64 {
    let sql = rusqlite::Connection::open(bench.store.path()).unwrap();
    sql.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn an_older_file_is_read_as_it_is_and_brought_up_to_date_by_a_write() {
    let bench = aged();
    let now = at(0);
    let run = &bench.runtime;
    assert_eq!(run.block_on(bench.store.tokens()).unwrap(), []);
    assert_eq!(
        run.block_on(bench.store.admit(Some("x".to_owned()), now)).unwrap(),
        Admission::Open
    );
    assert!(run.block_on(bench.store.verify(Vec::new(), |_, _| {})).unwrap().ok());
    assert_eq!(
        run.block_on(bench.store.stats(actor("a", None, None, at(0))))
            .unwrap()
            .schema,
        1
    );
    assert_eq!(schema(&bench), 1, "a read changes nothing");

    bench.remember(&actor("a", Some("s"), None, at(1)), "k", "2");
    assert_eq!(schema(&bench), 2);
    let token = Presented {
        id: TokenId::from_random([1; 8]),
        secret: Secret::from_random([2; 32]),
    };
    let new = NewToken::new(Role::Member, Some(Owner::new("ann").unwrap()), None).unwrap();
    let kept = run.block_on(bench.store.add_token(token.clone(), new, now)).unwrap();
    assert_eq!(
        run.block_on(bench.store.admit(Some(token.text()), now)).unwrap(),
        Admission::Known(kept)
    );
    assert_eq!(run.block_on(bench.store.admit(None, now)).unwrap(), Admission::Missing);
    assert!(run.block_on(bench.store.verify(Vec::new(), |_, _| {})).unwrap().ok());
}

#[test]
fn a_token_is_good_with_its_secret_alone_until_it_ends() {
    let bench = Bench::new();
    let run = &bench.runtime;
    let token = |id: u8, secret: u8| Presented {
        id: TokenId::from_random([id; 8]),
        secret: Secret::from_random([secret; 32]),
    };
    let mut new = NewToken::new(Role::Root, None, None).unwrap();
    new.expires_at = Some(at(1_000));
    run.block_on(bench.store.add_token(token(1, 2), new, at(0))).unwrap();
    let admit = |shown: Presented, now| {
        let admission = run.block_on(bench.store.admit(Some(shown.text()), at(now))).unwrap();
        matches!(admission, Admission::Known(_))
    };
    assert!(admit(token(1, 2), 999));
    assert!(!admit(token(1, 2), 1_000), "its time is over");
    assert!(!admit(token(1, 3), 0), "another secret");
    assert!(!admit(token(2, 2), 0), "another id");
    let revoked = run.block_on(bench.store.revoke_token(token(1, 2).id, at(5))).unwrap();
    assert_eq!(revoked.revoked_at, Some(at(5)));
    let again = run.block_on(bench.store.revoke_token(token(1, 2).id, at(9))).unwrap();
    assert_eq!(again.revoked_at, Some(at(5)), "it ended once");
    assert!(!admit(token(1, 2), 6));
    assert!(run.block_on(bench.store.revoke_token(token(7, 7).id, at(9))).is_err());
    assert_eq!(
        run.block_on(bench.store.admit(None, at(9))).unwrap(),
        Admission::Missing,
        "a store that had tokens stays closed when the last one is gone"
    );
    let sql = rusqlite::Connection::open(bench.store.path()).unwrap();
    let kept: String = sql.query_row("SELECT hash FROM token", [], |row| row.get(0)).unwrap();
    assert!(!token(1, 2).text().contains(&kept));
}
