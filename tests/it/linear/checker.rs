//! Whether a recorded history of calls on one object can be put in an order: each call at one moment between its beginning and
//! its answer, and each answer the one that the object gives at that moment. This is the search of Wing and Gong with the
//! memory that Lowe added: which calls are placed and what the object is then has been tried only once. What is linearizable
//! for each object is so for all together, so that records and packets are looked at one by one.
//!
//! It is a page of code of our own: `stateright`, whose tester does the same, brings a model checker with a web server, tries the
//! same again without remembering, and wants one answer for a call where ours are told apart by what is known of them.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

/// Something whose calls are answered one at a time.
pub trait Object: Clone + Eq + Hash + Debug {
    type Call: Debug;
    type Answer: Debug;

    /// What it is after a call that was answered so; none when it would not have given this answer. A call that was never
    /// answered may have had any.
    fn after(&self, call: &Self::Call, answer: Option<&Self::Answer>) -> Option<Self>;
}

/// One call, with the moments of its beginning and of its answer; without an answer it may have been done at any later time, or
/// never.
#[derive(Debug, Clone)]
pub struct Done<C, A> {
    pub began: u64,
    pub call: C,
    pub answered: Option<(u64, A)>,
}

/// Which calls are placed.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Placed(Vec<u64>);

impl Placed {
    fn holds(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 == 1
    }

    fn with(&self, n: usize) -> Self {
        let mut more = self.clone();
        more.0[n / 64] |= 1 << (n % 64);
        more
    }
}

/// Finds an order of the calls on an object; else tells how far one could be found, and what could come next in none.
pub fn order<O: Object>(start: &O, history: &[Done<O::Call, O::Answer>]) -> Result<Vec<usize>, String> {
    let nothing = Placed(vec![0; history.len().div_ceil(64)]);
    let mut tried: HashSet<(Placed, O)> = HashSet::new();
    let mut furthest: Vec<usize> = Vec::new();
    // What is to be tried: the calls that are placed, in their order, and what the object is then.
    let mut open = vec![(nothing, start.clone(), Vec::new())];
    while let Some((placed, object, so_far)) = open.pop() {
        let left = || history.iter().enumerate().filter(|(n, _)| !placed.holds(*n));
        // A call may come next only if it began before every other one that is left was answered.
        let Some(first) = left()
            .filter_map(|(_, done)| done.answered.as_ref())
            .map(|(at, _)| *at)
            .min()
        else {
            return Ok(so_far);
        };
        if so_far.len() > furthest.len() {
            furthest.clone_from(&so_far);
        }
        for (n, done) in left().filter(|(_, done)| done.began < first) {
            let answer = done.answered.as_ref().map(|(_, answer)| answer);
            if let Some(next) = object.after(&done.call, answer) {
                let placed = placed.with(n);
                if tried.insert((placed.clone(), next.clone())) {
                    let mut so_far = so_far.clone();
                    so_far.push(n);
                    open.push((placed, next, so_far));
                }
            }
        }
    }
    Err(told(start, history, &furthest))
}

/// The longest order that was found, and the calls that were left.
fn told<O: Object>(start: &O, history: &[Done<O::Call, O::Answer>], furthest: &[usize]) -> String {
    let mut object = start.clone();
    let mut text = format!(
        "no order of {} calls; {} could be placed:\n",
        history.len(),
        furthest.len()
    );
    for n in furthest {
        let done = &history[*n];
        let answer = done.answered.as_ref().map(|(_, answer)| answer);
        object = object.after(&done.call, answer).expect("it was placed");
        text += &format!("  {done:?}\n    -> {object:?}\n");
    }
    text += "left:\n";
    for (n, done) in history.iter().enumerate() {
        if !furthest.contains(&n) {
            text += &format!("  {done:?}\n");
        }
    }
    text
}
