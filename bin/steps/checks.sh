# Sourced by bin/compile: what is refused before anything is downloaded.

readonly GLIBC_WANTED=2.38 # of the prebuilt uWebSockets.js for Node 24

check_architecture() {
  case $(uname -m) in
    x86_64) ARCHITECTURE=x64 NODE_INTEGRITY=$NODE_X64_INTEGRITY ;;
    aarch64) ARCHITECTURE=arm64 NODE_INTEGRITY=$NODE_ARM64_INTEGRITY ;;
    *) fail "uWebSockets.js is not built for $(uname -m), only for x86_64 and aarch64." ;;
  esac
}

check_glibc() {
  local found
  found=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc //p') || true
  if [ "$(printf '%s\n' "$GLIBC_WANTED" "${found:-0}" | sort -V | head -n 1)" != "$GLIBC_WANTED" ]; then
    fail "uWebSockets.js needs glibc $GLIBC_WANTED or later, and this stack${STACK:+ ($STACK)} has ${found:-none}." \
      'heroku-24 and heroku-26 have it: heroku stack:set heroku-24'
  fi
}

# An app whose Procfile starts no web process would be built, released, and never be served.
check_procfile() {
  [ ! -f "$BUILD_DIR/Procfile" ] || [ -n "$(web_line)" ] ||
    fail 'The Procfile has no web process. Add a line: web: uwsrp <command>'
}

hint_at_procfile() {
  local command
  command=$(web_line)
  if [ -f "$BUILD_DIR/Procfile" ] && [[ " $command" != *[[:space:]/]uwsrp* ]]; then
    line 'It is not used yet. Let it start the web process, in the Procfile:' "    web: uwsrp $command"
  fi
}

web_line() {
  sed -n -E 's/^[[:space:]]*web:[[:space:]]*//p' "$BUILD_DIR/Procfile" 2>/dev/null | tr -d '\r' | head -n 1
}
