#!/bin/sh
# Runs the programs in this folder on this machine's GPU, and writes their results to results.txt.
# They run three times; the results must agree. A kernel that fails or does not end is named and left out, and the script
# then exits with 1.
# usage: record.sh [FOLDER]   FOLDER is where results.txt is written, this folder by default.
# NVCC (the compiler) and ARCH can be set: the GPU's target, sm_90 by default, for programs that name none with an `a`.
set -eu
to=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The driver's library itself may not be where the linker looks; the toolkit has a stub of it.
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
"$nvcc" -O1 -o "$work/record" record.cpp -L"$toolkit/lib64/stubs" -L"$toolkit/targets/x86_64-linux/lib/stubs" -lcuda
files=
for file in *.cu; do
    arch=$(sed -n 's|^// arch: compute_\([0-9]*a\)$|sm_\1|p' "$file")
    "$nvcc" -cubin -arch="${arch:-${ARCH:-sm_90}}" -o "$work/${file%.cu}.cubin" "$file"
    files="$files $file $work/${file%.cu}.cubin"
done
left_out=' '
for time in 1 2 3; do
    # shellcheck disable=SC2086
    until LEAVE_OUT=$left_out "$work/record" "$work/results$time.txt" $files >"$work/log"; do
        failed=$(tail -n 1 "$work/log")
        case "$failed" in
        '') exit 1 ;;
        esac
        left_out="$left_out$failed "
    done
    grep -v -e '^#' "$work/results$time.txt" | while read -r name result; do
        grep -q -x -F "$name $result" "$work/results1.txt" || echo "$name: run $time gives $result"
    done >>"$work/different"
done
cp "$work/results1.txt" "$to/results.txt"
cat "$work/different"
echo "$(grep -vc '^#' "$to/results.txt") kernels recorded; left out:$left_out"
test "$left_out" = ' ' && test ! -s "$work/different"
