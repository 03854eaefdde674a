//! The git work tree that a packet is written in, as `git` itself tells it.

use std::time::Duration;

use crate::domain::handoff::Git;
use crate::domain::handoff::place::Cwd;

/// How long `git` may take; a packet does not wait longer for what is only an addition.
const PATIENCE: Duration = Duration::from_secs(2);

/// Branch, commit and whether there are changes; none without git, outside a work tree, or when it takes too long.
pub async fn snapshot(cwd: &Cwd) -> Option<Git> {
    let mut command = tokio::process::Command::new("git");
    command
        .args([
            "--no-optional-locks",
            "-c",
            "core.fsmonitor=false",
            "status",
            "--porcelain=v2",
            "--branch",
        ])
        .arg("--untracked-files=normal")
        .current_dir(cwd.as_str())
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    if !output.status.success() {
        return None;
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

/// Reads git's porcelain format, version 2, with branch headers (git-status(1)).
fn read(text: &str) -> Option<Git> {
    let header = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix("# branch.")?.strip_prefix(name))
    };
    let short = |text: &str| text.trim().chars().take(250).collect::<String>();
    let commit = header("oid ").map(short).filter(|oid| oid != "(initial)")?;
    let branch = header("head ").map(short).filter(|head| head != "(detached)");
    let dirty = text.lines().any(|line| !line.starts_with('#'));
    Some(Git { branch, commit, dirty })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn porcelain_is_read() {
        let clean = "# branch.oid abc123\n# branch.head main\n";
        assert_eq!(
            read(clean),
            Some(Git {
                branch: Some("main".into()),
                commit: "abc123".into(),
                dirty: false
            })
        );
        let dirty = "# branch.oid abc123\n# branch.head (detached)\n? new.txt\n";
        assert_eq!(
            read(dirty),
            Some(Git {
                branch: None,
                commit: "abc123".into(),
                dirty: true
            })
        );
        assert_eq!(read("# branch.oid (initial)\n# branch.head main\n"), None);
    }
}
