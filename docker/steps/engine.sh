# Sourced by docker/setup: a Docker engine that answers.

ENGINE_LOG=/var/log/uwsrp-dockerd.log
ENGINE_PID_FILE=/var/run/docker.pid
ENGINE_WAIT_SECONDS=30

ensure_engine() {
  engine_answers && return
  if is_engine_elsewhere; then
    has docker || fail "DOCKER_HOST is $DOCKER_HOST, but the docker client is not installed." \
      "Install it: 'apt-get install docker.io' as root on Debian 12, docker-cli from 13 on, or https://docs.docker.com/engine/install/."
    say "waiting for the Docker engine (up to $ENGINE_WAIT_SECONDS s)"
    wait_for_engine && return
    fail "the Docker engine at $(engine_name) does not answer: $(engine_error)" \
      'Start it, or unset DOCKER_HOST or choose another context (docker context use default).'
  fi
  if [[ "$(engine_error)" == *'permission denied'* ]]; then
    fail "user $(id -un) may not use the Docker engine." \
      "Add the user to the group docker ('usermod -aG docker $(id -un)' as root, then log in again), or run as root."
  fi
  if has docker && ! can_start_engine; then
    say "waiting for the Docker engine (up to $ENGINE_WAIT_SECONDS s)"
    wait_for_engine && return
    fail "no Docker engine answers: $(engine_error)" "Start it: 'systemctl start docker' as root, or Docker Desktop."
  fi
  if ! has dockerd || ! has docker; then
    can_install_packages || fail 'Docker is not installed.' \
      "Install it: 'apt-get install docker.io' as root on Debian or Ubuntu, else https://docs.docker.com/engine/install/."
    install_engine
    engine_answers && return
  fi
  start_engine
}

engine_answers() {
  has docker && briefly docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

engine_error() {
  has docker || return 0
  { briefly docker version --format '{{.Server.Version}}' 2>&1 >/dev/null || true; } | tail -n 1
}

# True when the user chose an engine: then none is started here.
is_engine_elsewhere() {
  [ -n "${DOCKER_HOST:-}" ] && return
  has docker && [ "$(engine_name)" != unix:///var/run/docker.sock ]
}

engine_name() {
  echo "${DOCKER_HOST:-$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null ||
    echo unix:///var/run/docker.sock)}"
}

can_start_engine() {
  [ "$(id -u)" = 0 ] && [ "$(uname -s)" = Linux ] && { has dockerd || is_debian_like; }
}

# Asks each half second; gives up at once when the process it is told to watch has ended.
wait_for_engine() {
  local deadline=$((SECONDS + ENGINE_WAIT_SECONDS))
  until engine_answers; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    [ -z "${1:-}" ] || [ -d "/proc/$1" ] || return 1
    sleep 0.5
  done
}

install_engine() {
  local packages=(docker.io)
  # From Debian 13 on the client is a package of its own.
  if apt-cache show docker-cli >/dev/null 2>&1; then packages+=(docker-cli); fi
  install_packages "${packages[@]}"
  hash -r
}

start_engine() {
  local pid started=
  pid=$(cat "$ENGINE_PID_FILE" 2>/dev/null || true)
  if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then
    say "waiting for the Docker engine (up to $ENGINE_WAIT_SECONDS s)"
    wait_for_engine && return
    fail "no Docker engine answers, but $ENGINE_PID_FILE names a live process: $pid ($(cat "/proc/$pid/comm"))." \
      "If that is no engine, remove $ENGINE_PID_FILE and try again; else look at its log."
  fi
  rm -f "$ENGINE_PID_FILE"
  if [ -d /run/systemd/system ] && systemctl cat docker.service >/dev/null 2>&1; then
    say 'starting the Docker engine (systemctl start docker)'
    run_logged systemctl systemctl start docker
  else
    say "starting the Docker engine (dockerd, log in $ENGINE_LOG)"
    # Its own session and no stream or lock of ours: it outlives this script and holds nothing of the caller's open.
    env -C / setsid nohup dockerd >>"$ENGINE_LOG" 2>&1 </dev/null 9>&- &
    started=$!
  fi
  wait_for_engine "$started" && return
  # dockerd says much; what stopped it stands in a few lines at the end.
  tail -n 50 "$ENGINE_LOG" 2>/dev/null | grep -v 'level=\(info\|warning\|debug\)' | tail -n 5 >&2 || true
  fail 'the Docker engine was started but does not answer.' "Its log is $ENGINE_LOG, or 'journalctl -u docker'."
}
