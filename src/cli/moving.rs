//! `backup`, `export` and `import`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::{CliError, Done, Ran, plain, say};
use super::print::{FAINT, GOOD, WARNING, bytes, counted, styled, visible};
use super::progress::Progress;
use super::{Face, markdown};
use crate::app::files::{Fresh, Scratch, unwritable};
use crate::domain::{Invalid, Project};
use crate::wire::make;

/// What `backup` takes.
#[derive(Debug, Args)]
pub struct Backup {
    /// The copy to make
    file: PathBuf,
    /// Take the place of a file that is there
    #[arg(long)]
    overwrite: bool,
}

/// What `export` takes.
#[derive(Debug, Args)]
pub struct Export {
    /// The file to write; `-`: standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Only the project of --workspace and --project
    #[arg(long)]
    this_project: bool,
    /// For reading instead: the current records and the packets as Markdown. It cannot be imported
    #[arg(long)]
    markdown: bool,
    /// Take the place of a file that is there
    #[arg(long)]
    overwrite: bool,
}

/// What `import` takes.
#[derive(Debug, Args)]
pub struct Import {
    /// The export to read; `-`: standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Write the current values of projects that have diverged into this project as new versions, each with
    /// meta.imported_from
    #[arg(long, value_name = "PROJECT")]
    replay_into: Option<String>,
}

/// Copies the store and proves the copy.
pub async fn backup(face: &mut Face, args: Backup) -> Ran {
    if args.file.as_os_str() == "-" {
        return Err(Invalid::new(
            "file",
            "\"-\"",
            "the path of a file: a database cannot be written to a pipe",
        )
        .into());
    }
    let progress = Progress::of("copying");
    let bar = progress.clone();
    let done = face
        .app
        .backup(&args.file, args.overwrite, move |what, done, all| {
            bar.name(what);
            bar.at(done, all);
        })
        .await?;
    progress.end();
    let answer = make::backed_up(&done);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    let line = format!(
        "{}: {}, {} checked and intact",
        answer.path,
        bytes(answer.bytes),
        counted(answer.checked, "row")
    );
    face.out.line(styled(GOOD, &visible(&line)))?;
    for checkpoint in &answer.checkpoints {
        face.out.line(styled(FAINT, checkpoint))?;
    }
    Ok(Done::Well)
}

/// Where an export goes.
enum Sink<'a> {
    File(BufWriter<File>, &'a Path),
    Output(BufWriter<io::Stdout>),
}

impl Sink<'_> {
    fn line(&mut self, text: &str) -> Result<(), CliError> {
        let write = |to: &mut dyn Write| to.write_all(text.as_bytes()).and_then(|()| to.write_all(b"\n"));
        match self {
            Self::File(file, path) => write(file).map_err(|error| unwritable(path, &error).into()),
            Self::Output(out) => write(out).map_err(CliError::Output),
        }
    }

    fn finish(&mut self) -> Result<(), CliError> {
        match self {
            Self::File(file, path) => file.flush().map_err(|error| unwritable(path, &error).into()),
            Self::Output(out) => out.flush().map_err(CliError::Output),
        }
    }
}

/// Writes everything down.
pub async fn export(face: &mut Face, args: Export) -> Ran {
    let to_output = args.file.as_os_str() == "-";
    let (fresh, mut sink) = if to_output {
        (None, Sink::Output(BufWriter::new(io::stdout())))
    } else {
        face.app.apart(&args.file)?;
        let (fresh, file) = Fresh::at(&args.file, args.overwrite)?;
        (Some(fresh), Sink::File(BufWriter::new(file), &args.file))
    };
    let only = args.this_project.then(|| face.caller.home.clone());
    if args.markdown {
        markdown::write(face, only.as_ref(), |text| sink.line(text)).await?;
        sink.finish()?;
        drop(sink);
        fresh.map_or(Ok(()), Fresh::publish)?;
        return Ok(Done::Well);
    }
    let progress = Progress::of("exporting");
    let bar = progress.clone();
    let done = face
        .app
        .export::<CliError>(
            only.as_ref(),
            |text| sink.line(text),
            move |done, all| bar.at(done, all),
        )
        .await?;
    sink.finish()?;
    drop(sink);
    progress.end();
    let Some(fresh) = fresh else {
        say(format!(
            "exported {} of {}",
            counted(done.entries, "entry"),
            projects(done.checkpoints.len())
        ));
        return Ok(Done::Well);
    };
    fresh.publish()?;
    let answer = make::exported(&args.file, &done);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    let entries = counted(answer.entries, "entry");
    let line = format!("{}: {entries} of {}", answer.path, projects(answer.checkpoints.len()));
    face.out.line(styled(GOOD, &visible(&line)))?;
    for checkpoint in &answer.checkpoints {
        face.out.line(styled(FAINT, checkpoint))?;
    }
    Ok(Done::Well)
}

fn projects(count: usize) -> String {
    counted(count as u64, "project")
}

/// Takes an export in.
pub async fn import(face: &mut Face, args: Import) -> Ran {
    let into = args
        .replay_into
        .map(|text| Project::named("replay_into", &text))
        .transpose()?;
    let replaying = into.is_some();
    let progress = Progress::of("importing");
    let bar = progress.clone();
    // Standard input can be read once: it is kept aside for as long as this takes.
    let unreadable =
        |error: io::Error| CliError::File(format!("{} could not be read: {}", args.file.display(), plain(&error)));
    let from_input = args.file.as_os_str() == "-";
    let once = match std::fs::metadata(&args.file) {
        _ if from_input => true,
        // A pipe by its name can be read once, too; a folder cannot be read at all.
        Ok(meta) => !meta.is_file() && !meta.is_dir(),
        Err(error) => return Err(unreadable(error)),
    };
    let scratch = once.then(Scratch::new).transpose()?;
    let path = if let Some(scratch) = &scratch {
        let path = scratch.file("export.jsonl");
        let mut input: Box<dyn io::Read> = if from_input {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(&args.file).map_err(unreadable)?)
        };
        let copied = File::create(&path).and_then(|mut file| io::copy(&mut input, &mut file));
        copied.map_err(|error| unwritable(&path, &error))?;
        path
    } else {
        args.file.clone()
    };
    let done = {
        let unreadable =
            |error: io::Error| CliError::File(format!("{} could not be read: {}", args.file.display(), plain(&error)));
        let file = File::open(&path).map_err(unreadable)?;
        let input = BufReader::with_capacity(1 << 16, file);
        face.app
            .import(&face.caller, input, into, move |done, all| bar.at(done, all))
            .await?
    };
    progress.end();
    let answer = make::imported(&done, replaying);
    let diverged = done.projects.iter().any(|project| project.diverged_at.is_some());
    let ended = if (diverged && !replaying) || !done.complete {
        Done::Refused
    } else {
        Done::Well
    };
    if face.out.is_json() {
        face.out.document(&answer)?;
    } else {
        for project in &answer.projects {
            let name = format!("{}/{}", project.workspace, project.project);
            let line = match project.diverged_at {
                Some(seq) => {
                    let so_far = match project.added {
                        0 => "left as it was".to_owned(),
                        added => format!("{added} were added before somebody wrote there"),
                    };
                    let line = format!("{name}: the ledgers part at entry {seq}; {so_far}");
                    styled(WARNING, &visible(&line))
                }
                None => visible(&format!(
                    "{name}: {}, {} known and {} added",
                    project.state, project.known, project.added
                )),
            };
            face.out.line(line)?;
            if let Some(checkpoint) = &project.checkpoint {
                face.out.line(styled(FAINT, checkpoint))?;
            }
        }
        if let Some(replayed) = answer.replayed {
            face.out
                .line(format!("{} written anew", counted(replayed, "current value")))?;
        }
    }
    if !done.ended {
        say("handoff-memory: the export ends early: what it holds was taken, and more is missing");
    } else if !done.complete {
        say("handoff-memory: the export is not whole: its end tells of other entries than came");
    }
    if diverged && !replaying {
        say(
            "handoff-memory: a project that went its own way here is not merged; --replay-into PROJECT writes its current values anew",
        );
    }
    Ok(ended)
}
