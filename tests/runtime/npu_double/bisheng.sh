#!/bin/sh
# A test double of the device compiler: notes its command line, and makes of `kernel<<<blocks, nullptr, stream>>>(...)`
# a call that g++ understands. The options of the device mean nothing to the host. NPU_DOUBLE_EDIT, an expression of sed,
# makes the device wrong.
set -e
echo "$@" >> "$(dirname "$0")/bisheng.log"
if [ "$1" = --version ]; then
    echo "double of bisheng"
    exit
fi
options= flags= sources= output= link=yes
while [ $# -gt 0 ]; do
    case "$1" in
        --npu-arch=* | -xasc) ;;
        --shared) options="$options -shared" ;;
        -o) output=$2; shift ;;
        -c) link=no ;;
        *.cpp | *.asc) sources="$sources $1" ;;
        -[fgO]* | -std=*) options="$options $1" flags="$flags $1" ;;
        *) options="$options $1" ;;
    esac
    shift
done
home=$(cd "$(dirname "$0")/.." && pwd)
objects=
for source in $sources; do
    text=$output.$(basename "$source").double.cpp
    # What is left names no folders, so that what the compiler of the tests made of it once is found again.
    g++ $options -E -P "$source" -I@SIMULATOR@ -o "$text"
    sed -i -E 's/(\w+)<<<(.*), nullptr, (\w+)>>>\(/npu_double::launch("\1", \1, \2, \3, /' "$text"
    sed -i -E "${NPU_DOUBLE_EDIT:-}" "$text"
    ${TILE_CXX:-g++} $flags -c "$text" -o "$text.o"
    objects="$objects $text.o"
done
if [ $link = no ]; then
    mv $objects "$output"
    exit
fi
g++ $objects $options -Wl,-rpath,"$home/lib64" -o "$output"
