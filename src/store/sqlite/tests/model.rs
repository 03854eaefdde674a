//! Random sequences of what several agents do, against a simple model of the queue.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::domain::OutcomeRef;
use crate::domain::handoff::State;
use crate::domain::outcome::{NewOutcome, Report};

/// One agent in one of its sessions.
type Who = (usize, usize);

const AGENTS: [&str; 3] = ["anna", "bert", "carl"];
const OWNERS: [Option<&str>; 3] = [Some("alice"), Some("alice"), None];

#[derive(Debug, Clone)]
enum Step {
    HandOff(Who, Option<usize>),
    Resume(Who),
    ResumeId(Who, usize),
    Report(Who, usize, Report),
    Remember(Who),
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let who = || (0..AGENTS.len(), 0..2usize);
    let report = prop_oneof![Just(Report::Success), Just(Report::Abandoned), Just(Report::Released)];
    prop_oneof![
        3 => (who(), proptest::option::of(0..AGENTS.len())).prop_map(|(who, to)| Step::HandOff(who, to)),
        4 => who().prop_map(Step::Resume),
        2 => (who(), 0..8usize).prop_map(|(who, n)| Step::ResumeId(who, n)),
        3 => (who(), 0..8usize, report).prop_map(|(who, n, report)| Step::Report(who, n, report)),
        1 => who().prop_map(Step::Remember),
        2 => (1..700i64).prop_map(Step::Wait),
    ]
}

#[derive(Debug, Clone)]
struct Modelled {
    from: Who,
    to: Option<usize>,
    state: State,
    expires: i64,
    holder: Option<Who>,
    claimed: i64,
    /// When one of its own entries was last written.
    touched: i64,
    held_once: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
struct Model {
    now: i64,
    packets: Vec<Modelled>,
    /// When each session last wrote anything.
    active: HashMap<Who, i64>,
}

impl Model {
    fn owner(&self, n: usize) -> Option<&'static str> {
        OWNERS[self.packets[n].from.0]
    }

    fn sees(&self, who: Who, n: usize) -> bool {
        self.owner(n).is_none() || self.owner(n) == OWNERS[who.0]
    }

    fn state(&self, n: usize) -> State {
        let packet = &self.packets[n];
        if packet.state == State::Open && packet.expires <= self.now {
            State::Expired
        } else {
            packet.state
        }
    }

    fn lapsed(&self, n: usize) -> bool {
        let packet = &self.packets[n];
        let Some(holder) = packet.holder.filter(|_| packet.state == State::Accepted) else {
            return false;
        };
        let last = packet
            .touched
            .max(self.active.get(&holder).copied().unwrap_or(i64::MIN));
        last + LEASE.millis() / 1_000 <= self.now
    }

    fn wrote(&mut self, who: Who) {
        self.active.insert(who, self.now);
    }

    /// Each write on the queue first writes down what is due.
    fn expire_due(&mut self, who: Who) {
        for n in 0..self.packets.len() {
            if self.packets[n].state == State::Open && self.packets[n].expires <= self.now {
                self.packets[n].state = State::Expired;
                self.wrote(who);
            }
        }
    }

    fn choose(&self, who: Who) -> Option<usize> {
        let holds = |n: &usize| {
            self.packets[*n].state == State::Accepted && self.packets[*n].holder.is_some_and(|holder| holder.0 == who.0)
        };
        let all = || (0..self.packets.len()).filter(|n| self.sees(who, *n));
        let free = all()
            .filter(|n| match self.state(*n) {
                State::Open => true,
                State::Accepted => !holds(n) && self.lapsed(*n),
                _ => false,
            })
            .filter(|n| self.packets[*n].from != who)
            .filter(|n| self.packets[*n].to.is_none_or(|to| to == who.0))
            .min_by_key(|n| (self.packets[*n].to.is_none(), *n));
        let newest = |n: &usize| (self.packets[*n].claimed, *n);
        free.or_else(|| {
            all()
                .filter(holds)
                .filter(|n| self.packets[*n].holder == Some(who))
                .max_by_key(newest)
        })
        .or_else(|| all().filter(holds).filter(|n| self.lapsed(*n)).max_by_key(newest))
    }

    /// Puts a packet into the caller's hands, if its state allows it.
    fn claim(&mut self, who: Who, n: usize) -> bool {
        let takes = match self.state(n) {
            State::Open => true,
            State::Accepted if self.packets[n].holder.is_some_and(|holder| holder.0 == who.0) => false,
            State::Accepted if self.lapsed(n) => true,
            _ => return false,
        };
        let now = self.now;
        let packet = &mut self.packets[n];
        packet.state = State::Accepted;
        packet.holder = Some(who);
        packet.touched = now;
        packet.held_once.push(who.0);
        if takes {
            packet.claimed = now;
        }
        self.wrote(who);
        true
    }

    /// What a report does; whether it is taken.
    fn report(&mut self, who: Who, n: usize, report: Report) -> bool {
        let author = self.packets[n].from.0 == who.0 || (self.owner(n).is_some() && self.owner(n) == OWNERS[who.0]);
        let mine = self.packets[n].holder.is_some_and(|holder| holder.0 == who.0);
        let before = self.packets[n].held_once.contains(&who.0);
        let now = self.now;
        let state = self.state(n);
        let packet = &mut self.packets[n];
        match (state, report) {
            (State::Accepted, Report::Released) if mine => {
                packet.state = State::Open;
                packet.holder = None;
                if packet.expires <= now {
                    packet.expires = now + TTL.millis() / 1_000;
                }
            }
            (State::Accepted, _) if mine => packet.state = State::Closed,
            (State::Open, Report::Abandoned) if author => packet.state = State::Expired,
            (State::Accepted | State::Open, _) => return before,
            _ => return true,
        }
        packet.touched = now;
        self.wrote(who);
        self.expire_due(who);
        true
    }
}

fn acting(who: Who, now: i64) -> Actor {
    let session = format!("{}-{}", AGENTS[who.0], who.1);
    actor(AGENTS[who.0], Some(&session), OWNERS[who.0], at(now))
}

fn run(steps: &[Step]) {
    let bench = Bench::new();
    let mut model = Model::default();
    let mut ids: Vec<HandoffId> = Vec::new();
    for (turn, step) in steps.iter().enumerate() {
        let before = model.clone();
        match *step {
            Step::Wait(seconds) => model.now += seconds,
            Step::Remember(who) => {
                bench.remember(&acting(who, model.now), "k", &turn.to_string());
                model.wrote(who);
            }
            Step::HandOff(who, to) => {
                let new = NewHandoff {
                    to_agent: to.map(|n| Agent::new(AGENTS[n]).unwrap()),
                    ..titled(&turn.to_string())
                };
                ids.push(bench.hand_off(&acting(who, model.now), new).seen.packet.id);
                model.expire_due(who);
                let expires = model.now + TTL.millis() / 1_000;
                model.packets.push(Modelled {
                    from: who,
                    to,
                    state: State::Open,
                    expires,
                    holder: None,
                    claimed: 0,
                    touched: model.now,
                    held_once: Vec::new(),
                });
                model.wrote(who);
            }
            Step::Resume(who) => {
                let got = bench.resume(&acting(who, model.now));
                model.expire_due(who);
                let chosen = model.choose(who);
                assert_eq!(got, chosen.map(|n| ids[n].clone()), "turn {turn} of {steps:?}");
                if let Some(n) = chosen {
                    assert!(model.claim(who, n));
                }
            }
            Step::ResumeId(who, n) if n < ids.len() => {
                let got = bench.try_resume(&acting(who, model.now), Some(&ids[n]));
                model.expire_due(who);
                let taken = model.sees(who, n) && model.claim(who, n);
                assert_eq!(got.is_ok(), taken, "turn {turn} of {steps:?}: {got:?}");
                if !taken {
                    model = before;
                }
            }
            Step::Report(who, n, report) if n < ids.len() => {
                let run = OutcomeRef::new(&format!("run-{turn}")).unwrap();
                let new = NewOutcome::new(report, run, None, Some(ids[n].clone()), None).unwrap();
                let recording = bench.store.record(acting(who, model.now), new, TTL, false);
                let got = bench.runtime.block_on(recording);
                let taken = model.sees(who, n) && model.report(who, n, report);
                assert_eq!(got.is_ok(), taken, "turn {turn} of {steps:?}: {got:?}");
                if !taken {
                    model = before;
                }
            }
            Step::ResumeId(..) | Step::Report(..) => {}
        }
        for (n, id) in ids.iter().enumerate() {
            let packet = bench.packet(at(model.now), id);
            let holder = model.packets[n]
                .holder
                .filter(|_| model.packets[n].state != State::Open);
            let wanted = (model.state(n), holder.map(|who| format!("{}-{}", AGENTS[who.0], who.1)));
            let got = (
                packet.state_at(at(model.now)),
                packet.accepted_session.map(|name| name.to_string()),
            );
            assert_eq!(got, wanted, "packet {n} after turn {turn} of {steps:?}");
        }
    }
    if !ids.is_empty() {
        bench.proved();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_the_model_says(steps in proptest::collection::vec(step(), 1..40)) {
        run(&steps);
    }
}
