# SPDX-License-Identifier: Apache-2.0
"""What the files of vectors have in common."""

import email.utils
import json

import model

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
