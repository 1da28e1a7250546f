# Sourced by docker/setup: what runs on the host itself.

ensure_node_modules() {
  [ node_modules/.package-lock.json -nt package-lock.json ] && return
  has npm || fail "npm is not installed, and the tests need Node 20.19 or newer with npm." \
    "Install Node (https://nodejs.org, or 'apt-get install nodejs npm' on Debian 13) and try again."
  say 'installing node_modules (npm ci)'
  # No dependency needs its install script, and a script is the part of a package that could do harm here.
  run_logged npm-ci npm ci --ignore-scripts
  touch node_modules/.package-lock.json
}

# Apps in Python stand in for "any language" in the integration tests; Python's WebSockets and Chromium's are peers that
# share nothing with ours. strace counts what a request costs.
ensure_test_programs() {
  local missing=()
  has python3 || missing+=(python3)
  has redis-server || missing+=(redis-server)
  has chromium || missing+=(chromium)
  has strace || missing+=(strace)
  [ -d /usr/lib/python3/dist-packages/websockets ] || missing+=(python3-websockets)
  [ "${#missing[@]}" -eq 0 ] && return
  can_install_packages || fail "The tests run programs that are not installed: ${missing[*]}." \
    'Install them and try again.'
  install_packages "${missing[@]}"
}
