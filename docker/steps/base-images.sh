# Sourced by docker/setup: Debian 13 and Node 24 on it, pulled, or built where they cannot be pulled.

# shellcheck source=/dev/null
source docker/versions.sh

readonly OFFICIAL_NODE=node:24-trixie-slim OFFICIAL_DEBIAN=debian:trixie-slim
readonly BUILT_NODE=uwsrp/base-node:24-trixie-slim BUILT_DEBIAN=uwsrp/base-debian:trixie-slim
readonly REGISTRY_WAIT_SECONDS=20

# Sets NODE_IMAGE and DEBIAN_IMAGE. What is there already is the remembered answer of the registry.
choose_base_images() {
  if [ -n "${NODE_IMAGE:-}" ] && [ -n "${DEBIAN_IMAGE:-}" ]; then return; fi
  if [ -n "${NODE_IMAGE:-}${DEBIAN_IMAGE:-}" ]; then fail 'give both NODE_IMAGE and DEBIAN_IMAGE, or none.'; fi
  if have_images "$OFFICIAL_DEBIAN" "$OFFICIAL_NODE"; then
    use_base_images "$OFFICIAL_DEBIAN" "$OFFICIAL_NODE"
  elif have_built_images; then
    use_base_images "$BUILT_DEBIAN" "$BUILT_NODE"
  elif try_pull "$OFFICIAL_DEBIAN" && try_pull "$OFFICIAL_NODE"; then
    use_base_images "$OFFICIAL_DEBIAN" "$OFFICIAL_NODE"
  else
    say 'they cannot be pulled here: building equal ones from Debian and npm packages'
    build_debian_image
    build_node_image
    use_base_images "$BUILT_DEBIAN" "$BUILT_NODE"
  fi
}

use_base_images() {
  DEBIAN_IMAGE=$1 NODE_IMAGE=$2
}

have_images() {
  docker image inspect "$@" >/dev/null 2>&1
}

# Built by an older recipe, they are built again: the label tells.
have_built_images() {
  local format='{{index .Config.Labels "uwsrp.recipe"}}'
  [ "$(docker image inspect --format "$format" "$BUILT_DEBIAN" "$BUILT_NODE" 2>/dev/null)" = "$(recipe)"$'\n'"$(recipe)" ]
}

recipe() {
  cat docker/steps/base-images.sh docker/versions.sh docker/base-node/Dockerfile | cksum | cut -d ' ' -f 1
}

# Pulls an image; fails quickly when the registry does not answer, however long the engine would try.
try_pull() {
  local log="$STATE/pull.log" pull deadline=$((SECONDS + REGISTRY_WAIT_SECONDS))
  say "pulling $1"
  mkdir -p "$STATE"
  docker pull "$1" >"$log" 2>&1 </dev/null &
  pull=$!
  # Once the manifest is there ("Pulling from"), the download may take its time.
  until ! kill -0 "$pull" 2>/dev/null || grep -q 'Pulling from' "$log"; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      kill "$pull"
      break
    fi
    sleep 0.1
  done
  wait "$pull"
}

build_debian_image() {
  local mirror security sources=()
  require_package_tools
  mirror=$(debian_mirror) security=$(security_mirror)
  sources=("deb $mirror trixie main" "deb $mirror trixie-updates main")
  if [ -n "$security" ]; then sources+=("deb $security trixie-security main"); fi
  write_host_settings
  say "building $BUILT_DEBIAN (mmdebstrap, from $mirror)"
  debian_sources http://deb.debian.org/debian http://deb.debian.org/debian-security >"$STATE/debian.sources"
  # The slim image's own rule: documentation and translations stay out, copyright files stay in.
  printf '%s\n' 'path-exclude=/usr/share/doc/*' 'path-include=/usr/share/doc/*/copyright' \
    'path-exclude=/usr/share/man/*' 'path-exclude=/usr/share/info/*' 'path-exclude=/usr/share/locale/*' \
    'path-exclude=/usr/share/lintian/*' >"$STATE/docker-slim.cfg"
  # The last hook leaves nothing of this host in the image: its name, resolver, mirror and apt settings.
  run_logged mmdebstrap mmdebstrap --variant=minbase --format=tar --architectures="$(engine_architecture)" \
    --aptopt="$PWD/$HOST/apt.conf" --dpkgopt="$PWD/$STATE/docker-slim.cfg" \
    --customize-hook='rm -f "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/apt/sources.list
      rm -f "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap' \
    --customize-hook="upload $PWD/$STATE/debian.sources /etc/apt/sources.list.d/debian.sources" \
    --customize-hook="upload $PWD/$STATE/docker-slim.cfg /etc/dpkg/dpkg.cfg.d/docker-slim" \
    trixie "$STATE/debian.tar" "${sources[@]}"
  run_logged import docker import --change 'CMD ["bash"]' --change "LABEL uwsrp.recipe=$(recipe)" "$STATE/debian.tar" "$BUILT_DEBIAN"
  rm "$STATE/debian.tar"
}

build_node_image() {
  local context="$STATE/base-node" package
  say "building $BUILT_NODE (node and npm from npm's registry)"
  rm -rf "$context"
  mkdir -p "$context/node" "$context/npm"
  package=node-linux-$(engine_architecture | sed s/amd64/x64/)
  run_logged npm-pack npm pack --silent --pack-destination "$context" "$package@$NODE_VERSION" "npm@$NPM_VERSION"
  tar -xzf "$context/$package"-*.tgz -C "$context/node" --strip-components=1
  tar -xzf "$context"/npm-*.tgz -C "$context/npm" --strip-components=1
  rm "$context"/*.tgz
  # What the official image leaves out too: OpenSSL's headers for other machines.
  find "$context/node/include/node/openssl/archs" -mindepth 1 -maxdepth 1 \
    ! -name "linux-$(engine_architecture | sed 's/amd64/x86_64/; s/arm64/aarch64/')" -exec rm -r {} +
  chmod 755 "$context/node/bin/node"
  run_logged base-node docker build -f docker/base-node/Dockerfile --build-arg DEBIAN_IMAGE="$BUILT_DEBIAN" \
    --label uwsrp.recipe="$(recipe)" -t "$BUILT_NODE" "$context"
  rm -r "$context"
}

require_package_tools() {
  local images="$OFFICIAL_NODE and $OFFICIAL_DEBIAN cannot be pulled (see $STATE/pull.log)"
  has npm || fail "$images, and npm is not there to build equal ones." \
    'Install npm, or name images that can be had: NODE_IMAGE=... DEBIAN_IMAGE=... docker/setup.'
  if ! has mmdebstrap; then
    can_install_packages || fail "$images, and equal ones are built with mmdebstrap, which is not there." \
      "Install it ('apt-get install mmdebstrap' on Debian or Ubuntu), or give NODE_IMAGE and DEBIAN_IMAGE."
    install_packages mmdebstrap debian-archive-keyring
  fi
}

# The engine's machine, in Debian's words: amd64 or arm64.
engine_architecture() {
  docker version --format '{{.Server.Arch}}'
}
