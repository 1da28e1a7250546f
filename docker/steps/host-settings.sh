# Sourced by docker/setup: hands this host's certificate authorities, npm and apt settings to the build stages, through a
# git-ignored folder of the build context. No registry credentials are taken, and no final image holds any of it.

write_host_settings() {
  rm -rf "$HOST"
  mkdir -p "$HOST"
  write_npm_settings
  write_ca_bundle
  if is_debian_like; then write_apt_settings; fi
}

# npm_setting <name>: prints npm's value as it is in force here, or nothing.
npm_setting() {
  local value
  value=$(npm config get "$1" 2>/dev/null || true)
  case "$value" in null | undefined | '') ;; *) printf '%s\n' "$value" ;; esac
}

write_npm_settings() {
  has npm || return 0
  local name value
  for name in registry proxy https-proxy noproxy strict-ssl; do
    value=$(npm_setting "$name")
    if [ -n "$value" ]; then printf '%s=%s\n' "$name" "$value" >>"$HOST/npmrc"; fi
  done
}

# A host behind an intercepting proxy trusts an authority that a container does not know.
write_ca_bundle() {
  local bundles=("${NODE_EXTRA_CA_CERTS:-}") bundle
  if has npm; then bundles+=("$(npm_setting cafile)"); fi
  [ "${bundles[0]}" != "${bundles[1]:-}" ] || unset 'bundles[1]'
  for bundle in "${bundles[@]}"; do
    if [ -n "$bundle" ] && [ -r "$bundle" ]; then cat "$bundle" >>"$HOST/ca.pem"; fi
  done
}

write_apt_settings() {
  apt-config dump | grep -E '^Acquire::(Check-Valid-Until|Check-Date|https?::(Proxy|Verify-Peer|Verify-Host)) ' \
    >"$HOST/apt.conf" || true
  debian_sources "$(debian_mirror)" "$(security_mirror)" >"$HOST/debian.sources"
  if grep -q '^URIs: https:' "$HOST/debian.sources"; then
    # The slim images hold no certificate authorities at all.
    cp /etc/ssl/certs/ca-certificates.crt "$HOST/apt-ca.pem"
    echo 'Acquire::https::CAInfo "/host/apt-ca.pem";' >>"$HOST/apt.conf"
  fi
}

debian_mirror() {
  host_mirror debian || echo http://deb.debian.org/debian
}

# Prints nothing where the host has a Debian mirror and none for security updates: what it cannot reach is not asked.
security_mirror() {
  host_mirror debian-security || host_mirror debian >/dev/null || echo http://deb.debian.org/debian-security
}

# host_mirror <last part of the path>: the mirror that apt uses on this host; fails when there is none.
host_mirror() {
  is_debian_like && apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    sed -n -E "s,^(https?://.*/$1)/?\$,\1,p" | sed -n '1p' | grep .
}

# debian_sources <mirror> <security mirror or nothing>: apt's sources of Debian 13.
debian_sources() {
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  printf 'Types: deb\nURIs: %s\nSuites: trixie trixie-updates\nComponents: main\nSigned-By: %s\n' "$1" "$keyring"
  [ -z "$2" ] ||
    printf '\nTypes: deb\nURIs: %s\nSuites: trixie-security\nComponents: main\nSigned-By: %s\n' "$2" "$keyring"
}
