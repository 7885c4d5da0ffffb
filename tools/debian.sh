#!/usr/bin/env bash
# The Debian packages that the tests use, installed when they are missing and this user may. Tests of a program that
# cannot be had are skipped and say so.
set -euo pipefail

packages=(chromium-headless-shell fonts-noto-cjk haproxy redis-server)

command -v dpkg-query >/dev/null || { echo "   not Debian: the tests that need ${packages[*]} may be skipped"; exit 0; }
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "   missing: ${missing[*]}; their tests will be skipped (sudo apt-get install ${missing[*]})"
    exit 0
fi
echo "   apt-get install ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}" >/dev/null 2>&1; }
install || { apt-get update --quiet=2 >/dev/null 2>&1 && install; } ||
    echo "   could not be installed; their tests will be skipped"
