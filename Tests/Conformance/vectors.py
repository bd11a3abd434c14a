# SPDX-License-Identifier: Apache-2.0
"""Writes the conformance vectors by model.py, or checks that they are what it would write.

    python3 Tests/Conformance/vectors.py            writes them
    python3 Tests/Conformance/vectors.py --check    exits 1 and names each file that differs
"""

import email.utils
import json
import pathlib
import random
import sys

import model

FOLDER = pathlib.Path(__file__).parent
NOW = 1796000000

BASE = {
    "event": "report_exported",
    "event_id": "3f1c2a9e-7b64-4d0a-9c58-0e6f5d4b3a21",
    "occurred_at": NOW,
    "anonymous_id": "anon-1",
    "session_id": "session-1",
    "app_version": "4.8.0",
    "build_number": "842",
    "platform": "ios",
    "schema_version": 1,
    "sequence": 0,
    "properties": {},
}


def line(value):
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def moment(offset):
    return email.utils.formatdate(NOW + offset, usegmt=True)


def double(value):
    return {"double": model.bits_of(float(value))}


def integer(value):
    return {"integer": str(value)}


def event(properties=None, **changes):
    input = {**BASE, **changes}
    if properties is not None:
        input["properties"] = properties
    return {key: value for key, value in input.items() if value is not None}


# Encoding

def encode_inputs():
    """Inputs that are kept whole, by name."""
    yield "the least", event()
    yield "signed in", event(user_id="usr_42")
    yield "a late sequence", event(sequence=2**53 - 1)
    yield "the first second", event(occurred_at=0)
    yield "the last second", event(occurred_at=99999999999)
    yield "android", event(platform="android", schema_version=2)
    yield "one experiment", event(experiments={"new_export": "treatment"})
    yield "experiments in the order of their names", event(experiments={"b": "1", "a": "2", "a_b": "3", "a1": "4"})
    yield "no experiments", event(experiments={})
    yield "properties in the order of their names", event(
        {"z": True, "a_b": True, "ab": True, "a1": True, "a": True, "a_": True, "b10": False, "b9": False}
    )
    yield "each type", event({"text": "retention", "count": integer(18420), "share": double(0.25), "ok": True, "off": False})
    yield "the source text's example", event(
        {"report_type": "retention", "row_count": integer(18420)},
        event_id="evt_01J", anonymous_id="anon_01J", user_id="usr_42", session_id="ses_01J", occurred_at=1785081600,
    )
    yield "the longest event name", event(event="a" * 64)
    yield "the shortest event name", event(event="a")
    yield "an event name with digits and lines", event(event="a_1__2_")
    yield "the longest property name", event({"p" * 64: True})
    yield "64 properties", event({f"p{number}": True for number in range(64)})
    yield "the longest identifiers", event(anonymous_id="a" * 100, session_id="s" * 100, user_id="u" * 100)
    yield "identifiers count characters, not bytes", event(user_id="\u00e9" * 100, session_id="\U0001f600" * 100)
    yield "identifiers with quotes", event(user_id='a"b\\c/d')
    yield "versions are texts", event(app_version="4.8.0 (beta)", build_number="2026.11/30")
    yield "the longest version", event(app_version="1" * 50, build_number="\u4e00" * 50)

    yield "an empty text", event({"text": ""})
    yield "quotes and backslashes", event({"text": '"\\"\\\\'})
    yield "a slash", event({"text": "a/b</script>"})
    yield "short escapes", event({"text": "\b\f\n\r\t"})
    yield "long escapes", event({"text": "".join(chr(c) for c in range(1, 0x20))})
    yield "delete is no control here", event({"text": "\x7f\x80\x9f"})
    yield "line separators", event({"text": "\u2028\u2029"})
    yield "two bytes", event({"text": "\u00e9\u00df\u0416"})
    yield "three bytes", event({"text": "\u65e5\u672c\u8a9e\u20ac"})
    yield "four bytes", event({"text": "\U0001f600\U00010348\U0010ffff"})
    yield "a family", event({"text": "\U0001f468\u200d\U0001f469\u200d\U0001f467\ufe0f"})
    yield "a flag", event({"text": "\U0001f1e9\U0001f1ea"})
    yield "composed", event({"text": "caf\u00e9"})
    yield "decomposed stays decomposed", event({"text": "cafe\u0301"})
    yield "Hangul apart", event({"text": "\u1112\u1161\u11ab"})
    yield "an Angstrom sign", event({"text": "\u212b"})
    yield "compatibility forms", event({"text": "\ufb01\u2460\uff21"})
    yield "right to left", event({"text": "\u202eabc\u05d0\u0627"})
    yield "a byte order mark", event({"text": "\ufefftext\ufeff"})
    yield "no characters", event({"text": "\uffff\ufffe\ufdd0"})
    yield "the replacement character", event({"text": "\ufffd"})
    yield "private use", event({"text": "\ue000\uf8ff"})
    yield "around the surrogates", event({"text": "\ud7ff\ue000"})
    yield "zero width", event({"text": "a\u200bb\u2060c"})
    yield "combining only", event({"text": "\u0301\u0301"})
    yield "spaces", event({"text": "  \u00a0\u3000 "})
    yield "what looks like JSON", event({"text": '{"a":[1,null]}'})
    yield "what looks like a number", event({"text": "1e5"})
    yield "a long text", event({"text": {"repeat": "\u00e9", "count": 2000}})

    for name, value in [
        ("zero", integer(0)), ("minus one", integer(-1)), ("the largest whole", integer(2**53 - 1)),
        ("the smallest whole", integer(-(2**53) + 1)), ("a double that is whole", double(3)), ("minus zero", double(-0.0)),
        ("one tenth", double(0.1)), ("a third", double(1 / 3)), ("seventeen digits", double(0.1 + 0.2)),
        ("a small one", double(1e-6)), ("a smaller one", double(1e-7)), ("1.5e-9", double(1.5e-9)),
        ("from here with an exponent", double(1e21)), ("1.5e300", double(1.5e300)), ("the largest", double(1.7976931348623157e308)),
        ("the smallest", double(5e-324)), ("the smallest normal", double(2.2250738585072014e-308)),
        ("the largest whole as a double", double(2**53 - 1)), ("a price", double(19.99)), ("minus a price", double(-1234.5)),
    ]:
        yield f"number: {name}", event({"number": value})


def filled(size, **changes):
    """An event whose envelope has `size` bytes."""
    empty = len(model.encode(event({"text": ""}, **changes))["envelope"])
    return event({"text": {"repeat": "x", "count": size - empty}}, **changes)


def encode_vectors():
    yield "exactly as long as an event may be", filled(model.MAXIMUM_EVENT_BYTES)
    yield from encode_inputs()


def encoded(name, input):
    result = model.encode(input)
    vector = {"name": name, "input": input}
    if "drop" in result:
        return {**vector, "drop": result["drop"]}
    envelope = result["envelope"]
    vector["bytes"] = len(envelope)
    vector["sha256"] = model.sha256(envelope)
    vector["envelope"] = envelope.decode()
    if result["malformed"]:
        vector["malformed"] = result["malformed"]
    return vector


def reject_inputs():
    """Inputs that lose a property, or the whole event, by name."""
    good = {"ok": True}
    for name in ["", "A", "aB", "1a", "_a", "a-b", "a.b", "a b", "a\n", "\u00e9", "e\u0301", "a\u00e9", "a" * 65, "a\0", "caf\u0435"]:
        yield f"event name {line(name)}", event(good, event=name)
    for name in ["", "A", "aB", "1a", "_a", "a-b", "a.b", "a b", "a\n", "\u00e9", "e\u0301", "a\u00e9", "a" * 65, "a\0"]:
        yield f"property name {line(name)}", event({**good, name: "value"})
    for name, value in [
        ("not a number", {"double": "7ff8000000000000"}), ("a signalling one", {"double": "7ff4000000000001"}),
        ("infinity", {"double": "7ff0000000000000"}), ("minus infinity", {"double": "fff0000000000000"}),
        ("2^53", integer(2**53)), ("-2^53", integer(-(2**53))), ("the largest of 64 bits", integer(2**63 - 1)),
        ("the smallest of 64 bits", integer(-(2**63))),
        ("2^53 as a double", double(2**53)), ("-2^53 as a double", double(-(2**53))), ("1e20 as a double", double(1e20)),
        ("the last that is written without an exponent", double(999999999999999868928)), ("2^64 as a double", double(2**64)),
        ("a NUL", "a\0b"), ("only a NUL", "\0"),
        ("half a pair", {"utf16": "d83d"}), ("the other half", {"utf16": "de00"}), ("a pair turned round", {"utf16": "de00d83d"}),
        ("half a pair in a text", {"utf16": "0061d83d0062"}),
    ]:
        yield f"value: {name}", event({**good, "value": value})
    yield "several at once, in the order of their names", event(
        {"z": {"double": "7ff8000000000000"}, "Bad": True, "ok": True, "a": "\0", "\u00e9": True}
    )
    yield "nothing is left", event({"A": True, "B": True})
    yield "65 properties", event({f"p{number}": True for number in range(65)})
    yield "65 properties of which one is malformed", event({**{f"p{number}": True for number in range(64)}, "P": True})
    yield "a byte longer than an event may be", filled(model.MAXIMUM_EVENT_BYTES + 1)
    yield "far longer than an event may be", event({"text": {"repeat": "\u00e9", "count": 200000}})
    yield "escapes count as they are written", event({"text": {"repeat": "\u0001", "count": 6000}})


# Numbers

def numbers():
    chance = random.Random(20261130)
    values = {0.0: None, -0.0: None}
    for value in [1, 2, 3, 9, 10, 11, 99, 100, 101, 255, 256, 1000, 18420, 65535, 65536, 2**31 - 1, 2**31, 2**32, 1796000000]:
        values[float(value)] = values[float(-value)] = None
    for power in range(-324, 309):
        if power % 7 == 0 or -12 <= power <= 24:
            values[float(f"1e{power}")] = None
            values[float(f"-9.5e{min(power, 307)}")] = None
    for power in range(-1074, 1024):
        if power % 23 == 0 or -20 <= power <= 72:
            values[2.0**power] = None
    for whole in [2**53, 10**15, 10**16, 10**20, 10**21, 2**63, 2**64]:
        bits = int(model.bits_of(float(whole)), 16)
        for step in (-2, -1, 0, 1, 2):
            values[model.double_of(f"{bits + step:016x}")] = None
    for edge in ["0000000000000001", "0000000000000002", "000fffffffffffff", "0010000000000000", "7fefffffffffffff",
                 "3eb0c6f7a0b5ed8d", "3eb0c6f7a0b5ed8c", "3e7ad7f29abcaf48", "4340000000000001", "44b52d02c7e14af5",
                 "44b52d02c7e14af6", "444b1ae4d6e2ef50", "444b1ae4d6e2ef4f", "4430000000000000", "0006123400000000"]:
        values[model.double_of(edge)] = None
    while len(values) < 900:  # as people write them
        values[round(chance.getrandbits(40) / 10 ** (chance.getrandbits(3)), 3) * (-1) ** chance.getrandbits(1)] = None
    while len(values) < 1300:  # around one
        values[chance.getrandbits(53) / 2**chance.choice([20, 40, 53, 60])] = None
    texts = [(model.bits_of(value), value) for value in values]
    texts.insert(1, (model.bits_of(-0.0), -0.0))
    seen = {bits for bits, _ in texts}
    while len(texts) < 1990:  # any
        bits = f"{chance.getrandbits(64):016x}"
        if bits not in seen and model.math.isfinite(model.double_of(bits)):
            seen.add(bits)
            texts.append((bits, model.double_of(bits)))
    for bits, value in texts:
        text = model.number_text(value)
        vector = {"bits": bits, "text": text}
        if model.is_whole_text(text) and abs(int(text)) > model.LARGEST_WHOLE:
            vector["property"] = False
        yield vector
    for bits in ["7ff0000000000000", "fff0000000000000", "7ff8000000000000", "fff8000000000000", "7ff0000000000001"]:
        yield {"bits": bits, "text": None, "property": False}


# Delivery

def ids():
    chance = random.Random(4122)
    randoms = [bytes(16), b"\xff" * 16, bytes(range(16)), bytes(range(255, 239, -1)), b"\x00" * 6 + b"\xff\x00\xff" + b"\x00" * 7]
    randoms += [chance.getrandbits(128).to_bytes(16, "big") for _ in range(43)]
    for octets in randoms:
        yield {"random": octets.hex(), "id": model.uuid(octets)}


def batch(name, rows, maximum_events=model.MAXIMUM_BATCH_EVENTS, maximum_bytes=model.MAXIMUM_BATCH_BYTES):
    rows = [(row, None) if isinstance(row, int) else row for row in rows]
    runs = []
    for size, user in rows:
        if runs and runs[-1]["size"] == size and runs[-1].get("user") == user:
            runs[-1]["count"] += 1
        else:
            runs.append({"count": 1, "size": size, **({"user": user} if user else {})})
    return {
        "name": name, "maximum_events": maximum_events, "maximum_bytes": maximum_bytes, "rows": runs,
        "batches": [
            {"count": count, **({"user": user} if user else {})} for user, count in model.cuts(rows, maximum_events, maximum_bytes)
        ],
    }


def batches():
    chance = random.Random(77)
    yield batch("nothing", [])
    yield batch("one", [400])
    yield batch("as many as a batch may have", [400] * 100)
    yield batch("one more", [400] * 101)
    yield batch("many", [400] * 1234)
    yield batch("exactly the bytes", [1 << 15] * 8)
    yield batch("exactly the bytes with the commas", [1 << 15] * 7 + [(1 << 15) - 7])
    yield batch("a byte too many", [1 << 15] * 7 + [(1 << 15) - 6])
    yield batch("a comma too many", [999, 1], maximum_bytes=1000)
    yield batch("room for the comma", [998, 1], maximum_bytes=1000)
    yield batch("large ones", [1 << 15] * 20)
    yield batch("large and small", [1 << 15, 100] * 30)
    yield batch("a cap of one", [400] * 3, maximum_events=1)
    yield batch("a halved cap", [400] * 120, maximum_events=50)
    yield batch("a row larger than the cap goes alone", [100, 5000, 100, 100], maximum_bytes=1000)
    yield batch("rows larger than the cap", [5000] * 3, maximum_bytes=1000)
    yield batch("a cap that rows meet exactly", [300, 300, 400, 500, 500, 1000, 1], maximum_bytes=1000)
    yield batch("a batch is one user's", [(400, None)] * 5 + [(400, "u1")] * 5)
    yield batch("there and back", [(400, "u1")] * 3 + [(400, None)] * 2 + [(400, "u1")] * 4)
    yield batch("users in turn", [(400, "u1"), (400, "u2")] * 4)
    yield batch("a change of user at the cap", [(400, "u1")] * 100 + [(400, "u2")] * 100)
    yield batch("a user named nothing like the other", [(400, "u")] * 2 + [(400, "U")] * 2)
    yield batch("composed and decomposed users are two", [(400, "\u00e9")] * 2 + [(400, "e\u0301")] * 2)
    for number in range(6):
        rows = [(chance.randint(200, 9000), chance.choice([None, None, None, "u1"])) for _ in range(60)]
        yield batch(f"mixed {number}", rows, chance.choice([10, 25, 100]), chance.choice([20000, 65536, 262144]))


JSON = {"Content-Type": "application/json"}
IDS = ["a", "b", "c"]
PAGE = "<!doctype html><html><title>Welcome</title><p>Please sign in to use this network.</p></html>"


def answer(accepted=(), rejected=(), **more):
    return line({"request_id": "r1", "accepted": list(accepted), "rejected": list(rejected), "removed": [], **more})


def rejection(index, id, code="unsupported_event"):
    return {"index": index, "event_id": id, "code": code, "detail": "event"}


def refusal(code, detail="the body"):
    return line({"request_id": "r1", "code": code, "detail": detail})


def answers():
    """Name, status, header fields, body."""
    whole = answer(IDS)
    yield "all accepted", 200, JSON, whole
    yield "with a charset", 200, {"Content-Type": "application/json; charset=utf-8"}, whole
    yield "field names in lower case", 200, {"content-type": "application/json"}, whole
    yield "another success is not the endpoint's", 202, JSON, whole
    yield "white space and another order", 200, JSON, '{ "accepted" : ["c","a","b"],\n"rejected":[],"request_id":"x" }\n'
    yield "members that are not known", 200, JSON, answer(IDS, hint={"a": 1}, accepted_count=3)
    yield "one rejected", 200, JSON, answer(["a", "c"], [rejection(1, "b")])
    yield "all rejected", 200, JSON, answer([], [rejection(i, id) for i, id in enumerate(IDS)])
    yield "a rejected one that only its index names", 200, JSON, answer(["a", "b"], [rejection(2, None, "invalid_event_id")])
    yield "an index that no event has", 200, JSON, answer(["a", "b"], [rejection(3, None, "invalid_event_id")])
    yield "an index and an id that disagree", 200, JSON, answer(["a", "b"], [rejection(0, "c")])
    yield "a code that is not known", 200, JSON, answer(["a", "b"], [rejection(2, "c", "code_of_next_year")])
    yield "one not named", 200, JSON, answer(["a", "c"])
    yield "none named", 200, JSON, answer()
    yield "ids of somebody else", 200, JSON, answer(["a", "x", "y"], [rejection(0, "z")])
    yield "an id named twice", 200, JSON, answer(["a", "a", "b", "c"])
    yield "an id accepted and rejected is durable", 200, JSON, answer(IDS, [rejection(0, "a")])
    yield "ids compare as bytes", 200, JSON, answer(["A", "b", "c"])
    yield "an escaped id", 200, JSON, '{"request_id":"r","accepted":["\\u0061","b","c"],"rejected":[],"removed":[]}'

    yield "a captive portal's page", 200, {"Content-Type": "text/html"}, PAGE
    yield "a page labelled JSON", 200, JSON, PAGE
    yield "the answer labelled as a page", 200, {"Content-Type": "text/html"}, whole
    yield "the answer without a label", 200, {}, whole
    yield "an empty body", 200, JSON, ""
    yield "no content", 204, {}, ""
    yield "a cut answer", 200, JSON, whole[:-9]
    yield "bytes behind the answer", 200, JSON, whole + whole
    yield "an empty object", 200, JSON, "{}"
    yield "another service's success", 200, JSON, '{"status":"ok","success":true}'
    yield "a list", 200, JSON, line(IDS)
    yield "null", 200, JSON, "null"
    yield "accepted is a number", 200, JSON, '{"request_id":"r","accepted":3,"rejected":[]}'
    yield "accepted holds numbers", 200, JSON, '{"request_id":"r","accepted":[1,2,3],"rejected":[]}'
    yield "accepted is missing", 200, JSON, '{"request_id":"r","rejected":[]}'
    yield "rejected is missing", 200, JSON, '{"request_id":"r","accepted":["a","b","c"]}'
    yield "a rejection without an index", 200, JSON, answer(["a"], [{"event_id": "b", "code": "invalid_event"}])
    yield "rejected holds texts", 200, JSON, '{"request_id":"r","accepted":["a"],"rejected":["b"]}'
    yield "no request id", 200, JSON, '{"accepted":["a","b","c"],"rejected":[]}'
    yield "a refusal with a success's status", 200, JSON, refusal("invalid_json")

    for status in (301, 302, 303, 307, 308):
        yield f"redirect {status}", status, {"Location": "https://elsewhere.example/", **JSON}, whole
    yield "not modified", 304, {}, ""

    for code in ("invalid_json", "invalid_batch", "duplicate_key", "forbidden_field", "invalid_client_sent_at", "invalid_gzip"):
        yield f"the endpoint refuses: {code}", 400, JSON, refusal(code)
    yield "400 with an offset", 400, JSON, line({"request_id": "r", "code": "invalid_json", "detail": "syntax", "byte_offset": 7})
    yield "400 from somebody else", 400, {"Content-Type": "text/html"}, PAGE
    yield "400 from another service", 400, JSON, '{"error":"bad request"}'
    yield "400 with nothing", 400, {}, ""
    yield "400 labelled as a page", 400, {"Content-Type": "text/html"}, refusal("invalid_json")
    yield "422 from the endpoint's kin", 422, JSON, refusal("invalid_batch")
    yield "422 from somebody else", 422, JSON, '{"errors":[]}'
    for status, code in ((401, "invalid_token"), (403, "forbidden"), (404, "not_found"), (405, "method_not_allowed"),
                         (415, "unsupported_media_type")):
        yield f"{status} from the endpoint", status, JSON, refusal(code)
        yield f"{status} from somebody else", status, {"Content-Type": "text/html"}, PAGE
    yield "413 from the endpoint", 413, JSON, refusal("body_too_large")
    yield "413 for too many", 413, JSON, refusal("too_many_events")
    yield "413 from a proxy", 413, {"Content-Type": "text/html"}, PAGE

    for status in (408, 425, 429, 503):
        yield f"{status} with a wait", status, {"Retry-After": "7", **JSON}, refusal("rate_limited")
        yield f"{status} without a wait", status, JSON, refusal("rate_limited")
    yield "429 from a proxy", 429, {"retry-after": "120", "Content-Type": "text/html"}, PAGE
    yield "429 with a date", 429, {"Retry-After": moment(60)}, ""
    yield "429 with a date that is past", 429, {"Retry-After": moment(-200)}, ""
    yield "429 with a date and its own clock", 429, {"Retry-After": moment(99960), "Date": moment(99900)}, ""
    yield "429 with a date and a clock that says nothing", 429, {"Retry-After": moment(60), "Date": "today"}, ""
    yield "429 with a day", 429, {"Retry-After": "86400"}, ""
    yield "429 with no wait at all", 429, {"Retry-After": "0"}, ""
    yield "429 with nonsense", 429, {"Retry-After": "soon"}, ""
    yield "503 with the endpoint's words", 503, {"Retry-After": "2", **JSON}, refusal("overloaded")
    yield "503 with an answer that accepts", 503, JSON, whole
    for status in (500, 501, 502, 504, 507, 511, 520, 599):
        yield f"{status}", status, {"Content-Type": "text/html"}, PAGE
    yield "500 with an answer that accepts", 500, JSON, whole
    for status in (402, 407, 409, 410, 418, 451):
        yield f"{status}", status, {"Content-Type": "text/html"}, PAGE


def classified():
    for name, status, headers, body in answers():
        vector = {"name": name, "now": NOW, "ids": IDS, "status": status, "headers": headers, "body": body}
        yield {**vector, "expect": model.classify(status, headers, body, IDS, NOW)}


def backoffs():
    chance = random.Random(5)
    draws = [0, 2**62, 2**63, 2**64 - 1, 2**63 + 2**10, chance.getrandbits(64), chance.getrandbits(64)]
    for failures in [*range(12), 15, 16, 17, 20, 40, 64, 1000, 2**31]:
        for draw in draws:
            yield {"failures": failures, "random": f"{draw:016x}", "milliseconds": model.backoff(failures, draw)}


def bodies():
    envelopes = [model.encode(event(event_id=f"e-{number}", sequence=number))["envelope"].decode() for number in range(3)]
    for name, count, drops in [
        ("one event", 1, {}), ("three events", 3, {}), ("a drop", 1, {"expired": 3}),
        ("drops in the order of their names", 2, {"too_large": 1, "consent": 2, "overflow": 1000, "invalid": 4}),
    ]:
        text = model.body(envelopes[:count], drops, NOW + 60).decode()
        yield {"name": name, "events": envelopes[:count], "drops": drops, "client_sent_at": NOW + 60, "body": text}


def retry_afters():
    for value in ["0", "1", "7", "007", "60", "3599", "3600", "3601", "86400", "99999999999999999999", "", " ", "-1", "+5", "1.5",
                  "1e3", "7s", "soon", "60, 120", "\u0667", "0x10", "null",
                  *(moment(offset) for offset in (-86400, -1, 0, 1, 60, 3600, 3601, 86400 * 30)),
                  "Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
                  "Monday, 30-Nov-26 00:54:20 GMT", "Mon Nov 30 00:54:20 2026", "Sun Dec  6 08:49:37 2026"]:
        yield {"value": value, "now": NOW, "seconds": model.retry_after(value, NOW)}


class Script:
    """Steps for a client's runner, and the model that says what they must lead to."""

    def __init__(self, **policies):
        self.person = model.Person(**policies)
        self.steps = [{"do": "open", **policies}]
        self.count = 0

    def consent(self, *granted):
        self.steps.append({"do": "consent", "granted": list(granted)})
        self.person.consent(granted)

    def track(self, purpose="analytics"):
        self.count += 1
        alias = f"e{self.count}"
        step = {"do": "track", "as": alias, "event": "screen_viewed", "purpose": purpose}
        if not self.person.track(alias, purpose):
            step["result"] = "consent"
        self.steps.append(step)

    def call(self, call):
        if call == "restart":
            self.steps += [{"do": "close"}, self.steps[0]]
            self.person.restart()
        elif call == "sign_out":
            self.steps.append({"do": "sign_out"})
            self.person.sign_out()
        else:
            self.steps.append({"do": "sign_in", "user": call})
            self.person.sign_in(call)

    def vector(self, name):
        drops = {"consent": self.person.drops} if self.person.drops else {}
        envelopes = {alias: envelope for alias, (_, envelope) in self.person.queue.items()}
        expect = {"do": "expect", "queue": list(envelopes), "drops": drops, "envelopes": envelopes}
        return {"name": name, "steps": self.steps + [expect]}


def consents():
    choices = [(), ("analytics",), ("marketing",), ("analytics", "marketing")]

    def words(granted):
        return " and ".join(granted) or "nothing"

    for policy in ("clear", "retain", "rotate"):
        for before in choices:
            for after in choices:
                script = Script(on_withdrawal=policy)
                if before:
                    script.consent(*before)
                script.call("u1")
                for purpose in ("analytics", "marketing"):
                    script.track(purpose)
                script.consent(*after)
                for purpose in ("analytics", "marketing"):
                    script.track(purpose)
                yield script.vector(f"{words(before)}, then {words(after)}: {policy}")
    script = Script()
    for granted in [("analytics",), (), ("analytics",)]:
        script.consent(*granted)
        script.track()
        script.call("restart")
        script.track()
    yield script.vector("granted, withdrawn and granted again, with a new launch after each")


def identities():
    calls = ("u1", "u2", "sign_out", "restart")
    for policy in ("rotate", "retain", "clear"):
        for first in calls:
            for second in (None, *calls):
                script = Script(on_sign_out=policy)
                script.consent("analytics")
                script.track()
                for call in (first, second):
                    if call:
                        script.call(call)
                        script.track()
                        script.track()
                yield script.vector(f"{first}, {second}: {policy}" if second else f"{first}: {policy}")
    script = Script()
    script.call("u1")
    script.consent("analytics")
    script.track()
    yield script.vector("signed in before consent")


def contract():
    """The endpoint's contract that takes every envelope of the vectors and removes nothing from it."""
    events = {"screen_viewed": {"name": "string", "count": "number", "share": "number"}, "heartbeat": {}}
    experiments = set()
    for name, input in [*encode_vectors(), *reject_inputs()]:
        result = model.encode(input)
        if "drop" in result:
            continue
        envelope = json.loads(result["envelope"])
        experiments |= set(envelope.get("experiments", {}))
        properties = events.setdefault(envelope["event"], {"number": "number"})
        for property, value in envelope["properties"].items():
            kind = "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
            assert properties.setdefault(property, kind) == kind, property
    document = {
        "contract_version": "conformance-1", "schema_versions": {"min": 1, "max": 2}, "platforms": ["ios", "android", "macos"],
        "unlisted_properties": "reject", "email_like": "allow", "experiments": sorted(experiments),
        "events": {event: {"properties": {name: {"type": kind} for name, kind in sorted(properties.items())}}
                   for event, properties in sorted(events.items())},
    }
    yield document


FILES = {
    "contract.json": contract,
    "encode.jsonl": lambda: (encoded(name, input) for name, input in encode_vectors()),
    "reject.jsonl": lambda: (encoded(name, input) for name, input in reject_inputs()),
    "numbers.jsonl": numbers,
    "ids.jsonl": ids,
    "batch.jsonl": batches,
    "body.jsonl": bodies,
    "classify.jsonl": classified,
    "backoff.jsonl": backoffs,
    "retry_after.jsonl": retry_afters,
    "consent.jsonl": consents,
    "identity.jsonl": identities,
}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: vectors.py [--check]")
    differing = []
    for name, make in FILES.items():
        text = "".join(line(vector) + "\n" for vector in make())
        path = FOLDER / name
        if sys.argv[1:]:
            if not path.exists() or path.read_bytes() != text.encode():
                differing.append(name)
        else:
            path.write_bytes(text.encode())
    if differing:
        sys.exit("not what the model writes: " + ", ".join(differing))


main()
