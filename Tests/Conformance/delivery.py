# SPDX-License-Identifier: Apache-2.0
"""Vectors of delivery: ids, requests, answers and waits."""

import random

import model
from common import NOW, event, line, moment


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
