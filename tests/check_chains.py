#!/usr/bin/env python3
"""Checks a handoff-memory file by docs/format.md alone, with nothing but the Python standard library.

    check_chains.py FILE              recompute what the page tells of every row of a store
    check_chains.py --vectors PAGE    recompute the test vectors that the page prints

Exit codes: 0 everything fits, 1 something does not (the first mismatch is named), 2 could not run.
"""

import hashlib
import json
import math
import re
import sqlite3
import sys
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

APPLICATION_ID = 0x686D656D
SCHEMA = 2
ZERO = "0" * 64


class Mismatch(Exception):
    """The file does not say what its own history says."""


class CannotRun(Exception):
    """There is nothing to check, or not with this program."""


# --- Canonical JSON (RFC 8785) and hashes ---------------------------------------------------------------------------


def number(value):
    """A number as ECMAScript writes it. Every number is a double, as in ECMAScript."""
    value = float(value)
    if not math.isfinite(value):
        raise Mismatch(f"the number {value} has no JSON form")
    if value == 0:
        return "0"
    sign, value = ("-", -value) if value < 0 else ("", value)
    # repr() gives the shortest digits that read back as the same double; only their layout differs.
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the power of `point`.
    point = len(whole) + int(exponent or 0)
    if whole.strip("0") == "":
        point -= len(whole) + len(fraction) - len(fraction.lstrip("0"))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        power = point - 1
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + "e" + ("+" if power > 0 else "-") + str(abs(power))
    return sign + text


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string(text):
    return '"' + "".join(SHORT.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'


def canonical(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(string(name) + ":" + canonical(value[name]) for name in names) + "}"


def digest(*parts):
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part.encode(errors="surrogateescape") if isinstance(part, str) else part)
    return hasher.hexdigest()


def text_hash(nonce, body):
    return digest(nonce, body)


def body_hash(body):
    """The hash of a body; fields that are absent are left out of it."""
    return digest(canonical({name: value for name, value in body.items() if value is not None}))


def entry_hash(previous, body):
    return digest(previous, canonical({name: value for name, value in body.items() if value is not None}))


def compact(value):
    """Compact JSON text, as the columns hold it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def percent(text):
    return quote(text, safe="-._~")


def checkpoint(store, workspace, project, seq, hash_):
    return ":".join(["hm1", percent(store), percent(workspace), percent(project), str(seq), hash_])


def version_subject(scope, key, version):
    return compact([scope, key, version])


def moved(confidence, outcome):
    """The confidence after an outcome, rounded to twelve places, halves away from zero."""
    after = confidence + 0.20 * (1.0 - confidence) if outcome == "success" else confidence * 0.65
    scaled = after * 1e12
    whole = math.floor(scaled)
    rounded = whole + 1 if scaled - whole >= 0.5 else whole
    return min(max(float(rounded) / 1e12, 0.0), 1.0)


# --- A store --------------------------------------------------------------------------------------------------------


def expect(holds, place, what):
    if not holds:
        raise Mismatch(f"{place}: {what}")


def parsed(text, place, what):
    try:
        return json.loads(text)
    except ValueError as error:
        raise Mismatch(f"{place}: {what} is not JSON") from error


class Store:
    """One file, read in one transaction."""

    def __init__(self, path):
        if not Path(path).is_file():
            raise CannotRun(f"{path} is not there")
        try:
            uri = f"file:{quote(str(Path(path).resolve()))}?mode=ro"
            self.sql = sqlite3.connect(uri, uri=True, isolation_level=None)
            self.sql.row_factory = sqlite3.Row
            # Bytes that are no UTF-8 are hashed as they are, so that their place is named.
            self.sql.text_factory = lambda text: text.decode(errors="surrogateescape")
            self.sql.execute("BEGIN")
            application = self.sql.execute("PRAGMA application_id").fetchone()[0]
            schema = self.sql.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            raise CannotRun(f"{path} cannot be read: {error}") from error
        if application != APPLICATION_ID or schema < 1:
            raise CannotRun(f"{path} is not a handoff-memory file")
        if schema > SCHEMA:
            raise CannotRun(f"{path} has schema {schema}; this program knows up to {SCHEMA}")
        self.texts = {row["id"]: (row["nonce"], row["body"]) for row in self.rows("SELECT * FROM content")}
        self.used = set()
        self.counts = {}

    def rows(self, sql, *parameters):
        return self.sql.execute(sql, parameters).fetchall()

    def check(self):
        stores = [row["store_id"] for row in self.rows("SELECT store_id FROM meta")]
        expect(len(stores) == 1, "meta", f"{len(stores)} rows where there must be one")
        projects = self.rows("SELECT * FROM project ORDER BY id")
        for index, row in enumerate(projects):
            project = Project(self, row)
            project.check()
            expect(index > 0 or project.store == stores[0], "meta", "the id is not that of the oldest project")
        self.leftovers()

    def text(self, place, content, hash_, purged):
        """A stored text fits its hash, or it is empty and an entry says why."""
        self.used.add(content)
        expect(content in self.texts, place, "its text is not there")
        nonce, body = self.texts[content]
        if (nonce, body) != (b"", ""):
            expect(isinstance(nonce, bytes) and isinstance(body, str), place, "its text is unreadable")
            expect(text_hash(nonce, body) == hash_, place, "its text does not fit its hash")
            self.count("texts")
        else:
            expect(hash_ in purged, place, "its text is empty and no entry says that it was purged")
            self.count("purged texts")

    def count(self, what, by=1):
        self.counts[what] = self.counts.get(what, 0) + by

    def leftovers(self):
        unused = sorted(set(self.texts) - self.used, key=str)
        expect(not unused, f"content {unused[:1]}", "nothing refers to it")
        for table, sql in {
            "ledger": "SELECT * FROM ledger WHERE project_id NOT IN (SELECT id FROM project) OR seq < 1",
            "version": "SELECT * FROM version WHERE project_id NOT IN (SELECT id FROM project)",
            "handoff": "SELECT * FROM handoff WHERE project_id NOT IN (SELECT id FROM project)",
            "outcome": "SELECT * FROM outcome WHERE project_id NOT IN (SELECT id FROM project)",
            "opinion": "SELECT * FROM opinion WHERE version_id NOT IN (SELECT id FROM version)",
            "handoff_ref": "SELECT * FROM handoff_ref WHERE handoff_id NOT IN (SELECT id FROM handoff)",
            "handoff_note": "SELECT * FROM handoff_note WHERE handoff_id NOT IN (SELECT id FROM handoff)",
            "head": "SELECT h.* FROM head h LEFT JOIN version v ON v.id = h.version_id AND v.scope = h.scope "
            "AND v.key = h.key AND v.project_id = h.project_id WHERE v.id IS NULL",
        }.items():
            for row in self.rows(sql + " LIMIT 1"):
                raise Mismatch(f"{table} {tuple(row)[:4]}: it belongs to nothing")


# What a packet's row holds besides what its hash covers, and what it starts with.
LIFE = (
    "last_seq expires_at state ended_as superseded_by accepted_by accepted_session accepted_owner accepted_at "
    "receiving_cwd closed_at outcome_ref"
).split()


class Project:
    """One project: its ledger first, then everything that the ledger vouches for."""

    def __init__(self, store, row):
        self.file = store
        self.row = row
        self.id, self.workspace, self.name = row["id"], row["workspace"], row["name"]
        self.place = f"project {self.workspace}/{self.name}"
        self.entries = {}  # by seq
        self.subjects = {}  # the entries of each subject, in order
        self.purges = {}  # the hashes of the texts that were purged, by subject
        self.store = None

    def check(self):
        self.ledger()
        seen = self.versions() | self.outcomes() | self.packets()
        for seq, entry in self.entries.items():
            if entry["kind"] != "created":
                expect(entry["subject"] in seen, f"{self.place} entry {seq}", "what it speaks of is not there")
        for kind, table in {"remembered": "version", "outcome": "outcome", "handed_off": "handoff"}.items():
            entries = sorted(seq for seq, entry in self.entries.items() if entry["kind"] == kind)
            rows = sorted(row["seq"] for row in self.mine(table))
            expect(entries == rows, f"{self.place} {table}", "entries and rows are not one to one")
        self.file.count("projects")

    def ledger(self):
        previous, at = ZERO, ""
        rows = self.file.rows("SELECT * FROM ledger WHERE project_id = ? ORDER BY seq", self.id)
        expect(rows, self.place, "it has no ledger")
        for seq, row in enumerate(rows, 1):
            place = f"{self.place} entry {row['seq']}"
            expect(row["seq"] == seq, place, f"entry {seq} is not there")
            detail = parsed(row["detail"], place, "its detail")
            entry = dict(row) | {"detail": detail}
            body = {name: entry[name] for name in "seq at agent session kind subject detail digest".split()}
            expect(entry_hash(previous, body) == row["hash"], place, "its hash does not fit")
            expect(canonical(detail) == row["detail"], place, "its detail is not canonical")
            expect(row["at"] >= at, place, "its time is before that of the entry above it")
            instant(row["at"], place)
            if row["kind"] not in ("remembered", "handed_off"):
                expect(digest(row["detail"]) == row["digest"], place, "its digest is not the hash of its detail")
            expect((row["kind"] == "created") == (seq == 1), place, "the first entry, and no other, is `created`")
            previous, at = row["hash"], row["at"]
            self.entries[seq] = entry
            self.subjects.setdefault(row["subject"], []).append(entry)
            if row["kind"] == "purged":
                self.purges.setdefault(row["subject"], set()).add(detail["hash"])
        first = self.entries[1]
        self.store = first["detail"].get("store")
        names = {"store": self.store, "workspace": self.workspace, "project": self.name}
        expect(first["detail"] == names, self.place, "its names are not those of its first entry")
        expect(first["subject"] == f"{percent(self.workspace)}/{percent(self.name)}", self.place, "first subject")
        expect(first["at"] == self.row["created_at"], self.place, "its time is not that of its first entry")
        self.file.count("entries", len(rows))

    def vouching(self, row, kind, place):
        """The entry of a row, which must be of this kind."""
        entry = self.entries.get(row["seq"])
        expect(entry and entry["kind"] == kind, place, "no entry vouches for it")
        return entry

    def stamped(self, entry, row, agent, session, place):
        same = (entry["at"], entry["agent"], entry["session"]) == (row["created_at"], row[agent], row[session])
        expect(same, place, "time, agent or session are not those of its entry")

    def versions(self):
        seen = set()
        heads = {(h["scope"], h["key"]): h["version_id"] for h in self.mine("head")}
        newest = {}
        for row in self.mine("version", "scope, key, version"):
            record = (row["scope"], row["key"])
            place = f"{row['scope']}/{row['key']} version {row['version']}"
            before = newest.get(record)
            expect(row["version"] == (before["version"] + 1 if before else 1), place, "the one before is not there")
            expect(row["prev_hash"] == (before["hash"] if before else ZERO), place, "it does not follow the one before")
            subject = version_subject(*record, row["version"])
            self.file.text(place, row["content_id"], row["value_hash"], self.purges.get(subject, ()))
            tags = parsed(row["tags"], place, "tags")
            expect(compact(tags) == row["tags"], place, "its tags are not compact")
            body = {"v": 1, "workspace": self.workspace, "project": self.name, "tags": tags}
            for name in "scope key version value_hash author session private_to created_at prev_hash".split():
                body[name] = row[name]
            body["confidence"] = row["base_confidence"]
            body["meta"] = None if row["meta"] is None else parsed(row["meta"], place, "meta")
            expect(row["meta"] is None or canonical(body["meta"]) == row["meta"], place, "its meta is not canonical")
            expect(body_hash(body) == row["hash"], place, "its hash does not fit")
            entry = self.vouching(row, "remembered", place)
            fits = (entry["subject"], entry["digest"], entry["detail"]) == (subject, row["hash"], {})
            expect(fits, place, "its entry vouches for something else")
            self.stamped(entry, row, "author", "session", place)
            seen.add(subject)
            newest[record] = row
            self.opinion(row, place)
        expect(heads == {record: row["id"] for record, row in newest.items()}, self.place, "its current versions are not the highest ones")
        self.file.count("versions", len(seen))
        return seen

    def opinion(self, version, place):
        confidence, counts = version["base_confidence"], {"success": 0, "failure": 0}
        outcomes = self.file.rows("SELECT * FROM outcome WHERE version_id = ? ORDER BY seq", version["id"])
        for row in outcomes:
            expect(row["confidence_before"] == confidence, place, f"outcome {row['id']} starts elsewhere")
            expect(row["outcome"] in counts, place, f"outcome {row['id']} is neither success nor failure")
            confidence = moved(confidence, row["outcome"])
            counts[row["outcome"]] += 1
            expect(row["confidence_after"] == confidence, place, f"outcome {row['id']} ends elsewhere")
        stored = self.file.rows("SELECT * FROM opinion WHERE version_id = ?", version["id"])
        replayed = (version["id"], confidence, counts["success"], counts["failure"])
        expect([tuple(row) for row in stored] == [replayed], place, "its opinion is not what its outcomes make of it")

    def outcomes(self):
        seen = set()
        versions = {row["id"]: row for row in self.mine("version")}
        for row in self.mine("outcome"):
            place = f"outcome {row['id']}"
            version = versions.get(row["version_id"])
            expect(version is not None, place, "it names no version of its project")
            detail = {name: row[name] for name in "outcome_ref handoff_id outcome note_hash".split()}
            detail |= {name: version[name] for name in ("scope", "key", "version")}
            detail |= {"before": row["confidence_before"], "after": row["confidence_after"]}
            entry = self.vouching(row, "outcome", place)
            detail = {name: value for name, value in detail.items() if value is not None}
            expect((entry["subject"], entry["detail"]) == (row["id"], detail), place, "its entry says something else")
            self.stamped(entry, row, "author", "session", place)
            expect((row["content_id"] is None) == (row["note_hash"] is None), place, "half a note")
            if row["note_hash"] is not None:
                self.file.text(place, row["content_id"], row["note_hash"], self.purges.get(row["id"], ()))
            seen.add(row["id"])
        self.file.count("outcomes", len(seen))
        return seen

    def packets(self):
        seen = set()
        for row in self.mine("handoff"):
            place = f"handoff {row['id']}"
            purged = self.purges.get(row["id"], ())
            self.file.text(place, row["content_id"], row["texts_hash"], purged)
            entries = self.subjects.get(row["id"], [])
            first = self.vouching(row, "handed_off", place)
            expect(entries and entries[0] is first, place, "its first entry is not that of its writing")
            self.stamped(first, row, "from_agent", "from_session", place)
            body = {"v": 1, "workspace": self.workspace, "project": self.name, "refs": self.pins(row, place)}
            names = "id from_agent from_session to_agent owner cwd origin texts_hash checkpoint created_at"
            for name in (names + " supersedes continues").split():
                body[name] = row[name]
            if row["git"] is not None:
                body["git"] = parsed(row["git"], place, "git")
                expect(compact(body["git"]) == row["git"], place, "its git state is not compact")
            body["expires_at"] = first["detail"].get("expires_at")
            expect(body_hash(body) == first["digest"], place, "its hash does not fit")
            before = self.entries[row["seq"] - 1]
            pinned = checkpoint(self.store, self.workspace, self.name, before["seq"], before["hash"])
            expect(row["checkpoint"] == pinned, place, "its checkpoint is not that of the entry before it")
            life = replay(first, entries[1:], place)
            wrong = [name for name in LIFE if row[name] != life[name]]
            expect(not wrong, place, f"{wrong[:1]} is not what its entries make of it")
            self.notes(row, entries, purged, place)
            seen.add(row["id"])
        self.file.count("packets", len(seen))
        return seen

    def pins(self, packet, place):
        rows = self.file.rows(
            "SELECT r.position, v.hash, v.project_id FROM handoff_ref r LEFT JOIN version v ON v.id = r.version_id "
            "WHERE r.handoff_id = ? ORDER BY r.position",
            packet["id"],
        )
        for position, row in enumerate(rows):
            expect((row["position"], row["project_id"]) == (position, self.id), place, f"its pin at {position} is not there")
        return [row["hash"] for row in rows]

    def notes(self, packet, entries, purged, place):
        rows = self.file.rows("SELECT * FROM handoff_note WHERE handoff_id = ? ORDER BY seq", packet["id"])
        told = [(entry["seq"], entry["detail"]["note_hash"]) for entry in entries if "note_hash" in entry["detail"]]
        expect([row["seq"] for row in rows] == [seq for seq, _ in told], place, "its notes are not those of its entries")
        for row, (_, hash_) in zip(rows, told):
            self.file.text(f"{place} note {row['seq']}", row["content_id"], hash_, purged)

    def mine(self, table, order="project_id"):
        return self.file.rows(f"SELECT * FROM {table} WHERE project_id = ? ORDER BY {order}", self.id)


def instant(text, place):
    expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text), place, "its time has another form")
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    except ValueError as error:
        raise Mismatch(f"{place}: its time is none") from error


def replay(first, later, place):
    """What a packet's entries make of its row."""
    life = dict.fromkeys(LIFE) | {"state": "open", "last_seq": first["seq"]}
    life["expires_at"] = first["detail"].get("expires_at")
    for entry in later:
        kind, detail = entry["kind"], entry["detail"]
        if kind == "purged":
            continue
        allowed = {"accepted": "open accepted", "expired": "open", "reopened": "expired"}.get(kind, "accepted").split()
        expect(life["state"] in allowed, place, f"entry {entry['seq']} ({kind}) cannot follow")
        life["last_seq"] = entry["seq"]
        if kind == "accepted":
            life |= {"state": "accepted", "accepted_by": entry["agent"], "accepted_at": entry["at"]}
            life |= {"accepted_session": entry["session"], "accepted_owner": detail.get("owner")}
            life["receiving_cwd"] = detail.get("cwd")
        elif kind == "resumed":
            life["accepted_session"] = entry["session"]
            life["receiving_cwd"] = detail.get("cwd", life["receiving_cwd"])
        elif kind == "released":
            life |= dict.fromkeys("accepted_by accepted_session accepted_owner accepted_at receiving_cwd".split())
            life |= {"state": "open", "expires_at": detail.get("expires_at", life["expires_at"])}
        elif kind == "closed":
            life |= {"state": "closed", "ended_as": detail["ended_as"], "closed_at": entry["at"]}
            life["outcome_ref"] = detail.get("outcome_ref")
        elif kind == "expired":
            life |= {"state": "expired", "ended_as": detail["ended_as"]}
            life |= {name: detail.get(name) for name in ("superseded_by", "outcome_ref")}
        elif kind == "reopened":
            life |= {"state": "open", "ended_as": None, "superseded_by": None, "outcome_ref": None}
            life["expires_at"] = detail.get("expires_at", life["expires_at"])
        else:
            raise Mismatch(f"{place}: entry {entry['seq']} ({kind}) does not belong to a packet")
    return life


# --- The page's vectors ---------------------------------------------------------------------------------------------


def vectors(page):
    """Recomputes each block of the page that is marked as a vector."""
    try:
        text = Path(page).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CannotRun(f"{page} cannot be read: {error}") from error
    counts = {}
    for kind, block in re.findall(r"^```json vector=(\w+)\n(.*?)^```$", text, re.M | re.S):
        vector = json.loads(block)
        for name, told, found in list(recomputed(kind, vector)):
            expect(told == found, f"vector {kind} {name}", f"the page has {told}, and it is {found}")
        counts[kind] = counts.get(kind, 0) + 1
    if not counts:
        raise CannotRun(f"{page} has no vectors")
    return counts


def recomputed(kind, vector):
    if kind == "numbers":
        for value, told in vector:
            yield told, told, number(value)
    elif kind == "text":
        yield "hash", vector["hash"], text_hash(bytes.fromhex(vector["nonce"]), vector["body"])
    elif kind == "confidence":
        for before, outcome, after in vector:
            yield f"{before} {outcome}", after, moved(before, outcome)
    elif kind == "checkpoint":
        fields = [vector[name] for name in "store workspace project seq hash".split()]
        yield "text", vector["text"], checkpoint(*fields)
    elif kind == "canonical":
        yield "canonical", vector["canonical"], canonical(vector["input"])
    elif kind in ("version", "entry", "packet"):
        yield "canonical", vector["canonical"], canonical(vector["body"])
        yield "hash", vector["hash"], digest(vector.get("previous", ""), canonical(vector["body"]))
        if kind == "entry" and vector["body"]["kind"] not in ("remembered", "handed_off"):
            yield "digest", vector["body"]["digest"], digest(canonical(vector["body"]["detail"]))
    else:
        raise Mismatch(f"vector {kind}: there is no such kind")


def main(arguments):
    try:
        if len(arguments) == 2 and arguments[0] == "--vectors":
            counts = vectors(arguments[1])
        elif len(arguments) == 1:
            store = Store(arguments[0])
            store.check()
            counts = store.counts
        else:
            raise CannotRun(__doc__.strip())
    except CannotRun as error:
        print(error, file=sys.stderr)
        return 2
    except Mismatch as error:
        print(f"mismatch: {error}")
        return 1
    except (sqlite3.Error, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        print(f"mismatch: a row cannot be read: {error!r}")
        return 1
    print("ok: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
