#!/usr/bin/env python3
"""Recomputes the chains of a handoff-memory file, from docs/format.md and with Python's standard library alone.

usage: check_chains.py FILE

Exit codes: 0 everything follows, 1 a mismatch (the first one is named), 2 the file could not be read.
"""

import hashlib
import json
import math
import sqlite3
import sys

ZEROS = "0" * 64


def sha(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def number(value):
    """A double as ECMAScript writes it."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("not a JSON number")
    if value == 0:
        return "0"
    sign, value = ("-", -value) if value < 0 else ("", value)
    # repr gives the shortest digits that read back as the same double; only their arrangement differs.
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        power = f"e{point - 1:+d}"
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + power
    return sign + text


def canonical(value):
    """RFC 8785."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value) if abs(value) < 2**53 else number(float(value))
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(entry) for entry in value) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"


def body(**fields):
    """A hashed body: absent fields are left out."""
    return canonical({name: field for name, field in fields.items() if field is not None}).encode()


class Mismatch(Exception):
    pass


def expect(place, got, wanted):
    if got != wanted:
        raise Mismatch(f"{place}: found {got!r}, and the rules give {wanted!r}")


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.db.row_factory = sqlite3.Row
        # Bytes that are no UTF-8 fail where they are hashed, and the place is named.
        self.db.text_factory = lambda text: text.decode(errors="surrogateescape")
        self.counted = {"entries": 0, "versions": 0, "packets": 0, "outcomes": 0, "texts": 0, "purged": 0}
        self.place = "the file"

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def one(self, sql, *values):
        rows = self.rows(sql, *values)
        return rows[0] if rows else None

    def check(self):
        (meta,) = self.rows("SELECT store_id FROM meta")
        for index, project in enumerate(self.rows("SELECT * FROM project ORDER BY id")):
            self.ledger(project, meta["store_id"] if index == 0 else None)
            self.versions(project)
            for packet in self.rows("SELECT * FROM handoff WHERE project_id = ? ORDER BY seq", project["id"]):
                self.packet(project, packet)
            for outcome in self.rows("SELECT * FROM outcome WHERE project_id = ? ORDER BY seq", project["id"]):
                self.outcome(project, outcome)

    def entry(self, project, seq):
        return self.one("SELECT * FROM ledger WHERE project_id = ? AND seq = ?", project["id"], seq)

    def text(self, place, project, subject, content, wanted):
        row = self.one("SELECT nonce, CAST(body AS BLOB) AS body FROM content WHERE id = ?", content)
        self.counted["texts"] += 1
        if row is not None:
            return expect(f"{place} text", sha(row["nonce"], row["body"]), wanted)
        for entry in self.rows(
            "SELECT detail FROM ledger WHERE project_id = ? AND subject = ? AND kind = 'purged'", project["id"], subject
        ):
            if json.loads(entry["detail"]).get("hash") == wanted:
                self.counted["purged"] += 1
                return None
        raise Mismatch(f"{place}: its text is gone, and no entry says that it was purged")

    def ledger(self, project, store):
        previous, time = ZEROS, ""
        entries = self.rows("SELECT * FROM ledger WHERE project_id = ? ORDER BY seq", project["id"])
        for seq, entry in enumerate(entries, start=1):
            place = self.place = f"{project['workspace']}/{project['name']} entry {entry['seq']}"
            expect(f"{place} position", entry["seq"], seq)
            detail = json.loads(entry["detail"])
            expect(f"{place} detail", entry["detail"], canonical(detail))
            if entry["at"] < time:
                raise Mismatch(f"{place}: its time is before that of the entry above")
            hashed = body(
                seq=seq,
                at=entry["at"],
                agent=entry["agent"],
                session=entry["session"],
                kind=entry["kind"],
                subject=entry["subject"],
                detail=detail,
                digest=entry["digest"],
            )
            expect(f"{place} hash", entry["hash"], sha(previous.encode(), hashed))
            if entry["kind"] not in ("remembered", "handed_off"):
                expect(f"{place} digest", entry["digest"], sha(entry["detail"].encode()))
            if seq == 1:
                expect(f"{place} kind", entry["kind"], "created")
                expect(f"{place} project", detail["project"], project["name"])
                expect(f"{place} workspace", detail["workspace"], project["workspace"])
                if store is not None:
                    expect(f"{place} store", detail["store"], store)
            previous, time = entry["hash"], entry["at"]
            self.counted["entries"] += 1

    def versions(self, project):
        record, previous = None, None
        for row in self.rows("SELECT * FROM version WHERE project_id = ? ORDER BY scope, key, version", project["id"]):
            place = self.place = f"{row['scope']}/{row['key']} version {row['version']}"
            if record != (row["scope"], row["key"]):
                record, previous, number_before = (row["scope"], row["key"]), ZEROS, 0
            expect(f"{place} number", row["version"], number_before + 1)
            expect(f"{place} chain", row["prev_hash"], previous)
            subject = json.dumps([row["scope"], row["key"], row["version"]], ensure_ascii=False, separators=(",", ":"))
            self.text(place, project, subject, row["content_id"], row["value_hash"])
            hashed = body(
                v=1,
                workspace=project["workspace"],
                project=project["name"],
                scope=row["scope"],
                key=row["key"],
                version=row["version"],
                value_hash=row["value_hash"],
                tags=json.loads(row["tags"]),
                meta=json.loads(row["meta"]) if row["meta"] is not None else None,
                author=row["author"],
                session=row["session"],
                private_to=row["private_to"],
                confidence=row["base_confidence"],
                created_at=row["created_at"],
                prev_hash=row["prev_hash"],
            )
            expect(f"{place} hash", row["hash"], sha(hashed))
            entry = self.entry(project, row["seq"])
            expect(f"{place} entry", (entry["kind"], entry["subject"], entry["digest"]), ("remembered", subject, row["hash"]))
            self.opinion(place, row)
            previous, number_before = row["hash"], row["version"]
            self.counted["versions"] += 1

    def opinion(self, place, version):
        confidence, successes, failures = version["base_confidence"], 0, 0
        for outcome in self.rows("SELECT outcome FROM outcome WHERE version_id = ? ORDER BY seq", version["id"]):
            if outcome["outcome"] == "success":
                confidence, successes = confidence + 0.20 * (1.0 - confidence), successes + 1
            else:
                confidence, failures = confidence * 0.65, failures + 1
            # Twelve decimal places, halves away from zero.
            scaled = confidence * 1e12
            whole = math.floor(scaled)
            confidence = (whole + 1.0 if scaled - whole >= 0.5 else float(whole)) / 1e12
        row = self.one("SELECT * FROM opinion WHERE version_id = ?", version["id"])
        expect(
            f"{place} opinion", (row["confidence"], row["successes"], row["failures"]), (confidence, successes, failures)
        )

    def packet(self, project, row):
        place = self.place = f"handoff {row['id']}"
        self.text(place, project, row["id"], row["content_id"], row["texts_hash"])
        entries = self.rows(
            "SELECT * FROM ledger WHERE project_id = ? AND subject = ? ORDER BY seq", project["id"], row["id"]
        )
        first = entries[0]
        expect(f"{place} entry", (first["kind"], first["seq"]), ("handed_off", row["seq"]))
        pins = self.rows(
            "SELECT r.position, v.hash FROM handoff_ref r JOIN version v ON v.id = r.version_id"
            " WHERE r.handoff_id = ? ORDER BY r.position",
            row["id"],
        )
        expect(f"{place} positions", [pin["position"] for pin in pins], list(range(len(pins))))
        hashed = body(
            v=1,
            id=row["id"],
            workspace=project["workspace"],
            project=project["name"],
            from_agent=row["from_agent"],
            from_session=row["from_session"],
            to_agent=row["to_agent"],
            owner=row["owner"],
            cwd=row["cwd"],
            origin=row["origin"],
            texts_hash=row["texts_hash"],
            refs=[pin["hash"] for pin in pins],
            git=json.loads(row["git"]) if row["git"] is not None else None,
            checkpoint=row["checkpoint"],
            created_at=row["created_at"],
            expires_at=json.loads(first["detail"]).get("expires_at"),
            supersedes=row["supersedes"],
            continues=row["continues"],
        )
        expect(f"{place} hash", first["digest"], sha(hashed))
        state, last = "open", first["seq"]
        after = {
            "accepted": "accepted",
            "resumed": "accepted",
            "released": "open",
            "closed": "closed",
            "expired": "expired",
            "reopened": "open",
        }
        for entry in entries[1:]:
            if entry["kind"] != "purged":
                state, last = after[entry["kind"]], entry["seq"]
        expect(f"{place} state", (row["state"], row["last_seq"]), (state, last))
        named = {entry["seq"]: json.loads(entry["detail"]).get("note_hash") for entry in entries}
        named = {seq: note for seq, note in named.items() if note is not None}
        notes = self.rows("SELECT seq, content_id FROM handoff_note WHERE handoff_id = ? ORDER BY seq", row["id"])
        expect(f"{place} notes", [note["seq"] for note in notes], list(named))
        for note in notes:
            self.text(f"{place} note {note['seq']}", project, row["id"], note["content_id"], named[note["seq"]])
        self.counted["packets"] += 1

    def outcome(self, project, row):
        place = self.place = f"outcome {row['id']}"
        version = self.one("SELECT scope, key, version FROM version WHERE id = ?", row["version_id"])
        detail = body(
            outcome_ref=row["outcome_ref"],
            scope=version["scope"],
            key=version["key"],
            version=version["version"],
            handoff_id=row["handoff_id"],
            outcome=row["outcome"],
            note_hash=row["note_hash"],
            before=row["confidence_before"],
            after=row["confidence_after"],
        ).decode()
        entry = self.entry(project, row["seq"])
        expect(f"{place} entry", (entry["kind"], entry["subject"], entry["detail"]), ("outcome", row["id"], detail))
        if row["note_hash"] is not None:
            self.text(place, project, row["id"], row["content_id"], row["note_hash"])
        self.counted["outcomes"] += 1


def main():
    sys.stdout.reconfigure(errors="backslashreplace")
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        store = Store(sys.argv[1])
    except sqlite3.Error as error:
        print(f"could not run: {error}", file=sys.stderr)
        return 2
    try:
        store.check()
    except Mismatch as mismatch:
        print(f"mismatch: {mismatch}")
        return 1
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # A row that is missing or holds something else than the format says.
        print(f"mismatch: {store.place}: {type(error).__name__}: {error}")
        return 1
    except (sqlite3.Error, OSError) as error:
        print(f"could not run: {error}", file=sys.stderr)
        return 2
    print("every chain follows: " + ", ".join(f"{count} {name}" for name, count in store.counted.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
