//! Random sequences of what several agents do in several processes, through every face, against a simple model in memory. One
//! thing happens at a time here, so that the model is exact; what happens at once is looked at in [`linear`](crate::linear).
//!
//! Each answer is held against the model's when it comes. At the end everything is read back and compared, the file is proved,
//! and the same is done once more with a store that it was exported to.

mod answers;
mod hands;
mod moves;
mod past;
mod queue;
mod records;
mod reports;
mod world;
mod writing;

use proptest::prelude::*;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use serde_json::json;

use answers::{Names, holds};
use hands::{Hands, quick};
use moves::Move;
use past::Past;
use world::{Run, Who, World};

use crate::everything::{checkpoints, export, import};
use crate::harness::{Place, is_long};
use crate::shell::Shell;

/// The model, with the past that its store begins with.
#[derive(Clone)]
struct Story {
    past: Past,
    world: World,
}

/// A failure shows what a case begins with; the rest follows from its moves.
impl std::fmt::Debug for Story {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.past.fmt(f)
    }
}

struct Model;

impl ReferenceStateMachine for Model {
    type State = Story;
    type Transition = Move;

    fn init_state() -> BoxedStrategy<Story> {
        any::<[bool; 5]>()
            .prop_map(|[lapsed, left, due, automatic, private]| {
                let past = Past {
                    lapsed,
                    left,
                    due,
                    automatic,
                    private,
                };
                let world = past.world();
                Story { past, world }
            })
            .boxed()
    }

    fn transitions(story: &Story) -> BoxedStrategy<Move> {
        moves::next(&story.world)
    }

    fn preconditions(story: &Story, step: &Move) -> bool {
        story.world.fixes(step)
    }

    fn apply(story: Story, step: &Move) -> Story {
        let world = story.world.after(step);
        Story { world, ..story }
    }
}

struct Store;

impl StateMachineTest for Store {
    type SystemUnderTest = Hands;
    type Reference = Model;

    fn init_test(story: &Story) -> Hands {
        Hands::of(&story.past)
    }

    fn apply(mut hands: Hands, story: &Story, step: Move) -> Hands {
        hands.make(&step, &story.world);
        hands
    }

    fn teardown(mut hands: Hands, story: Story) {
        hands.rest();
        if story.world.ledger.is_empty() {
            return;
        }
        agrees(&hands.place, &story.world, &hands.names);
        let moved = Place::new();
        import(&moved, &export(&hands.place, "everything.jsonl"), 0);
        assert_eq!(
            checkpoints(&moved),
            checkpoints(&hands.place),
            "an import is the same store"
        );
        agrees(&moved, &story.world, &hands.names);
    }
}

/// Reads everything back, as a stranger for each owner, and as root.
#[track_caller]
fn agrees(place: &Place, world: &World, names: &Names) {
    place.verify_clean();
    let told = Shell::of(place, "reader").says(&["log", "--root", "--json", "--since", "0"]);
    let told: Vec<serde_json::Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let wanted = names.real(&json!(world.log(None, 0)));
    holds(&wanted, &json!(told), "the ledger").unwrap_or_else(|fault| panic!("{fault}"));
    for owner in ["alice", "bob"] {
        let reader = Who {
            agent: "reader",
            owner: Some(owner),
            run: Some(Run::Named("reading")),
            cwd: Some("app"),
        };
        let start = quick(place.start()).agent("reader").env("MEMORY_OWNER", owner);
        let mut server = start.env("SESSION_ID", "reading").serve();
        let mut check = |what: &str, tool: &str, arguments: serde_json::Value, said: world::Said| {
            match (said, server.attempt(tool, arguments)) {
                (Ok(said), Ok(answer)) => {
                    holds(&names.real(&said), &answer, what).unwrap_or_else(|fault| panic!("{owner}: {fault}"));
                }
                (Err(said), Err(refusal)) => assert_eq!(refusal.code, said.code, "{owner}: {what}"),
                (said, answer) => panic!("{owner}: {what} should be {said:?}, and is {answer:?}"),
            };
        };
        for at in world.records.keys() {
            let arguments = json!({"scope": at.0, "key": at.1, "limit": 200});
            check(&format!("{at:?}"), "history", arguments, world.history(&reader, *at));
        }
        for n in 0..world.packets.len() {
            let arguments = json!({"peek": true, "handoff_id": names.packet(n), "cwd": names.place("app")});
            check(
                &format!("packet {n}"),
                "resume",
                arguments,
                world.peek(&reader, Some(n), None),
            );
        }
        let mut said = world.stats(&reader);
        if let Ok(said) = &mut said {
            // Where the process is, by which what waits is sorted, and the spelling of names are looked at on the way.
            for field in ["waiting", "by_agent"] {
                said.as_object_mut().expect("numbers").remove(field);
            }
        }
        check("the numbers", "memory_stats", json!({}), said);
    }
}

/// How many cases, of how many moves each: `LONG_TESTS=1` makes many thousands of moves.
fn config() -> Config {
    Config {
        cases: if is_long() { 400 } else { 16 },
        max_shrink_iters: 400,
        ..Config::default()
    }
}

prop_state_machine! {
    #![proptest_config(config())]

    #[test]
    fn the_store_does_what_the_model_says(sequential 20..60 => Store);
}
