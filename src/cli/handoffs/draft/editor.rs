//! Letting a person write a packet in an editor.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Draft;
use crate::cli::interrupt::lending;
use crate::cli::output::{CliError, plain};
use crate::cli::words::given;

/// The draft that the editor gets.
pub fn template(args: &Draft) -> String {
    let list = |entries: &[String]| match entries {
        [] => "- \n".to_owned(),
        entries => entries
            .iter()
            .map(|entry| format!("- {}\n", entry.replace('\n', "\n  ")))
            .collect(),
    };
    format!(
        "# {title}\n<!-- One line that says what this is about. Save and close to write the packet; leave the draft as it is to \
         write nothing. -->\n\n## Summary\n<!-- What was done and where things stand. -->\n{summary}\n\n## Next steps\n{next}\n\
         ## Open questions\n{open}\n## Files touched\n{files}\n## Refs\n<!-- SCOPE:KEY or SCOPE:KEY@VERSION, one a line. \
         Nothing: what this agent wrote since its last packet. -->\n{refs}\n## For\n<!-- The agent it is for. Nothing: anyone. \
         -->\n{to}\n",
        title = args.title.as_deref().unwrap_or_default(),
        summary = args.summary.as_deref().unwrap_or_default(),
        next = list(&args.next_steps),
        open = list(&args.open_questions),
        files = list(&args.files_touched),
        refs = list(&args.refs),
        to = args.to_agent.as_deref().unwrap_or_default(),
    )
}

/// A draft that a person wrote, in a file that is kept until the packet is written.
pub struct Kept(PathBuf);

impl Kept {
    /// Where it is, in words.
    pub fn kept(&self) -> String {
        format!("your draft is kept in {}", self.0.display())
    }

    /// The packet is written: the file may go.
    pub fn written(self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Lets a person write the packet; none when the draft came back as it was.
pub fn edited(args: &Draft) -> Result<Option<(String, Kept)>, CliError> {
    let template = template(args);
    let draft = Kept(std::env::temp_dir().join(format!("handoff-{}-{}.md", std::process::id(), random())));
    let file = &draft.0;
    let failed = |what: &str, error: &std::io::Error| {
        let text = format!("the draft {} could not be {what}: {}", file.display(), plain(error));
        CliError::File(text)
    };
    private(file)
        .and_then(|mut made| made.write_all(template.as_bytes()))
        .map_err(|error| failed("written", &error))?;
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| given(std::env::var(name).ok()));
    let editor = editor.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.to_owned());
    let why = match lending(|| command(&editor, file).status()) {
        Ok(status) if status.success() => None,
        Ok(_) => Some(format!("the editor `{editor}` ended with an error")),
        Err(error) => Some(format!("the editor `{editor}` could not be started: {}", plain(&error))),
    };
    if let Some(why) = why {
        return Err(CliError::File(format!("{why}; {}", draft.kept())));
    }
    let text = std::fs::read_to_string(file).map_err(|error| failed("read", &error))?;
    if text == template || text.trim().is_empty() {
        draft.written();
        return Ok(None);
    }
    Ok(Some((text, draft)))
}

/// An editor may be a command with arguments: the shell takes it apart.
#[cfg(unix)]
fn command(editor: &str, file: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file);
    command
}

#[cfg(not(unix))]
fn command(editor: &str, file: &Path) -> std::process::Command {
    let mut words = editor.split_whitespace();
    let mut command = std::process::Command::new(words.next().unwrap_or("notepad"));
    command.args(words).arg(file);
    command
}

/// A new file that its user alone can read.
fn private(file: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

fn random() -> String {
    let mut bytes = [0; 8];
    let _ = getrandom::fill(&mut bytes);
    format!("{:016x}", u64::from_be_bytes(bytes))
}
