#!/usr/bin/env bash
# The step of action.yml that judges. It reads, all from the environment:
#   TORCHLINT_PATHS, TORCHLINT_ARGS   what is judged, and more options; words with blanks between
#   TORCHLINT_BASE                    a branch of origin: what it has already is left out; "" for all findings
#   TORCHLINT_SARIF                   the file for code scanning; "" for none
#   TORCHLINT_COMMENT                 the file for a comment in Markdown; "" for none
# It annotates the lines, writes `findings=N` to GITHUB_OUTPUT, and exits as torchlint does: 0, 1 with findings, 2 on failure.
set -euo pipefail

read -r -a paths <<<"${TORCHLINT_PATHS:-.}"
read -r -a options <<<"${TORCHLINT_ARGS:-}"
work="$(mktemp -d)"
trap 'git worktree remove --force "$work/base" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

if [ -n "${TORCHLINT_BASE:-}" ]; then
  git fetch --quiet --depth 1 origin "$TORCHLINT_BASE"
  git worktree add --quiet --detach "$work/base" FETCH_HEAD
  # Names in a baseline are told from where it lies: it lies where the other branch's files are, then where these are.
  status=0
  (cd "$work/base" && torchlint --no-cache --quiet "${options[@]}" --baseline .torchlint-base.json --update-baseline .) || status=$?
  [ "$status" -le 2 ] || exit "$status"
  [ ! -e "$work/base/.torchlint-base.json" ] || mv "$work/base/.torchlint-base.json" .torchlint-base.json
  trap 'git worktree remove --force "$work/base" >/dev/null 2>&1 || true; rm -rf "$work" .torchlint-base.json' EXIT
  [ ! -e .torchlint-base.json ] || options+=(--baseline .torchlint-base.json)
fi

run() { torchlint "${options[@]}" "$@" "${paths[@]}"; }

status=0
run --output-format github || status=$?
run --exit-zero --quiet --output-format json --output-file "$work/found.json" 2>"$work/why" || true
[ -s "$work/found.json" ] || exit "$status"
count="$(python - "$work/found.json" <<'PY'
import json, sys
print(sum(bool(one["group"]) for one in json.load(open(sys.argv[1], encoding="utf-8"))))
PY
)"
echo "findings=$count" >>"${GITHUB_OUTPUT:-/dev/null}"
if [ -n "${TORCHLINT_SARIF:-}" ]; then
  run --exit-zero --quiet --output-format sarif --output-file "$TORCHLINT_SARIF" || true
fi
if [ -n "${TORCHLINT_COMMENT:-}" ]; then
  {
    printf 'torchlint: %s new since `%s`\n\n```text\n' "$count" "$TORCHLINT_BASE"
    run --exit-zero --quiet --output-format concise || true
    printf '```\n'
  } >"$TORCHLINT_COMMENT"
fi
exit "$status"
