//! Being told to end: what is not finished is removed, and the process ends at once, whatever it waits for.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::app::files::remove_unfinished;

/// Whether another program has the terminal, which such signals are meant for.
static LENT: AtomicBool = AtomicBool::new(false);

/// Runs `work` while another program has the terminal: an editor decides itself what Ctrl-C means.
pub fn lending<T>(work: impl FnOnce() -> T) -> T {
    LENT.store(true, Ordering::SeqCst);
    let done = work();
    LENT.store(false, Ordering::SeqCst);
    done
}

/// From now on the process ends when the system or the user asks for it. A transaction under way is rolled back by the store
/// itself.
#[cfg(unix)]
pub fn watch() {
    use tokio::signal::unix::{SignalKind, signal};
    // The exit codes are those that shells know for the signals.
    for (kind, code) in [(SignalKind::terminate(), 143), (SignalKind::interrupt(), 130)] {
        let Ok(mut asked) = signal(kind) else { continue };
        tokio::spawn(async move {
            while asked.recv().await.is_some() {
                end(code);
            }
        });
    }
}

/// From now on the process ends when the user asks for it.
#[cfg(not(unix))]
pub fn watch() {
    tokio::spawn(async {
        while tokio::signal::ctrl_c().await.is_ok() {
            end(130);
        }
    });
}

fn end(code: i32) {
    if !LENT.load(Ordering::SeqCst) {
        remove_unfinished();
        std::process::exit(code);
    }
}
