//! How far long work has come, on a terminal that somebody looks at.

use std::io::IsTerminal as _;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error with an estimate of what is left; nothing where standard error is no terminal.
#[derive(Clone)]
pub struct Progress(Arc<ProgressBar>);

impl Progress {
    /// A bar for work that is called `what`.
    pub fn of(what: &'static str) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent}% {elapsed} of about {duration}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what);
        Self(Arc::new(bar))
    }

    /// Says what is being done now.
    pub fn name(&self, what: &'static str) {
        self.0.set_message(what);
    }

    /// Tells that `done` of `all` is done.
    pub fn at(&self, done: u64, all: u64) {
        self.0.set_length(all.max(1));
        self.0.set_position(done);
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) == 1 {
            self.0.finish_and_clear();
        }
    }
}
