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
options= sources= output=
while [ $# -gt 0 ]; do
    case "$1" in
        --npu-arch=* | -xasc) ;;
        --shared) options="$options -shared" ;;
        -o) output=$2; shift ;;
        *.cpp | *.asc) sources="$sources $1" ;;
        *) options="$options $1" ;;
    esac
    shift
done
home=$(cd "$(dirname "$0")/.." && pwd)
objects=
for source in $sources; do
    text=$output.$(basename "$source").double.cpp
    g++ $options -E "$source" -I@SIMULATOR@ -o "$text"
    sed -i -E 's/(\w+)<<<(.*), nullptr, (\w+)>>>\(/npu_double::launch("\1", \1, \2, \3, /' "$text"
    sed -i -E "${NPU_DOUBLE_EDIT:-}" "$text"
    objects="$objects $text"
done
g++ $objects $options -Wl,-rpath,"$home/lib64" -o "$output"
