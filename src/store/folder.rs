//! Folders on the disk: a name in one survives a power cut only once the disk has been waited for.

use std::io;
use std::path::Path;

/// Waits until the disk has every name that leads to the file: its own, and those of the folders above it, as far up as its disk
/// goes. Where a folder may not be read, or its file system knows no such wait, there is nothing more to do.
///
/// # Errors
/// When the file is not there; when the disk fails or has no room.
#[cfg(unix)]
pub fn settle(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;

    let file = file.canonicalize()?;
    let disk = file.metadata()?.dev();
    for folder in file.ancestors().skip(1) {
        if folder.metadata().is_ok_and(|folder| folder.dev() != disk) {
            break;
        }
        wait(folder)?;
    }
    Ok(())
}

#[cfg(unix)]
fn wait(folder: &Path) -> io::Result<()> {
    use rustix::io::Errno;

    let waited = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    waited.or_else(|error| match Errno::from_io_error(&error) {
        Some(Errno::IO | Errno::NOSPC | Errno::DQUOT) => Err(error),
        _ => Ok(()),
    })
}

/// There is no way to wait for a folder here.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn settle(_: &Path) -> io::Result<()> {
    Ok(())
}
