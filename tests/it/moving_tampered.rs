//! Exports that were changed, cut, mixed up or made by somebody else: what does not follow is refused by its place, and
//! what is written still verifies.

use serde_json::{Value, json};

use crate::everything::{checkpoints, everything, export, intact, plain, unpurged};
use crate::harness::{Place, Ran};
use crate::storage::text;

/// An export as its lines, without line ends.
struct Lines(Vec<String>);

impl Lines {
    fn of(place: &Place) -> Self {
        let file = export(place, "export.jsonl");
        let all = std::fs::read_to_string(file).expect("the export");
        Self(all.lines().map(str::to_owned).collect())
    }

    /// The line as JSON; keys keep their order, so that it is written again as it was.
    fn json(&self, n: usize) -> Value {
        let value: Value = serde_json::from_str(&self.0[n]).expect("a line of JSON");
        assert_eq!(value.to_string(), self.0[n], "the line is compact JSON");
        value
    }

    /// All lines, with another one in the place of line `n`.
    fn with(&self, n: usize, line: &Value) -> Vec<u8> {
        let mut lines = self.0.clone();
        lines[n] = line.to_string();
        joined(&lines)
    }

    /// Where the entries are, with their numbers.
    fn entries(&self) -> Vec<(usize, Value)> {
        let last = self.0.len() - 1;
        (1..last).map(|n| (n, self.json(n))).collect()
    }

    /// The first entry that this holds for.
    fn find(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        let found = self.entries().into_iter().find(|(_, line)| wanted(line));
        found.expect("an entry").0
    }
}

fn joined(lines: &[String]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|line| [line.as_bytes(), b"\n"].concat())
        .collect()
}

/// A new place into which these bytes were imported, and what was said.
fn take(bytes: &[u8]) -> (Place, Ran) {
    let place = Place::new();
    let ran = take_into(&place, bytes);
    (place, ran)
}

fn take_into(place: &Place, bytes: &[u8]) -> Ran {
    let file = place.path().join("given.jsonl");
    std::fs::write(&file, bytes).expect("a file");
    let ran = place.run(&["import", text(&file)]);
    plain(&ran);
    ran
}

/// Asserts that what was taken verifies, if anything was.
#[track_caller]
fn sound(place: &Place) {
    let rows = "SELECT (SELECT count(*) FROM ledger) + (SELECT count(*) FROM content) + (SELECT count(*) FROM project)";
    if place.db().exists() && place.count(rows) > 0 {
        place.verify_clean();
    }
}

/// Whether a place in the export is named: its line, or its entry.
fn named(ran: &Ran, line: usize, seq: &Value) -> bool {
    ran.stderr.contains(&format!("line {}", line + 1)) || ran.stderr.contains(&format!("entry {seq} "))
}

/// The path to each field and element of a line.
fn fields(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut step = |name: String, inner: &Value| {
        let path = format!("{at}/{name}");
        found.push(path.clone());
        fields(inner, &path, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| {
            step(name.replace('~', "~0").replace('/', "~1"), inner);
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(n, inner)| step(n.to_string(), inner)),
        _ => {}
    }
}

/// Another value of the same kind, as near as can be.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => json!(0),
        Value::Bool(is) => json!(!is),
        Value::Number(number) if number.is_f64() => json!(number.as_f64().expect("a double") * 0.5 + 0.01),
        Value::Number(number) => json!(number.as_u64().expect("a number") + 1),
        Value::String(text) => {
            let mut changed = text.clone();
            let last = changed.pop();
            changed.push(if last == Some('0') { '1' } else { '0' });
            json!(changed)
        }
        Value::Array(items) => json!(items.iter().skip(1).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let mut fields = fields.clone();
            fields.insert("more".to_owned(), json!(1));
            Value::Object(fields)
        }
    }
}

/// One line of each shape: the kind, and which fields there are.
fn shapes(lines: &Lines) -> Vec<(usize, Value)> {
    let mut seen = Vec::new();
    let mut kept = lines.entries();
    kept.retain(|(_, line)| {
        let mut shape = vec![line["entry"]["kind"].to_string()];
        fields(line, "", &mut shape);
        // Lists count as one, whatever their length.
        shape.retain(|path| !path.contains(|c: char| c.is_ascii_digit()));
        let new = !seen.contains(&shape);
        seen.push(shape);
        new
    });
    kept
}

#[test]
fn u06_every_changed_field_is_refused() {
    let lines = Lines::of(&everything());
    let mut changed = 0;
    for (n, line) in shapes(&lines) {
        let mut paths = Vec::new();
        fields(&line, "", &mut paths);
        for path in paths {
            let field = line.pointer(&path).expect("the field");
            let mut wrong = line.clone();
            *wrong.pointer_mut(&path).expect("the field") = other(field);
            // A note that an entry shares with the one before it has a test of its own; so has what git says more.
            let shared = line["entry"]["kind"] == "closed" && path.starts_with("/text");
            if wrong == line || shared || path == "/packet/git" {
                continue;
            }
            changed += 1;
            let (place, ran) = take(&lines.with(n, &wrong));
            let what = format!("{path} of line {}: {line}", n + 1);
            assert!(matches!(ran.code, Some(1 | 2)), "{what}: {ran:?}");
            assert!(
                named(&ran, n, &line["entry"]["seq"]) || path == "/entry/seq",
                "{what}: {ran:?}"
            );
            sound(&place);
            if place.db().exists() {
                let hash = line["entry"]["hash"].as_str().expect("a hash");
                let there = place.count(&format!("SELECT count(*) FROM ledger WHERE hash = '{hash}'"));
                assert_eq!(there, 0, "{what}: the entry is there");
            }
        }
    }
    assert!(changed > 200, "{changed} changes");
}

#[test]
fn u06_a_note_that_comes_again_is_looked_at_again() {
    let lines = Lines::of(&everything());
    let n = lines.find(|line| line["entry"]["kind"] == "closed" && line["text"].is_object());
    for field in ["nonce", "body"] {
        let mut wrong = lines.json(n);
        wrong["text"][field] = other(&wrong["text"][field]);
        let (_, ran) = take(&lines.with(n, &wrong));
        assert!(matches!(ran.code, Some(1 | 2)), "{field}: {ran:?}");
    }
}

#[test]
fn u06_a_field_that_nobody_knows_is_refused_in_git_too() {
    let lines = Lines::of(&everything());
    let n = lines.find(|line| line["packet"]["git"].is_object());
    let mut wrong = lines.json(n);
    wrong["packet"]["git"]["more"] = json!(1);
    let (_, ran) = take(&lines.with(n, &wrong));
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
}

#[test]
fn u06_a_missing_field_is_refused() {
    let lines = Lines::of(&everything());
    for (n, line) in shapes(&lines) {
        for part in ["entry", "version", "packet", "text"] {
            for name in line[part].as_object().into_iter().flatten().map(|(name, _)| name) {
                let mut wrong = line.clone();
                wrong[part].as_object_mut().expect("a part").shift_remove(name);
                let shared = line["entry"]["kind"] == "closed" && part == "text";
                let (place, ran) = take(&lines.with(n, &wrong));
                if !shared || ran.code != Some(0) {
                    assert!(matches!(ran.code, Some(1 | 2)), "{part}.{name}: {ran:?}");
                    assert!(named(&ran, n, &line["entry"]["seq"]), "{part}.{name}: {ran:?}");
                }
                sound(&place);
            }
        }
    }
}

/// Values that no field takes.
fn nonsense() -> [Value; 7] {
    [
        json!(""),
        json!("a\u{1b}[2J\u{202e}"),
        json!(-1),
        json!(1e300),
        json!(null),
        json!([]),
        json!({}),
    ]
}

#[test]
fn u06_nonsense_in_any_field_is_refused_and_not_obeyed() {
    let lines = Lines::of(&everything());
    // What is shown of a wrong text is the same for all parts: one entry, one version and one packet are enough.
    let fullest = |kind: &str| {
        let of_kind = lines
            .entries()
            .into_iter()
            .filter(|(_, line)| line["entry"]["kind"] == kind);
        of_kind.max_by_key(|(_, line)| {
            let mut all = Vec::new();
            fields(line, "", &mut all);
            all.len()
        })
    };
    for (n, line) in ["accepted", "remembered", "handed_off"].map(|kind| fullest(kind).expect("an entry")) {
        let mut paths = Vec::new();
        fields(&line, "", &mut paths);
        for path in paths {
            for value in nonsense() {
                let mut wrong = line.clone();
                *wrong.pointer_mut(&path).expect("the field") = value.clone();
                let optional = value.is_null() && wrong.pointer(&path) == Some(&Value::Null);
                if wrong == line || optional {
                    continue;
                }
                let ran = take(&lines.with(n, &wrong)).1;
                assert!(matches!(ran.code, Some(1 | 2)), "{path} {value}: {ran:?}");
                assert!(!ran.stderr.contains(['\u{1b}', '\u{202e}']), "{path} {value}: {ran:?}");
            }
        }
    }
}

#[test]
fn u06_every_refusal_names_its_place() {
    let lines = Lines::of(&everything());
    let tagged = lines.find(|line| line["version"]["tags"][0].is_string());
    let pinning = lines.find(|line| line["packet"]["refs"][0].is_array());
    for (n, path) in [
        (tagged, "/version/tags/0"),
        (tagged, "/version/confidence"),
        (pinning, "/packet/refs/0/0"),
        (pinning, "/packet/refs/0/1"),
    ] {
        for value in [json!(""), json!("x".repeat(600)), json!(-1.0)] {
            let mut wrong = lines.json(n);
            *wrong.pointer_mut(path).expect("the field") = value.clone();
            let ran = take(&lines.with(n, &wrong)).1;
            assert!(named(&ran, n, &wrong["entry"]["seq"]), "{path} {value}: {ran:?}");
        }
    }
}

#[test]
fn u06_a_line_is_never_echoed_whole() {
    let lines = Lines::of(&everything());
    for path in ["/entry/seq", "/packet", "/text", "/packet/refs"] {
        let n = lines.find(|line| line["packet"].is_object());
        let mut wrong = lines.json(n);
        *wrong.pointer_mut(path).expect("the field") = json!("x".repeat(100_000));
        let ran = take(&lines.with(n, &wrong)).1;
        assert_eq!(ran.code, Some(2), "{path}");
        assert!(ran.stderr.len() < 2_000, "{path}: {} bytes on stderr", ran.stderr.len());
    }
}

#[test]
fn u06_a_cut_export_keeps_what_came_before_and_says_that_it_is_cut() {
    let place = unpurged();
    let lines = Lines::of(&place);
    let all = lines.0.len();
    for cut in [1, 2, 3, 13, 26, 40, 55, all - 4, all - 2, all - 1] {
        let (there, ran) = take(&joined(&lines.0[..cut]));
        assert_eq!(ran.code, Some(1), "{cut} lines: {ran:?}");
        assert!(ran.stderr.contains("ends early"), "{cut} lines: {ran:?}");
        if cut > 1 {
            assert_eq!(
                there.count("SELECT count(*) FROM ledger"),
                cut as i64 - 1,
                "{cut} lines"
            );
            intact(&there);
        } else {
            assert!(!there.db().exists(), "{cut} lines");
        }
        // The whole one completes it.
        assert_eq!(take_into(&there, &joined(&lines.0)).code, Some(0));
        assert_eq!(checkpoints(&there), checkpoints(&place), "{cut} lines");
        intact(&there);
    }
}

#[test]
fn u06_a_cut_between_a_text_and_its_purge_is_mended_by_the_whole() {
    let place = everything();
    let lines = Lines::of(&place);
    let purge = lines.find(|line| line["entry"]["kind"] == "purged");
    for cut in [purge - 1, purge, purge + 1] {
        let (there, ran) = take(&joined(&lines.0[..cut]));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(take_into(&there, &joined(&lines.0)).code, Some(0));
        assert_eq!(checkpoints(&there), checkpoints(&place));
        intact(&there);
    }
}

/// An export that ends in the middle of line `cut`.
fn halved(lines: &Lines, cut: usize) -> Vec<u8> {
    let mut bytes = joined(&lines.0[..cut]);
    bytes.extend(&lines.0[cut].as_bytes()[..lines.0[cut].len() / 2]);
    bytes
}

#[test]
fn u06_a_cut_inside_a_line_is_named_and_mended_by_the_whole() {
    let place = unpurged();
    let lines = Lines::of(&place);
    for cut in [0, 1, 2, 30, lines.0.len() - 1] {
        let (there, ran) = take(&halved(&lines, cut));
        assert_eq!(ran.code, Some(2), "{cut}: {ran:?}");
        assert!(ran.stderr.contains(&format!("line {}", cut + 1)), "{cut}: {ran:?}");
        sound(&there);
        assert_eq!(take_into(&there, &joined(&lines.0)).code, Some(0));
        assert_eq!(checkpoints(&there), checkpoints(&place));
        intact(&there);
    }
}

#[test]
fn u06_what_came_before_a_line_cut_in_two_is_kept() {
    let lines = Lines::of(&unpurged());
    let (there, ran) = take(&halved(&lines, 30));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(there.count("SELECT count(*) FROM ledger"), 29);
    there.verify_clean();
}

#[test]
fn u06_what_is_no_whole_export_is_refused_by_its_place() {
    let lines = Lines::of(&unpurged()).0;
    let changed = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        joined(&lines)
    };
    let big = "x".repeat(9 << 20);
    let cases: Vec<(&str, Vec<u8>, i32, &str)> = vec![
        (
            "two lines swapped",
            changed(&|lines| lines.swap(10, 11)),
            2,
            "entry 11` is out of order",
        ),
        (
            "a line missing",
            changed(&|lines| drop(lines.remove(10))),
            2,
            "entry 11` is out of order",
        ),
        ("no header", changed(&|lines| drop(lines.remove(0))), 2, "line 1"),
        (
            "two headers",
            changed(&|lines| lines.insert(0, lines[0].clone())),
            2,
            "line 2",
        ),
        (
            "an entry after the end",
            changed(&|lines| lines.push(lines[9].clone())),
            2,
            "out of its place",
        ),
        (
            "two ends",
            changed(&|lines| lines.push(lines[lines.len() - 1].clone())),
            2,
            "out of its place",
        ),
        ("an end first", changed(&|lines| lines.rotate_right(1)), 2, "line 1"),
        (
            "another program's",
            b"{\"id\":1,\"text\":\"x\"}\n{\"id\":2}\n".to_vec(),
            2,
            "line 1",
        ),
        ("JSON of another kind", b"[1,2,3]\n".to_vec(), 2, "line 1"),
        ("a text", b"# Notes\n\nsome notes\n".to_vec(), 2, "line 1"),
        ("empty", Vec::new(), 2, "empty"),
        ("a line end", b"\n".to_vec(), 2, "empty"),
        ("bytes", (0..=255).collect::<Vec<u8>>().repeat(50), 2, "line 1"),
        ("zeros", vec![0; 10_000], 2, "line 1"),
        (
            "a line of 9 MiB",
            changed(&|lines| lines.insert(1, big.clone())),
            2,
            "line 2",
        ),
        ("only a line of 9 MiB", big.clone().into_bytes(), 2, "line 1"),
        ("deep", "[".repeat(100_000).into_bytes(), 2, "line 1"),
        (
            "deep in a detail",
            changed(&|lines| {
                let deep = format!("\"detail\":{}{}", "[".repeat(5_000), "]".repeat(5_000));
                lines[2] = lines[2].replace("\"detail\":{}", &deep);
            }),
            2,
            "line 3",
        ),
        (
            "a database",
            std::fs::read(everything().db()).expect("the file"),
            2,
            "line 1",
        ),
        (
            "a newer format",
            changed(&|lines| lines[0] = lines[0].replace("_export\":1", "_export\":2")),
            2,
            "upgrade",
        ),
        (
            "a project's first entry for another",
            changed(&|lines| lines[1] = lines[1].replace("\"project\":\"default\"", "\"project\":\"other\"")),
            2,
            "entry 1`",
        ),
    ];
    for (what, bytes, code, words) in cases {
        let (there, ran) = take(&bytes);
        assert_eq!(ran.code, Some(code), "{what}: {ran:?}");
        assert!(ran.stderr.contains(words), "{what}: {ran:?}");
        assert!(ran.stderr.len() < 2_000, "{what}: {ran:?}");
        sound(&there);
        // Whatever it was, the whole one can be taken in after it.
        assert_eq!(take_into(&there, &joined(&lines)).code, Some(0), "{what}");
        intact(&there);
    }
}

#[test]
fn u06_a_line_that_comes_twice_does_no_harm() {
    let place = unpurged();
    let lines = Lines::of(&place);
    for n in [1, 5, 30] {
        let mut twice = lines.0.clone();
        twice.insert(n + 1, lines.0[n].clone());
        let (there, ran) = take(&joined(&twice));
        // It is not what was exported, and that is said.
        assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
        sound(&there);
        assert_eq!(take_into(&there, &joined(&lines.0)).code, Some(0));
        assert_eq!(checkpoints(&there), checkpoints(&place));
        intact(&there);
    }
}

#[test]
fn u06_line_ends_of_windows_and_blank_lines_are_no_change() {
    let place = unpurged();
    let lines = Lines::of(&place).0;
    let blank = lines.join("\n\n \t\n") + "\n\n\n";
    for bytes in [lines.join("\r\n") + "\r\n", blank, lines.join("\n")] {
        let (there, ran) = take(bytes.as_bytes());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(checkpoints(&there), checkpoints(&place));
        intact(&there);
    }
}

#[test]
fn u06_blank_lines_may_stand_anywhere() {
    let lines = Lines::of(&unpurged()).0;
    let (_, ran) = take(format!("\n\n{}\n", lines.join("\n")).as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// The end line with its checkpoints changed.
fn ended(lines: &Lines, change: impl Fn(&mut Vec<String>)) -> Vec<u8> {
    let n = lines.0.len() - 1;
    let mut end: Vec<String> = serde_json::from_value(lines.json(n)["end"].clone()).expect("checkpoints");
    change(&mut end);
    lines.with(n, &json!({ "end": end }))
}

#[test]
fn u06_an_end_that_goes_further_than_the_lines_is_told() {
    let lines = Lines::of(&everything());
    let seq = |by: i64| {
        move |end: &mut Vec<String>| {
            let mut parts: Vec<String> = end[0].split(':').map(str::to_owned).collect();
            parts[4] = (parts[4].parse::<i64>().expect("a number") + by).to_string();
            end[0] = parts.join(":");
        }
    };
    for (bytes, code) in [
        (ended(&lines, seq(1)), 1),
        (ended(&lines, seq(-1)), 1),
        (ended(&lines, |end| drop(end.remove(0))), 1),
        (ended(&lines, Vec::clear), 1),
        (ended(&lines, |end| end[0] = "hm1:x".to_owned()), 2),
    ] {
        let (there, ran) = take(&bytes);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        intact(&there);
    }
}

#[test]
fn u06_an_end_line_that_does_not_fit_is_told() {
    let lines = Lines::of(&everything());
    let flipped = |end: &mut Vec<String>| {
        let last = end[0].pop();
        end[0].push(if last == Some('0') { '1' } else { '0' });
    };
    for bytes in [
        ended(&lines, flipped),
        ended(&lines, |end| end[0] = end[0].replace("hm1:", "hm1:00")),
        ended(&lines, |end| end[1] = end[0].clone()),
        {
            // One entry twice, and the last one of its project missing: as many as there should be.
            let mut lines = lines.0.clone();
            let last = lines.len() - 2;
            lines.remove(last);
            lines.insert(last, lines[last - 1].clone());
            joined(&lines)
        },
    ] {
        let ran = take(&bytes).1;
        assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    }
}

#[test]
fn u06_a_text_that_no_entry_purged_is_missed() {
    let lines = Lines::of(&unpurged());
    let n = lines.find(|line| line["version"].is_object());
    let mut line = lines.json(n);
    line.as_object_mut().expect("a line").shift_remove("text");
    line["purged"] = json!(true);
    let (_, ran) = take(&lines.with(n, &line));
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert!(named(&ran, n, &line["entry"]["seq"]), "{ran:?}");
}
