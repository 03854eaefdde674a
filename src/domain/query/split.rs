//! Splitting of any text into the terms that are indexed and asked for.
//!
//! One function serves both sides, so what a record is indexed under and what a query asks for cannot drift apart.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, decompose_compatible, is_combining_mark};

/// Longest term, in bytes of UTF-8: a longer word (a blob, a key without breaks) is found by its beginning.
pub const TERM_BYTES: usize = 64;

/// Most parts that a word of mixed case falls into; more is an encoded blob and no name that a person wrote.
const PARTS: usize = 8;

/// What `++` after a word becomes (`C++`): a symbol that is a term, while a plus sign alone is none.
const DOUBLE_PLUS: &str = "⧺";
/// What `#` after a word becomes (`C#`). It is the musical sharp, so that `C♯` is the same.
const SHARP: &str = "♯";

/// One piece of a text, in reading order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A folded word, or a symbol.
    Term(&'a str),
    /// The folded parts of the word of mixed case just emitted (`get`, `user` and `name` of `getUserName`).
    Parts(&'a [String]),
    /// Two neighbouring characters of a script without spaces, or the only one of a run.
    Pair(&'a str),
    /// A character of such a script that also stands in pairs, so that one alone can be asked for.
    Single(char),
    /// The end of a run of such a script.
    End,
}

/// Emits the pieces of `text`, which may hold anything.
///
/// - A word is a run of letters, digits and their marks; everything else parts words and is not indexed, except
///   symbols such as emoji, each of which is a term, and `++` or `#` at the end of a word.
/// - Case, the diacritics of Latin, Greek and Cyrillic, full-width forms and ligatures are folded.
/// - Scripts without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Myanmar) become overlapping pairs, so that any
///   stretch of two or more characters is a phrase of pairs, and single characters.
pub fn split(text: &str, emit: &mut impl FnMut(Piece<'_>)) {
    let mut folded = String::new();
    for chunk in text.split_whitespace() {
        // Folding chunk by chunk keeps one dash in a long English text from sending all of it the slow way.
        if chunk.is_ascii() {
            runs(chunk, emit);
        } else {
            fold(chunk, &mut folded);
            runs(&folded, emit);
        }
    }
}

/// Takes the diacritics off and brings the ways to write one character together; case stays, since it marks the
/// parts of a word.
fn fold(chunk: &str, out: &mut String) {
    out.clear();
    let mut keep = |c: char| match c {
        // The marks of Latin, Greek and Cyrillic go. Those of other scripts (a kana's voicing, a Thai vowel) make
        // another letter and stay.
        '\u{300}'..='\u{36f}' => {}
        'ß' | 'ẞ' => out.push_str("ss"),
        'æ' => out.push_str("ae"),
        'Æ' => out.push_str("AE"),
        'œ' => out.push_str("oe"),
        'Œ' => out.push_str("OE"),
        'ø' => out.push('o'),
        'Ø' => out.push('O'),
        'ł' => out.push('l'),
        'Ł' => out.push('L'),
        'đ' => out.push('d'),
        'Đ' => out.push('D'),
        'ı' => out.push('i'),
        'ς' => out.push('σ'),
        // Joiners and variation selectors only say how to draw.
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' | '\u{fe00}'..='\u{fe0f}' => {}
        c => out.push(c),
    };
    for c in chunk.chars() {
        match c {
            c if c.is_ascii() => keep(c),
            // Only here is the looser form the same to a reader; elsewhere it would glue (`™` would become `TM`).
            '\u{fb00}'..='\u{fb06}' | '\u{ff00}'..='\u{ffef}' => decompose_compatible(c, &mut keep),
            c => decompose_canonical(c, &mut keep),
        }
    }
    if !out.is_ascii() {
        *out = out.nfc().collect();
    }
}

/// What a character is to the splitting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Dense,
    Symbol,
    Gap,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() {
            Class::Word
        } else {
            Class::Gap
        };
    }
    if c.is_alphanumeric() || is_combining_mark(c) {
        return if is_dense(c) { Class::Dense } else { Class::Word };
    }
    match c {
        '\u{20a0}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => Class::Symbol,
        _ => Class::Gap,
    }
}

/// Whether the script of `c` is written without spaces, or, as Korean, is searched by stretches of its words.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' // Myanmar
        | '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' // Hangul
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{318f}' | '\u{31a0}'..='\u{31ff}' // kana, bopomofo, jamo
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{1aff0}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

/// Walks one chunk, run by run of one class.
fn runs(chunk: &str, emit: &mut impl FnMut(Piece<'_>)) {
    let mut rest = chunk;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let end = match kind {
            Class::Symbol => first.len_utf8(),
            _ => rest.find(|c| class(c) != kind).unwrap_or(rest.len()),
        };
        let (run, after) = rest.split_at(end);
        match kind {
            Class::Word => word(run, after, emit),
            Class::Dense => pairs(run, emit),
            Class::Symbol => emit(Piece::Term(run)),
            Class::Gap => {}
        }
        rest = after;
    }
}

/// Emits one word, its parts, and the sign that belongs to its name.
fn word(run: &str, after: &str, emit: &mut impl FnMut(Piece<'_>)) {
    let lowered = lower(run);
    emit(Piece::Term(cut(&lowered)));
    if run.len() <= TERM_BYTES {
        let parts = parts(run);
        if (2..=PARTS).contains(&parts.len()) {
            emit(Piece::Parts(&parts));
        }
    }
    if after.starts_with("++") {
        emit(Piece::Term(DOUBLE_PLUS));
    } else if let Some(next) = after.strip_prefix('#') {
        // `C#` and `F#` are names; in `issue#12` and in an address the sign only parts words.
        let letter = run.ends_with(|c: char| c.is_ascii_alphabetic());
        if letter && !next.starts_with(|c| class(c) != Class::Gap) {
            emit(Piece::Term(SHARP));
        }
    }
}

/// Emits a run of a dense script: overlapping pairs, and each character.
fn pairs(run: &str, emit: &mut impl FnMut(Piece<'_>)) {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let (mut a, mut b) = (starts.next().unwrap_or(0), starts.next().unwrap_or(0));
    let mut alone = true;
    for c in starts {
        emit(Piece::Pair(&run[a..c]));
        (a, b, alone) = (b, c, false);
    }
    if alone {
        emit(Piece::Pair(&run[a..b]));
    } else {
        run.chars().for_each(|c| emit(Piece::Single(c)));
    }
    emit(Piece::End);
}

fn lower(run: &str) -> String {
    if run.is_ascii() {
        run.to_ascii_lowercase()
    } else {
        // Lower-casing gives a final sigma at the end of a word; folded text has one sigma.
        run.to_lowercase().replace('ς', "σ")
    }
}

fn cut(term: &str) -> &str {
    &term[..term.floor_char_boundary(TERM_BYTES)]
}

/// The parts of a word of mixed case: `getUserName`, `HTTPServer` (`http`, `server`), `v2Beta`. Empty for others.
fn parts(run: &str) -> Vec<String> {
    if !run.contains(|c: char| c.is_uppercase()) || !run.contains(|c: char| c.is_lowercase()) {
        return Vec::new();
    }
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let mut found = Vec::new();
    let mut start = 0;
    for i in 1..chars.len() {
        let (before, (at, here)) = (chars[i - 1].1, chars[i]);
        let next_is_lower = chars.get(i + 1).is_some_and(|(_, c)| c.is_lowercase());
        if here.is_uppercase() && (before.is_lowercase() || next_is_lower) {
            found.push(lower(&run[start..at]));
            start = at;
        }
    }
    found.push(lower(&run[start..]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        split(text, &mut |piece| match piece {
            Piece::Term(term) | Piece::Pair(term) => out.push(term.to_owned()),
            Piece::Parts(parts) => out.push(format!("({})", parts.join(" "))),
            Piece::Single(_) => {}
            Piece::End => out.push("|".into()),
        });
        out
    }

    #[test]
    fn words_are_folded_and_parted_at_punctuation() {
        assert_eq!(terms("Café don't POL-358"), ["cafe", "don", "t", "pol", "358"]);
        assert_eq!(
            terms("user_name std::fs src/main.rs"),
            ["user", "name", "std", "fs", "src", "main", "rs"]
        );
        assert_eq!(
            terms("Straße Øre Łódź ΣΊΣΥΦΟΣ й"),
            ["strasse", "ore", "lodz", "σισυφοσ", "и"]
        );
        assert_eq!(terms("ＡＢＣ ﬁle Foo™"), ["abc", "file", "foo", "™"]);
        assert_eq!(terms("-- \"'() … —"), Vec::<String>::new());
    }

    #[test]
    fn a_sign_that_belongs_to_a_name_is_a_term() {
        assert_eq!(
            terms("C++ C# C++17 a+b i#1"),
            ["c", "⧺", "c", "♯", "c", "⧺", "17", "a", "b", "i", "1"]
        );
        assert_eq!(terms("C♯ ok✅"), ["c", "♯", "ok", "✅"]);
    }

    #[test]
    fn words_of_mixed_case_have_parts() {
        assert_eq!(terms("getUserName"), ["getusername", "(get user name)"]);
        assert_eq!(
            terms("HTTPServer GitHub"),
            ["httpserver", "(http server)", "github", "(git hub)"]
        );
        assert_eq!(terms("Title SHOUT lower sha256"), ["title", "shout", "lower", "sha256"]);
    }

    #[test]
    fn dense_scripts_become_pairs() {
        assert_eq!(terms("用户身份"), ["用户", "户身", "身份", "|"]);
        assert_eq!(terms("重跑gen-itgc后"), ["重跑", "|", "gen", "itgc", "后", "|"]);
        assert_eq!(terms("ﾃｽﾄ"), ["テス", "スト", "|"]);
    }

    #[test]
    fn an_endless_word_is_cut_at_a_character() {
        assert_eq!(terms(&"é".repeat(500))[0], "e".repeat(64));
        assert_eq!(terms(&"я".repeat(500))[0], "я".repeat(32));
    }
}
