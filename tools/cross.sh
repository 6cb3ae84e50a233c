#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cross.sh DIR - builds for aarch64 with Debian's cross compiler in DIR, looks whether its kernels are vectors,
# and runs the unit tests (kernels among them) and, where ../shared/stablehlo is there, the StableHLO cases under qemu-user.
#
# What the tests and the runner of cases link for arm64 is unpacked into DIR/root: the system's list of architectures stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$1
cases=${CASES:-../shared/stablehlo}
tools/setup.sh packages cross
mkdir -p "$dir"
root=$(realpath "$dir")/root
packages=(libcmocka-dev libcmocka0 libcjson-dev libcjson1 libzip-dev libzip4 zlib1g libbz2-1.0 libssl3)
if [ ! -e "$root/usr/include/cmocka.h" ] || [ ! -e "$root/usr/include/zip.h" ]; then
    rm -rf "$dir/build.ninja" "$dir/meson-private" # which may know of fewer libraries
    mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/debs"
    apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State::lists="$root/apt/lists"
        -o Dir::Cache="$root/apt/cache" -o Dir::State::status=/dev/null -o APT::Sandbox::User="$(id -un)")
    "${apt[@]}" update
    (cd "$root/debs" && "${apt[@]}" download "${packages[@]}")
    for deb in "$root"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
fi
lib=$root/usr/lib/aarch64-linux-gnu
run=(qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$lib:$root/lib/aarch64-linux-gnu")
compiler="'aarch64-linux-gnu-gcc'"
if command -v ccache >/dev/null; then compiler="'ccache', $compiler"; fi
cat > "$dir/aarch64.ini" <<END
[binaries]
c = [$compiler]
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
pkg-config = 'pkg-config'
exe_wrapper = [$(printf "'%s', " "${run[@]}")]
[properties]
sys_root = '$root'
pkg_config_libdir = '$lib/pkgconfig'
[built-in options]
c_link_args = ['-Wl,-rpath-link,$lib:$root/lib/aarch64-linux-gnu']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
[ -e "$dir/build.ninja" ] || tools/quiet.sh meson setup "$dir" --cross-file "$dir/aarch64.ini"
ninja -C "$dir" --quiet
python3 tools/check_kernels.py "$dir"
meson test -C "$dir" --no-rebuild --suite unit --timeout-multiplier 10 --print-errorlogs
if [ -d "$cases" ]; then
    python3 tools/cases.py test/stablehlo/fails.txt "${run[@]}" "$dir/host/tenon-cases" "$dir/libtenon_pjrt.so" "$cases"
fi
