# Sourced by docker/setup: hands this host's certificate authorities, npm and apt settings to the build stages, through a
# git-ignored folder of the build context. No registry credentials are taken, and no final image holds any of it.

write_host_settings() {
  local folder="$STATE/host" npm_settings=
  rm -rf "$folder"
  mkdir -p "$folder"
  if has npm; then npm_settings=$(npm config get registry proxy https-proxy noproxy strict-ssl cafile); fi
  # npm prints name=value, and null for what is not set.
  printf '%s\n' "$npm_settings" | grep -E '^(registry|proxy|https-proxy|noproxy|strict-ssl)=.' | grep -v '=null$' \
    >"$folder/npmrc" || true
  write_ca_bundle "$folder/ca.pem" "$(printf '%s\n' "$npm_settings" | sed -n 's/^cafile=//p')"
  if is_debian_like; then write_apt_settings "$folder"; fi
  rm -rf "$HOST"
  mv "$folder" "$HOST"
}

# A host behind an intercepting proxy trusts an authority that a container does not know.
write_ca_bundle() {
  local from_environment=${NODE_EXTRA_CA_CERTS:-} from_npm=$2 bundle
  if [ "$from_npm" = "$from_environment" ]; then from_npm=; fi
  for bundle in "$from_environment" "$from_npm"; do
    if [ -n "$bundle" ] && [ -r "$bundle" ]; then cat "$bundle" >>"$1"; fi
  done
}

write_apt_settings() {
  apt-config dump | grep -E '^Acquire::(Check-Valid-Until|Check-Date|https?::(Proxy|Verify-Peer|Verify-Host)) ' \
    >"$1/apt.conf" || true
  debian_sources "$(debian_mirror)" "$(security_mirror)" >"$1/debian.sources"
  if grep -q '^URIs: https:' "$1/debian.sources"; then
    # The slim images hold no certificate authorities at all.
    cp /etc/ssl/certs/ca-certificates.crt "$1/apt-ca.pem"
    echo 'Acquire::https::CAInfo "/local/host/apt-ca.pem";' >>"$1/apt.conf"
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
