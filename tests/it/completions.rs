//! Completions and the manual: what a shell makes of them.

use std::process::Command;

use crate::harness::Place;

/// What bash offers for the last word of a line.
fn offered(script: &std::path::Path, line: &[&str]) -> Vec<String> {
    let words = line.join(" ");
    let program = format!(
        "source {script}\nCOMP_WORDS=({words}{empty})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n\
         $(complete -p handoff-memory | sed 's/.*-F \\([^ ]*\\).*/\\1/') handoff-memory \
         \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        script = script.display(),
        empty = if line.last() == Some(&"") { " ''" } else { "" },
    );
    let output = Command::new("bash")
        .arg("-c")
        .arg(program)
        .output()
        .expect("bash starts");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_subcommands_and_their_flags() {
    let place = Place::new();
    let ran = place.run(&["completions", "bash"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let script = place.path().join("completions.bash");
    std::fs::write(&script, ran.stdout).expect("a file");
    assert_eq!(offered(&script, &["handoff-memory", "handoffs"]), ["handoffs"]);
    let verbs = offered(&script, &["handoff-memory", "handoffs", ""]);
    for verb in [
        "create", "list", "show", "accept", "release", "cancel", "expire", "reopen",
    ] {
        assert!(verbs.iter().any(|offer| offer == verb), "{verb}: {verbs:?}");
    }
    assert_eq!(
        offered(&script, &["handoff-memory", "handoffs", "list", "--st"]),
        ["--state"]
    );
    assert_eq!(
        offered(&script, &["handoff-memory", "recall", "--min"]),
        ["--min-confidence"]
    );
}

#[test]
fn each_subcommand_has_its_page_of_the_manual() {
    let place = Place::new();
    let folder = place.path().join("man");
    let ran = place.run(&["man", "--dir", folder.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for page in [
        "handoff-memory.1",
        "handoff-memory-recall.1",
        "handoff-memory-handoffs-create.1",
    ] {
        let text = std::fs::read_to_string(folder.join(page)).expect(page);
        assert!(text.contains(".SH"), "{page}");
    }
    let main = std::fs::read_to_string(folder.join("handoff-memory.1")).expect("the main page");
    // Each page that the main one names is there.
    for word in main
        .split_whitespace()
        .filter(|word| word.starts_with("handoff\\-memory\\-"))
    {
        let name = word.replace('\\', "").replace("(1)", ".1");
        assert!(folder.join(&name).exists(), "{name}");
    }
}
