# SPDX-License-Identifier: Apache-2.0
"""The rules of a Sluice client in Python: an implementation of its own, small enough to be read beside README.md.

`vectors.py` writes the vectors by it. It shares no code with any client library, and none may be generated from it.
"""

import email.utils
import hashlib
import json
import math
import re
import struct

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
LARGEST_WHOLE = 2**53 - 1
MAXIMUM_PROPERTIES = 64
MAXIMUM_EVENT_BYTES = 32 << 10
MAXIMUM_BATCH_EVENTS = 100
MAXIMUM_BATCH_BYTES = 256 << 10
BACKOFF_BASE = 5
SHORTEST_WAIT = 1
LONGEST_WAIT = 3600


# Values

def double_of(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def bits_of(value):
    return struct.pack(">d", value).hex()


def number_text(value):
    """The ECMAScript form of a finite double (RFC 8785): the shortest digits that give it back."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
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
        text = digits[0] + ("." + digits[1:] if count > 1 else "")
        text += "e" + ("+" if power >= 0 else "-") + str(abs(power))
    return sign + text


def is_whole_text(text):
    return re.fullmatch(r"-?[0-9]+", text) is not None


class Malformed(Exception):
    pass


def value_text(value):
    """The JSON text of a property's value as the vectors write it; raises `Malformed`."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        if "\0" in value or any(0xD800 <= ord(character) < 0xE000 for character in value):
            raise Malformed
        return string_text(value)
    kind, content = next(iter(value.items()))
    if kind == "repeat":
        return string_text(content * value["count"])
    if kind == "utf16":
        raise Malformed  # only unpaired surrogates are written so
    if kind == "integer":
        number = int(content)
        if abs(number) > LARGEST_WHOLE:
            raise Malformed
        return str(number)
    assert kind == "double", kind
    number = double_of(content)
    if not math.isfinite(number):
        raise Malformed
    text = number_text(number)
    if is_whole_text(text) and abs(int(text)) > LARGEST_WHOLE:
        raise Malformed
    return text


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string_text(text):
    parts = [SHORT.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 0x20 else c) for c in text]
    return '"' + "".join(parts) + '"'


def is_label(text, limit):
    """Whether the endpoint takes `text` as an identifier, version or variant: Unicode scalars are counted."""
    return 1 <= len(text) <= limit and all(ord(c) >= 0x20 and not 0xD800 <= ord(c) < 0xE000 for c in text)


def is_identifier(text):
    return is_label(text, 100) and "@" not in text


def uuid(random):
    """A version 4 UUID of 16 random bytes, in lower case."""
    octets = bytearray(random)
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    text = octets.hex()
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


# The envelope

def encode(input):
    """What is kept for an event: `{"envelope": bytes, "malformed": [names]}`, or `{"drop": reason}`."""
    if not NAME.match(input["event"]):
        return {"drop": "invalid"}
    members = {}
    for key in ("anonymous_id", "app_version", "build_number", "event", "event_id", "platform", "session_id", "user_id"):
        if input.get(key) is not None:
            members[key] = string_text(input[key])
    for key in ("occurred_at", "schema_version", "sequence"):
        if input.get(key) is not None:
            members[key] = str(input[key])
    if input.get("experiments"):
        members["experiments"] = object_text({k: string_text(v) for k, v in input["experiments"].items()})
    properties = {}
    malformed = []
    for name, value in input.get("properties", {}).items():
        try:
            if not NAME.match(name):
                raise Malformed
            properties[name] = value_text(value)
        except Malformed:
            malformed.append(name)
    if len(properties) > MAXIMUM_PROPERTIES:
        return {"drop": "invalid"}
    members["properties"] = object_text(properties)
    envelope = object_text(members).encode()
    if len(envelope) > MAXIMUM_EVENT_BYTES:
        return {"drop": "too_large"}
    return {"envelope": envelope, "malformed": sorted(malformed, key=lambda name: name.encode("utf-8", "surrogatepass"))}


def object_text(members):
    """An object without white space, its members by name; names are ASCII by then."""
    return "{" + ",".join(f'"{name}":{members[name]}' for name in sorted(members)) + "}"


# Delivery

def body(envelopes, drops, client_sent_at):
    """The bytes of a request."""
    members = {"client_sent_at": str(client_sent_at), "events": "[" + ",".join(envelopes) + "]"}
    if drops:
        members["drops"] = object_text({reason: str(count) for reason, count in drops.items()})
    return object_text(members).encode()


def cuts(rows, maximum_events=MAXIMUM_BATCH_EVENTS, maximum_bytes=MAXIMUM_BATCH_BYTES):
    """The requests that empty a queue of rows `(size, user)`, oldest first: of each its user and how many rows it takes.

    The oldest row says whose request it is; that user's rows follow in order as long as there is room. The bytes are those
    of the envelopes and of the commas between them.
    """
    rows = list(rows)
    batches = []
    while rows:
        user = rows[0][1]
        own = [number for number, row in enumerate(rows) if row[1] == user]
        taken = [own[0]]
        size = rows[own[0]][0]
        for number in own[1:]:
            size += 1 + rows[number][0]
            if len(taken) == maximum_events or size > maximum_bytes:
                break
            taken.append(number)
        rows = [row for number, row in enumerate(rows) if number not in taken]
        batches.append((user, len(taken)))
    return batches


def backoff(failures, random):
    """Milliseconds to wait after `failures` failures in a row and one more; `random` has 64 bits."""
    longest = min(LONGEST_WAIT, BACKOFF_BASE * 2 ** min(failures, 60)) * 1000
    return max(SHORTEST_WAIT * 1000, longest * (random >> 11) >> 53)


def retry_after(value, now):
    """Seconds to wait, from 1 to an hour, or None when the value says nothing."""
    if re.fullmatch(r"[0-9]+", value):
        return min(max(int(value), SHORTEST_WAIT), LONGEST_WAIT)
    if not value[:1].isalpha():
        return None
    parsed = email.utils.parsedate_tz(value)
    if parsed is None:
        return None
    return min(max(email.utils.mktime_tz(parsed[:9] + (0,)) - now, SHORTEST_WAIT), LONGEST_WAIT)


def answer_object(headers, body):
    """The endpoint's own answer, or None when somebody else answered."""
    kind = field(headers, "content-type") or ""
    if kind.split(";")[0].strip().lower() != "application/json":
        return None
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    if not isinstance(answer, dict) or not isinstance(answer.get("request_id"), str):
        return None
    return answer


def field(headers, name):
    return next((value for key, value in headers.items() if key.lower() == name), None)


def classify(status, headers, body, ids, now):
    """What a client makes of an answer to a batch of `ids`."""
    answer = answer_object(headers, body)
    is_refusal = answer is not None and isinstance(answer.get("code"), str)
    if status == 200:
        return processed(answer, ids) or {"verdict": "failed"}
    if status == 413:
        return {"verdict": "too_large", "final": is_refusal}
    if status in (408, 425, 429, 503):
        value = field(headers, "retry-after")
        date = email.utils.parsedate_tz(field(headers, "date") or "")
        if date is not None:
            now = email.utils.mktime_tz(date[:9] + (0,))
        return {"verdict": "later", "seconds": None if value is None else retry_after(value, now)}
    if status >= 500:
        return {"verdict": "server_failed"}
    if not is_refusal:
        return {"verdict": "failed"}
    if status in (400, 422):
        return {"verdict": "invalid", "code": answer["code"]}
    if status in (401, 403):
        return {"verdict": "unauthorized"}
    if status in (404, 405, 415):
        return {"verdict": "misdirected"}
    return {"verdict": "failed"}


def processed(answer, ids):
    if answer is None or not isinstance(answer.get("accepted"), list) or not isinstance(answer.get("rejected"), list):
        return None
    if not all(isinstance(id, str) for id in answer["accepted"]):
        return None
    accepted = [id for id in ids if id in answer["accepted"]]
    rejected = {}
    for entry in answer["rejected"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("code"), str) or not isinstance(entry.get("index"), int):
            return None
        if not 0 <= entry["index"] < len(ids):
            continue
        id = ids[entry["index"]]
        if entry.get("event_id") in (None, id) and id not in accepted:
            rejected[id] = entry["code"]
    unnamed = [id for id in ids if id not in accepted and id not in rejected]
    return {"verdict": "processed", "accepted": accepted, "rejected": rejected, "unnamed": unnamed}


# Consent and identity

class Person:
    """What a client knows about consent and identity, and the events that it queued; values have names, not bytes."""

    def __init__(self, on_sign_out="rotate", on_withdrawal="clear"):
        self.on_sign_out = on_sign_out
        self.on_withdrawal = on_withdrawal
        self.granted = set()
        self.anonymous = self.user = self.session = None
        self.sequence = 0
        self.made = {"A": 0, "S": 0}
        self.queue = {}
        self.drops = 0

    def new(self, kind):
        self.made[kind] += 1
        return f"{kind}{self.made[kind]}"

    def change(self, policy):
        if policy != "retain":
            self.anonymous = self.new("A") if policy == "rotate" else None

    def consent(self, granted):
        withdrawn = self.granted - set(granted)
        self.granted = set(granted)
        gone = [alias for alias, (purpose, _) in self.queue.items() if purpose not in self.granted]
        for alias in gone:
            del self.queue[alias]
        self.drops += len(gone)
        if withdrawn and self.on_withdrawal != "retain":
            # An id for nobody is not made.
            self.change(self.on_withdrawal if self.granted else "clear")
            self.user = self.session = None

    def sign_in(self, user):
        if self.user not in (None, user):
            self.sign_out()
        self.user = user

    def sign_out(self):
        self.change(self.on_sign_out)
        self.user = self.session = None

    def restart(self):
        self.session = None

    def track(self, alias, purpose="analytics"):
        """Whether the event is taken."""
        if purpose not in self.granted:
            return False
        self.anonymous = self.anonymous or self.new("A")
        if self.session is None:
            self.session = self.new("S")
            self.sequence = 0
        self.queue[alias] = (purpose, {
            "anonymous_id": self.anonymous, "session_id": self.session, "sequence": self.sequence, "user_id": self.user,
        })
        self.sequence += 1
        return True


def sha256(data):
    return hashlib.sha256(data).hexdigest()
