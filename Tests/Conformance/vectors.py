# SPDX-License-Identifier: Apache-2.0
"""Writes the conformance vectors by model.py, or checks that they are what it would write.

    python3 Tests/Conformance/vectors.py            writes them
    python3 Tests/Conformance/vectors.py --check    exits 1 and names each file that differs
"""

import pathlib
import sys

import delivery
import envelopes
import people
from common import line

FOLDER = pathlib.Path(__file__).parent

FILES = {
    "contract.json": envelopes.contract,
    "encode.jsonl": envelopes.encoded_vectors,
    "reject.jsonl": envelopes.rejected_vectors,
    "numbers.jsonl": envelopes.numbers,
    "ids.jsonl": delivery.ids,
    "batch.jsonl": delivery.batches,
    "body.jsonl": delivery.bodies,
    "classify.jsonl": delivery.classified,
    "backoff.jsonl": delivery.backoffs,
    "retry_after.jsonl": delivery.retry_afters,
    "consent.jsonl": people.consents,
    "identity.jsonl": people.identities,
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
