# Sourced by docker/setup: what all steps use.

say() {
  printf 'setup: %s\n' "$*" >&2
}

# Two runs in one checkout would write the same files: the second waits for the first.
one_at_a_time() {
  has flock || return 0
  mkdir -p "$STATE"
  exec 9>"$STATE/lock"
  flock --nonblock 9 && return
  say 'another docker/setup is at work here: waiting for it'
  flock 9
}

# Ends the set-up: one sentence each on what is wrong and on what to do.
fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Runs a question to something that may hang. macOS has no timeout command, and no engine that would hang.
briefly() {
  if has timeout; then timeout 10 "$@"; else "$@"; fi
}

# Runs a command with its output in a log file; shows the log's end when the command fails.
run_logged() {
  local log="$STATE/$1.log"
  shift
  mkdir -p "$STATE"
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 40 "$log" >&2
  fail "failed: $*" "The whole output is in $log."
}

is_debian_like() {
  [ -r /etc/os-release ] && (
    # shellcheck source=/dev/null
    . /etc/os-release
    [[ " ${ID:-} ${ID_LIKE:-} " == *" debian "* ]]
  ) && has apt-get
}

can_install_packages() {
  [ "$(id -u)" = 0 ] && is_debian_like
}

# Installs Debian packages. The lists are fetched only when the first try fails: they are usually there.
install_packages() {
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  say "installing $* (apt-get)"
  mkdir -p "$STATE"
  "${install[@]}" >"$STATE/apt.log" 2>&1 </dev/null && return
  run_logged apt-update apt-get update
  run_logged apt "${install[@]}"
}
