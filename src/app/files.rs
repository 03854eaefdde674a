//! New files that appear whole or not at all, and that their user alone can read.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::AppError;
use crate::domain::Invalid;
use crate::store::folder;

/// What is to be removed if the process is told to end before it has come to that itself.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn begun(path: &Path) {
    UNFINISHED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(path.to_owned());
}

fn finished(path: &Path) {
    let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|known| known != path);
}

/// Removes every file and folder of this process that is not finished: for a process that ends at once.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
}

/// A file under way, beside the place where it is to be. It is removed again unless it is published.
pub struct Fresh {
    part: PathBuf,
    to: PathBuf,
    replace: bool,
    done: bool,
}

impl Fresh {
    /// Begins a file at `to`. Where there is one already, only `replace` lets it be taken over, at the end.
    ///
    /// # Errors
    /// When there is one, or the place cannot be written.
    pub fn at(to: &Path, replace: bool) -> Result<(Self, File), AppError> {
        if to.is_dir() {
            return Err(refused(to, "a folder", "the path of a new file"));
        }
        // What is no plain file (a device, a pipe, a link to somewhere else) is never replaced.
        match std::fs::symlink_metadata(to) {
            Ok(meta) if !meta.is_file() => return Err(refused(to, "no plain file", "the path of a new file")),
            Ok(_) if !replace => return Err(refused(to, "there already", "the path of a new file, or --overwrite")),
            _ => {}
        }
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|_| AppError::internal("the system gave no random numbers"))?;
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        // The name of the part is longer than that of the file, and names have a limit.
        let name: String = name.chars().take(50).collect();
        let part = to.with_file_name(format!(".{name}.{:016x}.part", u64::from_be_bytes(bytes)));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&part).map_err(|error| unwritable(to, &error))?;
        begun(&part);
        let fresh = Self {
            part,
            to: to.to_owned(),
            replace,
            done: false,
        };
        Ok((fresh, file))
    }

    /// Where it is written meanwhile.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Waits until the disk has it, and gives it its name.
    ///
    /// # Errors
    /// When somebody else took the name meanwhile, or the disk failed.
    pub fn publish(mut self) -> Result<(), AppError> {
        let failed = |error: &io::Error| unwritable(&self.to, error);
        File::open(&self.part)
            .and_then(|file| file.sync_all())
            .map_err(|error| failed(&error))?;
        if self.replace {
            std::fs::rename(&self.part, &self.to).map_err(|error| failed(&error))?;
        } else {
            // A link fails where a rename would take the place of what is there.
            match std::fs::hard_link(&self.part, &self.to) {
                Ok(()) => {
                    let _ = std::fs::remove_file(&self.part);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(refused(
                        &self.to,
                        "there by now",
                        "the path of a new file, or --overwrite",
                    ));
                }
                // Not every file system has links.
                Err(_) => std::fs::rename(&self.part, &self.to).map_err(|error| failed(&error))?,
            }
        }
        self.done = true;
        folder::settle(&self.to).map_err(|error| unwritable(&self.to, &error))
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.done {
            let _ = std::fs::remove_file(&self.part);
        }
        finished(&self.part);
    }
}

fn refused(path: &Path, got: &str, expected: &str) -> AppError {
    Invalid::new("file", format!("{}, {got}", path.display()), expected).into()
}

/// That a file cannot be written, as the system says.
pub fn unwritable(path: &Path, error: &io::Error) -> AppError {
    let text = error.to_string();
    let what = text.split(" (os error").next().unwrap_or_default().to_lowercase();
    AppError::File {
        path: path.to_owned(),
        what,
        full: matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        ),
    }
}

/// A folder of its own for files that nobody is to keep; it goes when this goes.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one that its user alone can enter.
    ///
    /// # Errors
    /// When the system's place for such folders cannot be written.
    pub fn new() -> Result<Self, AppError> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|_| AppError::internal("the system gave no random numbers"))?;
        let path = std::env::temp_dir().join(format!("handoff-memory-{:016x}", u64::from_be_bytes(bytes)));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|error| unwritable(&path, &error))?;
        begun(&path);
        Ok(Self(path))
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        finished(&self.0);
    }
}
