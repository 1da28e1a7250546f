# Sourced by bin/compile: what the user of `git push heroku` reads.

title() {
  printf -- '-----> %s\n' "$*"
}

line() {
  printf '       %s\n' "$@"
}

# Ends the build: the first line says what is wrong, the next what to do.
fail() {
  printf ' !     %s\n' "$@" >&2
  exit 1
}

# run_logged <what failed, for the message> <command...>: shows the end of the output when the command fails.
run_logged() {
  local failed=$1
  shift
  "$@" >"$LOG" 2>&1 </dev/null && return
  tail -n 15 "$LOG" | sed 's/^/       /' >&2
  fail "$failed"
}
