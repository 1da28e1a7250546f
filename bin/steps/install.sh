# Sourced by bin/compile: makes the tree. What serves only to make it lies beside, in $WORK.

# Bundling takes one second, and so does the first boot.
readonly SCRIPT_SECONDS=60

install_node() {
  line "Installing Node $NODE_VERSION for uwsrp itself (linux-$ARCHITECTURE)"
  mkdir "$TREE/bin" "$TREE/licenses" "$WORK/npm"
  download "node-linux-$ARCHITECTURE" "$NODE_VERSION" "$NODE_INTEGRITY"
  tar -xzf "$WORK/node-linux-$ARCHITECTURE.tgz" -C "$WORK" --no-same-owner package/bin/node package/LICENSE
  mv "$WORK/package/bin/node" "$TREE/bin/node"
  mv "$WORK/package/LICENSE" "$TREE/licenses/node"
  chmod 755 "$TREE/bin/node"
  download npm "$NPM_VERSION" "$NPM_INTEGRITY"
  tar -xzf "$WORK/npm.tgz" -C "$WORK/npm" --no-same-owner --strip-components=1
}

# What the compiled code needs at run time, with the one addon for this machine and this Node.
install_packages() {
  line 'Installing its packages (npm ci)'
  mkdir "$TREE/lib"
  cp "$BUILDPACK/package.json" "$BUILDPACK/package-lock.json" "$BUILDPACK/.npmrc" "$TREE/lib"
  npm_in "$TREE/lib" ci --omit=dev
  local addon module="$TREE/lib/node_modules/uWebSockets.js"
  addon=uws_linux_$("$TREE/bin/node" -p 'process.arch + "_" + process.versions.modules').node
  find "$module" -mindepth 1 -maxdepth 1 ! -name package.json ! -name LICENSE ! -name uws.js ! -name ESM_wrapper.mjs \
    ! -name index.d.ts ! -name "$addon" -exec rm -r {} +
  cp "$module/LICENSE" "$TREE/licenses/uWebSockets.js"
}

# Compiler, bundler and types, in the versions of the lock file; tests and linters are not installed. They lie above the
# code, where it finds them.
compile_source() {
  line 'Compiling it (tsc)'
  local lib=$TREE/lib
  cp "$BUILDPACK/package-lock.json" "$BUILDPACK/.npmrc" "$WORK"
  # shellcheck disable=SC2016 # JavaScript
  env -i "$TREE/bin/node" -e '
    const fs = require("fs");
    const { devDependencies } = JSON.parse(fs.readFileSync(process.argv[1], "utf8"));
    const wanted = Object.entries(devDependencies).filter(([name]) =>
      name === "typescript" || name === "esbuild" || name.startsWith("@types/"));
    fs.writeFileSync(process.argv[2], JSON.stringify({ devDependencies: Object.fromEntries(wanted) }));
  ' "$BUILDPACK/package.json" "$WORK/package.json"
  npm_in "$WORK" install --no-save
  cp -R "$BUILDPACK/src" "$BUILDPACK/tsconfig.json" "$lib"
  run_logged 'uwsrp could not be compiled.' with_network "$WORK/node_modules/.bin/tsc" -p "$lib" --declaration false
  rm -r "$lib/src" "$lib/tsconfig.json" "$lib/package-lock.json" "$lib/.npmrc"
}

# The same two steps as in the Dockerfile: all code in one file, which spares a dyno looking for 150.
bundle_code() {
  line 'Making one file of it (esbuild)'
  cp "$BUILDPACK/docker/boot/bundle.mjs" "$WORK"
  cp "$BUILDPACK/docker/boot/start.cjs" "$TREE/lib"
  run_logged 'uwsrp could not be bundled.' node_in_lib "$WORK/bundle.mjs"
}

# And V8's bytecode of that, from a first boot. It is only speed: a boot that hangs or fails here is no reason to end a
# build. The limit goes by way of SIGTERM, at which uwsrp stops its command too.
make_bytecode() {
  node_in_lib "$BUILDPACK/docker/boot/warm.cjs" >"$LOG" 2>&1 </dev/null && return
  rm -f "$TREE/lib/uwsrp.cache"
  line 'No bytecode could be made of it: it works as ever, and dynos start a little slower'
}

# node_in_lib <script>: runs it with our Node, in the folder of the code.
node_in_lib() (
  cd "$TREE/lib" && with_network timeout --kill-after=10 "$SCRIPT_SECONDS" node "$1"
)

add_launcher() {
  cp "$BUILDPACK/docker/launcher" "$TREE/bin/uwsrp"
  cp "$BUILDPACK/LICENSE" "$TREE/licenses/uwsrp"
  mkdir "$TREE/path"
  ln -s ../bin/uwsrp "$TREE/path/uwsrp"
  # A dyno's user owns nothing of this.
  chmod -R u=rwX,go=rX "$TREE"
  chmod 755 "$TREE/bin/uwsrp"
}

# npm_in <folder> <arguments...>. Install scripts are the part of a package that could do harm, and none is needed.
npm_in() {
  local folder=$1
  shift
  run_logged "npm could not install uwsrp's packages from $REGISTRY." with_network \
    "$TREE/bin/node" "$WORK/npm/bin/npm-cli.js" --prefix "$folder" --cache "$WORK/npm-cache" \
    --ignore-scripts --no-audit --no-fund "$@"
}
