# Sourced by bin/compile: the settings by which npm's registry is reached. They come from the app's config vars, which a
# build gets as files, or from the builder's own environment. Nothing else of either reaches our npm: a NODE_ENV,
# NODE_OPTIONS or npm setting that is meant for the app would change what is installed here.

readonly NETWORK_SETTINGS=(NPM_CONFIG_REGISTRY NPM_CONFIG_PROXY NPM_CONFIG_HTTPS_PROXY NPM_CONFIG_NOPROXY
  NPM_CONFIG_CAFILE NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy)

# read_network_settings <ENV_DIR, or nothing>
read_network_settings() {
  local name
  for name in "${NETWORK_SETTINGS[@]}"; do
    if [ -n "$1" ] && [ -f "$1/$name" ]; then export "$name=$(cat "$1/$name")"; fi
  done
  REGISTRY=${NPM_CONFIG_REGISTRY:-https://registry.npmjs.org}
  REGISTRY=${REGISTRY%/}
}

# with_network <command...>: runs it in an environment of those settings alone, with our Node first in PATH.
with_network() {
  local kept=() name
  for name in "${NETWORK_SETTINGS[@]}"; do
    if [ -n "${!name:-}" ]; then kept+=("$name=${!name}"); fi
  done
  env -i "${kept[@]}" PATH="$TREE/bin:/usr/bin:/bin" HOME="$WORK" NPM_CONFIG_UPDATE_NOTIFIER=false "$@"
}

# download <package> <version> <integrity>: its tarball as $WORK/<package>.tgz, if it is the one that was pinned.
download() {
  local url="$REGISTRY/$1/-/$1-$2.tgz" file="$WORK/$1.tgz"
  run_logged "$1 $2 could not be downloaded from $REGISTRY. Set NPM_CONFIG_REGISTRY if another registry must be used." \
    curl --fail --silent --show-error --location --retry 3 --connect-timeout 15 --max-time 600 --output "$file" "$url"
  [ "$(sha512sum <"$file" | cut -d ' ' -f 1)" = "$(hex_of "${3#sha512-}")" ] ||
    fail "$url is not the package that it should be (its SHA-512 differs): nothing of it was used."
}

# Integrity is written in base64, sha512sum writes hexadecimal.
hex_of() {
  printf '%s' "$1" | base64 --decode | od -An -v -t x1 | tr -d ' \n'
}
