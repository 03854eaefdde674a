//! The file under the database: its folder, its modes, its identity and its file system.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::super::{StoreError, folder};

/// What tells one file from another that took its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(u64, u64);

/// Which files stand at the paths of a database now, where there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    /// The database.
    pub database: Option<Identity>,
    /// Its write-ahead log.
    pub log: Option<Identity>,
    /// What the processes that share the log know of it.
    pub index: Option<Identity>,
}

/// Looks at the files of the database at `path`.
///
/// # Errors
/// When the system cannot tell.
pub fn files(path: &Path) -> io::Result<Files> {
    Ok(Files {
        database: identity(path)?,
        log: identity(&beside(path, "-wal"))?,
        index: identity(&beside(path, "-shm"))?,
    })
}

/// The path of a file beside the database, whose name ends like this.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn identity(path: &Path) -> io::Result<Option<Identity>> {
    match std::fs::metadata(path) {
        Ok(meta) => Ok(Some(of(&meta))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn of(meta: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    Identity(meta.dev(), meta.ino())
}

#[cfg(not(unix))]
fn of(meta: &std::fs::Metadata) -> Identity {
    // A file that is open cannot be replaced on Windows; its birth is enough to see one that was.
    let born = meta
        .created()
        .ok()
        .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    Identity(0, born.map_or(0, |at| at.as_nanos() as u64))
}

/// Makes the folder (0700) and an empty file (0600) where they are missing; says whether the file was made.
///
/// # Errors
/// When the place cannot be written.
pub fn create(path: &Path) -> Result<bool, StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| refused(path, &error))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(refused(path, &error)),
    }
}

fn refused(path: &Path, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull { path: path.to_owned() },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly {
            path: path.to_owned(),
            what: "its folder does not let this user write".to_owned(),
        },
        _ => StoreError::Io {
            path: path.to_owned(),
            what: plain(error),
        },
    }
}

/// Waits until the disk has every name that leads to the file. SQLite waits for the file's own folder, and that one may be the
/// last of several that were made for it.
///
/// # Errors
/// When the disk fails.
pub fn settle(path: &Path) -> Result<(), StoreError> {
    folder::settle(path).map_err(|error| refused(path, &error))
}

/// Waits until the disk has the write-ahead log as it is now.
///
/// # Errors
/// When the disk fails.
pub fn settle_log(path: &Path) -> Result<(), StoreError> {
    let log = OpenOptions::new().write(true).open(beside(path, "-wal"));
    match log.and_then(|log| log.sync_all()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused(path, &error)),
        _ => Ok(()),
    }
}

/// What the system said, in its own words and without our source's.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Refuses a network file system, on which SQLite's shared memory does not work between machines.
///
/// # Errors
/// When the nearest folder that exists lies on one.
pub fn local(path: &Path) -> Result<(), StoreError> {
    match network_kind(path) {
        Some(kind) => Err(StoreError::NetworkFileSystem {
            path: path.to_owned(),
            kind: kind.to_owned(),
        }),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn network_kind(path: &Path) -> Option<&'static str> {
    let there = path.ancestors().find(|folder| folder.exists())?;
    // The magic numbers of statfs(2).
    match rustix::fs::statfs(there).ok()?.f_type as u64 & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b => Some("SMB"),
        0xff53_4d42 => Some("CIFS"),
        0xfe53_4d42 => Some("SMB2"),
        0x0102_1997 => Some("9p, as WSL and some containers mount folders of their host"),
        0x5346_414f => Some("AFS"),
        0x00c3_6400 => Some("Ceph"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn network_kind(_: &Path) -> Option<&'static str> {
    None
}

/// What the system tells of a database's files.
#[derive(Debug, Clone, Default)]
pub struct FileFacts {
    /// The database and the files beside it, each with the mode bits that say who may use it.
    pub modes: Vec<(PathBuf, u32)>,
    /// The folder's mode bits.
    pub folder_mode: Option<u32>,
    /// The network file system that it lies on, if it does.
    pub network: Option<String>,
    /// Whether this user cannot write there.
    pub read_only: bool,
    /// Whether there is next to no space left.
    pub full: bool,
}

/// Looks at the files of the database at `path`.
pub fn facts(path: &Path) -> FileFacts {
    let files = [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")];
    FileFacts {
        modes: files
            .into_iter()
            .filter_map(|file| mode(&file).map(|mode| (file, mode)))
            .collect(),
        folder_mode: path.parent().and_then(mode),
        network: network_kind(path).map(str::to_owned),
        read_only: is_read_only(path),
        full: is_full(path),
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(std::fs::metadata(path).ok()?.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}

/// Whether this user cannot write the file at `path`, or beside it.
#[cfg(unix)]
pub fn is_read_only(path: &Path) -> bool {
    let refused = |place: &Path| rustix::fs::access(place, rustix::fs::Access::WRITE_OK).is_err();
    (path.exists() && refused(path)) || path.parent().is_some_and(|folder| folder.exists() && refused(folder))
}

/// Whether this user cannot write the file at `path`.
#[cfg(not(unix))]
pub fn is_read_only(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().readonly())
}

/// Whether a write near `path` fails for want of space: the disk's, or that which this process may use of one file.
#[cfg(unix)]
pub fn is_full(path: &Path) -> bool {
    let Some(there) = path.ancestors().find(|folder| folder.exists()) else {
        return false;
    };
    let free = rustix::fs::statvfs(there).map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    free < 1024 * 1024
        || rustix::process::getrlimit(rustix::process::Resource::Fsize)
            .current
            .is_some()
}

/// Whether a write near `path` fails for want of space; there is no way to ask here.
#[cfg(not(unix))]
pub fn is_full(_: &Path) -> bool {
    false
}
