# SPDX-License-Identifier: Apache-2.0
"""Vectors of consent and identity: scenarios whose end the model foretells."""

import model


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
