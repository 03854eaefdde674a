//! Words for people: stored text made visible, tables, colours.

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width};

pub use crate::domain::legible::{indented, is_hidden, value, visible};

/// Stored text over as many lines as it has, each behind a bar: no line of it can pass for one of ours.
pub fn quoted(text: &str, indent: &str) -> Vec<String> {
    let lines = text.split('\n').map(|line| visible(line.trim_end_matches('\r')));
    lines
        .map(|line| format!("{indent}| {line}").trim_end().to_owned())
        .collect()
}

/// A stored name: as it is where nothing in it could pass for something else, in quotes otherwise.
pub fn name(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-/@+#%=~".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        visible(&serde_json::to_string(text).unwrap_or_default())
    }
}

/// A record's address as `--refs` takes it.
pub fn address(scope: &str, key: &str) -> String {
    format!("{}:{}", name(scope), name(key))
}

/// A line over as many as a terminal of this width needs. What goes on stands behind the same bar as quoted text, or far in: no
/// part of it starts where a line of ours does.
pub fn folded(line: &str, width: u16) -> Vec<String> {
    let width = usize::from(width).max(24);
    let plain = uncoloured(line);
    // As a whole: characters that are joined take less room than each by itself.
    if console::measure_text_width(&plain) <= width {
        return vec![line.to_owned()];
    }
    let bar = plain
        .find("| ")
        .filter(|at| plain[..*at].chars().all(|c| c == ' ' || c.is_ascii_digit()));
    let next = match bar {
        Some(at) => format!("{}| ", " ".repeat(at)),
        None => " ".repeat(8),
    };
    let mut lines = vec![String::new()];
    let (mut used, mut in_code) = (0, false);
    for c in line.chars() {
        in_code |= c == '\u{1b}';
        let columns = if in_code {
            0
        } else {
            console::measure_text_width(c.encode_utf8(&mut [0; 4]))
        };
        if used + columns > width {
            lines.push(next.clone());
            used = next.len();
        }
        used += columns;
        if let Some(last) = lines.last_mut() {
            last.push(c);
        }
        in_code &= c != 'm';
    }
    lines
}

/// The text without our colour codes; stored text has none, as they are shown in it.
fn uncoloured(line: &str) -> String {
    let mut in_code = false;
    line.chars()
        .filter(|&c| {
            in_code |= c == '\u{1b}';
            let keep = !in_code;
            in_code &= c != 'm';
            keep
        })
        .collect()
}

/// The style of headings.
pub const HEADING: Style = Style::new().bold();
/// The style of what wants to be looked at.
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// The style of what has gone wrong.
pub const FAULT: Style = AnsiColor::Red.on_default();
/// The style of what is in order.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The style of what matters less.
pub const FAINT: Style = Style::new().dimmed();

/// `text` in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The style of a packet's state.
pub fn of_state(state: &str) -> Style {
    match state {
        "open" => GOOD,
        "accepted" | "accepted, lapsed" => WARNING,
        _ => FAINT,
    }
}

/// Aligned columns, each row one line; cut to `width` columns where there is one. Each row comes with its style. Columns whose
/// header starts with a dot keep their width: what one acts on, an id, is never cut. One whose header starts with a colon is cut
/// only after those that bear it better, as long as there is some room.
pub fn table(header: &[&str], rows: Vec<(Vec<String>, Style)>, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_truncation_indicator("…");
    match width {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    let line = |cells: Vec<String>| {
        let mut row = Row::from(cells);
        row.max_height(1);
        row
    };
    table.set_header(line(
        header
            .iter()
            .map(|name| name.trim_start_matches(['.', ':']).to_owned())
            .collect(),
    ));
    let mut styles = vec![HEADING];
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(column));
        cells.map(|cell| console::measure_text_width(&visible(cell))).max()
    };
    let widths: Vec<usize> = (0..header.len()).map(|column| widest(column).unwrap_or(0)).collect();
    for (cells, style) in rows {
        table.add_row(line(cells.iter().map(|cell| visible(cell)).collect()));
        styles.push(style);
    }
    for ((column, name), widest) in table.column_iter_mut().zip(header).zip(widths) {
        column.set_padding((0, 2));
        if name.starts_with('.') {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else if name.starts_with(':')
            && let Some(width) = width.filter(|width| *width >= ROOMY)
        {
            let least = u16::try_from(widest + 2).unwrap_or(u16::MAX).min(width / 3);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
    }
    let lines = table.lines().zip(styles);
    lines.map(|(line, style)| styled(style, line.trim_end())).collect()
}

/// From this width on there is room for more than what one acts on.
const ROOMY: u16 = 72;

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}

/// A count with its noun.
pub fn counted(count: u64, one: &str) -> String {
    match one.strip_suffix('y') {
        _ if count == 1 => format!("1 {one}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x03_what_is_hidden_is_shown() {
        assert_eq!(
            visible("a\u{1b}[31mb\u{202e}c\u{200b}"),
            "a\\u{1b}[31mb\\u{202e}c\\u{200b}"
        );
        assert_eq!(visible("Größe ✓ 👩‍💻"), "Größe ✓ 👩‍💻");
        assert_eq!(
            quoted("one\nLedger\r\n\u{7}", "  "),
            ["  | one", "  | Ledger", "  | \\u{7}"]
        );
    }

    #[test]
    fn x03_what_a_terminal_would_wrap_keeps_its_bar() {
        let text = quoted(&format!("{}Ledger", "x".repeat(38)), "  ");
        assert_eq!(
            folded(&text[0], 42),
            [format!("  | {}", "x".repeat(38)), "  | Ledger".to_owned()]
        );
        let heading = styled(HEADING, &format!("{}Ledger", "y".repeat(42)));
        assert_eq!(folded(&heading, 42)[1], format!("        Ledger{HEADING:#}"));
        assert_eq!(folded("short", 42), ["short"]);
        assert_eq!(folded("日本語日本語日本語日本語日", 24).len(), 2);
    }

    #[test]
    fn x03_names_that_could_mislead_are_quoted() {
        assert_eq!(name("app/größe-1"), "app/größe-1");
        assert_eq!(name("root at 12:00 [verified]"), "\"root at 12:00 [verified]\"");
        assert_eq!(address("a", "b/c"), "a:b/c");
        assert_ne!(address("a:b", "c"), address("a", "b:c"));
    }

    #[test]
    fn rows_are_one_line_each_and_cut_where_there_is_no_room() {
        let row = |title: &str| (vec!["h_1".to_owned(), title.to_owned()], Style::new());
        let long = "word ".repeat(40);
        let lines = table(&["ID", "TITLE"], vec![row("short"), row(&long)], Some(30));
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert!(
                console::measure_text_width(&console::strip_ansi_codes(line)) <= 30,
                "{line:?}"
            );
        }
        assert!(table(&["ID", "TITLE"], vec![row(&long)], None)[1].contains(long.trim_end()));
        let row = |route: &str| (vec!["h_1".to_owned(), route.to_owned(), long.clone()], Style::new());
        let lines = table(
            &[".ID", ":ROUTE", "TITLE"],
            vec![row("scout → executor"), row("a → b")],
            Some(80),
        );
        assert!(
            lines[1].contains("scout → executor") && lines[1].contains("word"),
            "{lines:?}"
        );
    }
}
