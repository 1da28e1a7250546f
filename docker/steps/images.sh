# Sourced by docker/setup: the images of docker/Dockerfile.

# What the images are made of; a change of any of it builds them anew (Docker's cache then spares the rest).
readonly IMAGE_SOURCES=(src docker/Dockerfile docker/launcher docker/boot package.json package-lock.json tsconfig.json .npmrc
  LICENSE .dockerignore Procfile examples/express-websocket)

# ensure_image <name> <target>: builds uwsrp/<name> unless it is what the sources say.
ensure_image() {
  local name=$1 target=$2 built="$STATE/$1.built" version wanted
  version=$(sed -n -E 's/^  "version": "(.*)",$/\1/p' package.json)
  wanted="$(sources_digest) $(docker image inspect --format '{{.Id}}' "$NODE_IMAGE" "$DEBIAN_IMAGE" | tr '\n' ' ')"
  [ "$(cat "$built" 2>/dev/null)" = "$wanted $(image_id "uwsrp/$name")" ] && return
  write_host_settings
  say "building uwsrp/$name (log in $STATE/$name.log)"
  local tags=(-t "uwsrp/$name:latest")
  if [ "$name" = node ]; then tags+=(-t "uwsrp/node:$version" -t "uwsrp/node:$version-node24"); fi
  run_logged "$name" docker build -f docker/Dockerfile --target "$target" "${tags[@]}" \
    --build-arg NODE_IMAGE="$NODE_IMAGE" --build-arg DEBIAN_IMAGE="$DEBIAN_IMAGE" --build-arg VERSION="$version" .
  echo "$wanted $(image_id "uwsrp/$name")" >"$built"
}

image_id() {
  docker image inspect --format '{{.Id}}' "$1" 2>/dev/null || echo none
}

sources_digest() {
  local existing=() path
  for path in "${IMAGE_SOURCES[@]}"; do
    if [ -e "$path" ]; then existing+=("$path"); fi
  done
  find "${existing[@]}" -name node_modules -prune -o -type f -print | LC_ALL=C sort | tr '\n' '\0' | xargs -0 cksum | cksum
}
