//! The git repository of a directory, by its files alone: one name for all of its work trees.

use std::path::{Path, PathBuf};

use crate::domain::Hash;

/// A project name for the repository that holds `cwd`: the folder's name and eight digits that tell it from another
/// repository of that name. None outside a repository.
pub fn name(cwd: &Path) -> Option<String> {
    let common = cwd.ancestors().find_map(common_dir)?;
    let common = common.canonicalize().unwrap_or(common);
    // The common folder is `…/name/.git`, or `…/name.git` when the repository is bare.
    let folder = if common.file_name()? == ".git" {
        common.parent()?.file_name()?
    } else {
        common.file_name()?
    };
    let digits = Hash::of(&[common.to_str()?.as_bytes()]).to_string();
    Some(format!("{}-{}", folder.to_str()?, &digits[..8]))
}

/// The folder that all work trees of a repository share, when `folder` is the top of one.
fn common_dir(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    // In a linked work tree `.git` is a file that names its own folder, which names the common one.
    let text = std::fs::read_to_string(&git).ok()?;
    let own = folder.join(text.lines().next()?.strip_prefix("gitdir:")?.trim());
    match std::fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_trees_share_their_repository() {
        let root = tempfile::tempdir().unwrap();
        let main = root.path().join("app");
        let linked = root.path().join("elsewhere");
        std::fs::create_dir_all(main.join(".git/worktrees/elsewhere")).unwrap();
        std::fs::create_dir_all(main.join("src/deep")).unwrap();
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::write(main.join(".git/worktrees/elsewhere/commondir"), "../..\n").unwrap();
        let gitdir = format!("gitdir: {}\n", main.join(".git/worktrees/elsewhere").display());
        std::fs::write(linked.join(".git"), gitdir).unwrap();
        let of_main = name(&main.join("src/deep")).unwrap();
        assert!(of_main.starts_with("app-"), "{of_main}");
        assert_eq!(name(&linked), Some(of_main));
        assert_eq!(name(root.path()), None);
    }
}
