# Sourced by bin/compile: the complete tree of the last build, kept with a key of all that it was made of.

restore_from_cache() {
  [ "$(cat "$CACHE_DIR/uwsrp/key" 2>/dev/null)" = "$(cache_key)" ] || return
  cp -R "$CACHE_DIR/uwsrp/tree/." "$TREE" 2>/dev/null && check_tree && return
  rm -rf "$TREE"
  mkdir "$TREE"
  return 1
}

# A cache that cannot be written costs the next build its time, and this one nothing. The key comes last: a half-written
# tree has none. A tree without bytecode is not kept: the next build tries again.
save_to_cache() {
  [ -f "$TREE/lib/uwsrp.cache" ] || return 0
  { rm -rf "$CACHE_DIR/uwsrp" && mkdir -p "$CACHE_DIR/uwsrp" && cp -R "$TREE" "$CACHE_DIR/uwsrp/tree" &&
    cache_key >"$CACHE_DIR/uwsrp/key"; } 2>/dev/null || line 'The cache folder cannot be written: the next build starts anew'
}

cache_key() {
  local sources=(bin docker/boot docker/launcher docker/versions.sh package.json package-lock.json tsconfig.json .npmrc
    LICENSE src)
  echo "$(version) $ARCHITECTURE $(cd "$BUILDPACK" &&
    find "${sources[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)"
}

# The Node starts, the code is whole, and the addon loads: a restored tree is held to the same as a new one.
check_tree() {
  [ -x "$TREE/path/uwsrp" ] && [ -f "$TREE/licenses/node" ] &&
    [ "$(env -i "$TREE/path/uwsrp" --version 2>/dev/null)" = "$(version)" ] &&
    env -i "$TREE/bin/node" -e 'require(process.argv[1])' "$TREE/lib/node_modules/uWebSockets.js" >/dev/null 2>&1
}
