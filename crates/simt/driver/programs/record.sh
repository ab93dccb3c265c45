#!/usr/bin/env bash
# Compiles each program here with nvcc, runs it with the driver of this machine, and compares its output with NAME.out.
# Prints a line per program, and a diff where the output differs. With --write, writes NAME.out instead.
# NVCC is the compiler [nvcc], OPTIONS the compilation options [-arch=compute_80 -code=compute_80].
set -u
cd "$(dirname "$0")"
export NVCC=${NVCC:-nvcc} OPTIONS=${OPTIONS:--arch=compute_80 -code=compute_80}
folder=$(mktemp -d)
export folder
trap 'rm -rf "$folder"' EXIT

compile() {
    options=$(sed -n 's|^// nvcc: ||p' "$1.cu")
    # shellcheck disable=SC2086
    "$NVCC" ${options:-$OPTIONS} -I. -o "$folder/$1" "$1.cu" >"$folder/$1.log" 2>&1
}
export -f compile
names=$(basename -s .out -- *.out)
printf '%s\n' $names | xargs -P "$(nproc)" -I NAME bash -c 'compile NAME'

failed=0
for name in $names; do
    if [ ! -x "$folder/$name" ]; then
        echo "$name: does not compile"
        cat "$folder/$name.log"
        failed=1
        continue
    fi
    timeout 60 "$folder/$name" >"$folder/$name.stdout" 2>"$folder/$name.stderr"
    code=$?
    if [ "${1:-}" = --write ] && [ $code = 0 ]; then
        cp "$folder/$name.stdout" "$name.out"
    fi
    if [ $code = 0 ] && cmp -s "$name.out" "$folder/$name.stdout"; then
        echo "$name: right"
    else
        echo "$name: exit code $code"
        diff "$name.out" "$folder/$name.stdout"
        head -n 5 "$folder/$name.stderr"
        failed=1
    fi
done
exit $failed
