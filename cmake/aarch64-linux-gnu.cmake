# SPDX-License-Identifier: MIT
#
# Cross-compiling for 64-bit Arm with Debian's compiler; what is built runs under
# qemu's user-mode emulation, so that NEON kernels are tested on other machines.
# Preset neon builds the kernels only and needs what `scripts/install-deps.sh neon`
# gets; preset aarch64 builds all and needs the libraries for arm64 as well
# (dpkg --add-architecture arm64; libsqlite3-dev:arm64 and so on).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu /usr)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
