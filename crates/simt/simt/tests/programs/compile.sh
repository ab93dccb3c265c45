#!/bin/sh
# Compiles the programs in this folder to the PTX that the test runs, each for the architecture that it names.
# usage: compile.sh [NVCC]
set -eu
nvcc=${1:-nvcc}
cd "$(dirname "$0")"
for file in *.cu; do
    arch=$(sed -n 's|^// arch: ||p' "$file")
    "$nvcc" -ptx -arch="$arch" -o "${file%.cu}.ptx" "$file"
    # Remove the compiler's banner and the blank lines.
    sed -i -e '/^\/\//d' -e '/^$/d' -e 's/[ \t]*$//' "${file%.cu}.ptx"
done
