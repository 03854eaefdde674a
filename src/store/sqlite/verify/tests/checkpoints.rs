//! Whether a store extends what was seen of it earlier.

use super::{Place, actor, at, value};
use crate::domain::ledger::Checkpoint;
use crate::store::Store;

async fn write(store: &Store, project: &str, text: &str) -> Checkpoint {
    let me = actor(project, "scout", None, 600);
    store
        .remember(me.clone(), value(&at("app", "state"), text))
        .await
        .unwrap();
    store.checkpoint(me).await.unwrap().unwrap()
}

/// What is said of the first checkpoint that does not hold.
async fn fault(store: &Store, checkpoints: &[&Checkpoint]) -> Option<String> {
    let checkpoints = checkpoints.iter().map(|point| (*point).clone()).collect();
    let faults = store.verify(checkpoints, |_, _| {}).await.unwrap().faults;
    assert!(faults.iter().all(|fault| fault.kind == "checkpoint"), "{faults:?}");
    faults.into_iter().next().map(|fault| fault.what)
}

#[tokio::test]
async fn an_extension_is_told_from_everything_else() {
    let place = Place::new();
    let store = place.store();
    let first = write(&store, "a", "1").await;
    let other = write(&store, "b", "1").await;
    store.close().await;
    let earlier = std::fs::read(place.path()).unwrap();
    let last = write(&store, "a", "2").await;
    assert_eq!(fault(&store, &[&first, &other, &last]).await, None);
    store.close().await;

    // Rolled back, as from a backup: intact in itself.
    std::fs::write(place.path(), earlier).unwrap();
    assert_eq!(fault(&store, &[&first, &other]).await, None);
    let what = fault(&store, &[&first, &last]).await.unwrap();
    assert!(what.contains("rolled back"), "{what}");

    // And written to since: as long as before, and not the same.
    let rewritten = write(&store, "a", "3").await;
    assert_eq!(rewritten.seq, last.seq);
    let what = fault(&store, &[&last]).await.unwrap();
    assert!(what.contains("rewritten"), "{what}");
    let beyond = Checkpoint {
        seq: u64::MAX,
        ..last.clone()
    };
    assert!(fault(&store, &[&beyond]).await.is_some());

    // A project that is not there, and one of the same name in another store.
    let unknown = Checkpoint {
        project: "c".to_owned(),
        ..last
    };
    let what = fault(&store, &[&unknown]).await.unwrap();
    assert!(what.contains("no such project"), "{what}");
    let elsewhere = Place::new();
    let elsewhere = elsewhere.store();
    let theirs = write(&elsewhere, "a", "1").await;
    assert_ne!(theirs.store, first.store);
    let what = fault(&elsewhere, &[&first]).await.unwrap();
    assert!(what.contains("another store"), "{what}");
    elsewhere.close().await;
    store.close().await;
}
