#!/bin/sh
# Compiles the programs beside this script to the PTX that the test runs, for the architecture that each names.
# usage: compile.sh [NVCC]
set -eu
nvcc=${1:-nvcc}
cd "$(dirname "$0")"
for file in *.cu; do
    arch=$(sed -n 's|^// arch: ||p' "$file")
    "$nvcc" -ptx -arch="$arch" -o "${file%.cu}.ptx" "$file"
    # Without the compiler's banner and the blank lines.
    sed -i -e '/^\/\//d' -e '/^$/d' -e 's/[ \t]*$//' "${file%.cu}.ptx"
done
