# SPDX-License-Identifier: Apache-2.0
"""Vectors of an event's bytes: what is kept, what is left out, numbers, and the contract that takes them."""

import json
import random

import model
from common import double, event, integer, line


def encode_inputs():
    """Inputs that are kept whole, by name."""
    yield "exactly as long as an event may be", filled(model.MAXIMUM_EVENT_BYTES)
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


def encoded_vectors():
    return (encoded(name, input) for name, input in encode_inputs())


def rejected_vectors():
    return (encoded(name, input) for name, input in reject_inputs())


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


def contract():
    """The endpoint's contract that takes every envelope of the vectors and removes nothing from it."""
    events = {"screen_viewed": {"name": "string", "count": "number", "share": "number"}, "heartbeat": {}}
    experiments = set()
    for name, input in [*encode_inputs(), *reject_inputs()]:
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
