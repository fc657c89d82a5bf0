#!/usr/bin/env bash
# Builds the image whose file `cargo xtask dist` makes, and starts its program as it says. Its base is made of Debian's
# packages, since not every machine reaches a registry of images. Needs root; `apt-get` installs what is missing.
#
#   tests/wheel/image.sh base     # makes the base
#   tests/wheel/image.sh DIST     # builds DIST/Containerfile on it
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
place=$root/target/image
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
buildah=(buildah --root "$place/images" --runroot "$place/run")
named=$(sed -n 's/^FROM //p' "$root/tools/xtask/Containerfile")

base() {
    if "${buildah[@]}" inspect --type image "$named" >/dev/null 2>&1; then return; fi
    local missing=() package from
    for package in buildah crun debootstrap; do
        command -v "$package" >/dev/null || missing+=("$package")
    done
    if ((${#missing[@]} > 0)); then
        local apt=(apt-get --quiet --yes --no-install-recommends install "${missing[@]}")
        "${apt[@]}" >/dev/null 2>&1 || { apt-get --quiet update && "${apt[@]}"; } ||
            { echo "${missing[*]}: not there, and apt-get does not install them (it needs root)" >&2; exit 2; }
    fi
    # The mirror that this machine's packages come from. 13 is trixie.
    from=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' | sed -n '/debian\/$/p' | sort -u | sed -n 1p)
    rm -rf "$place"
    mkdir -p "$place"
    debootstrap --variant=minbase trixie "$place/base" "${from:-http://deb.debian.org/debian}" >"$place/base.log" ||
        { cat "$place/base.log" >&2; exit 1; }
    local container
    container=$("${buildah[@]}" from scratch)
    "${buildah[@]}" add --quiet "$container" "$place/base" / >/dev/null
    "${buildah[@]}" commit --quiet --rm "$container" "$named" >/dev/null
    rm -rf "$place/base"
}

# The program of the image, as the user of the image.
inside() {
    "${buildah[@]}" run "$container" -- "$@"
}

base
if [[ ${1:?base, or a folder with a Containerfile} == base ]]; then exit; fi
"${buildah[@]}" bud --quiet --pull-never --tag nagare "$1" >/dev/null
container=$("${buildah[@]}" from --pull-never nagare)
trap '"${buildah[@]}" rm "$container" >/dev/null' EXIT
words='{{range .OCIv1.Config.Entrypoint}}{{.}} {{end}}{{range .OCIv1.Config.Cmd}}{{.}} {{end}}'
read -ra command <<<"$("${buildah[@]}" inspect --format "$words" "$container")"
[[ ${command[*]} == 'nagare up --sample' && $(inside id --user --name) == nagare ]]
# A run of a container is over when its command is: the stack is told to go on in the background.
inside sh -c '"$@" --detach --port 0 >/dev/null && nagare timeline viewer-01 --limit 1 && nagare down' sh "${command[@]}"
