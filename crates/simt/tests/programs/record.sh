#!/bin/sh
# Runs the programs beside this script on this machine's GPU, compiled for it, and writes what they compute to results.txt.
# They run three times; the results must agree. NVCC and ARCH (sm_90) can be set; the first argument is another folder for
# what is written.
set -eu
cd "$(dirname "$0")"
to=${1:-.}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The driver's library itself may not be where the linker looks; the toolkit has a stub of it.
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
"$nvcc" -O1 -o "$work/record" record.cpp -L"$toolkit/lib64/stubs" -L"$toolkit/targets/x86_64-linux/lib/stubs" -lcuda
files=
for file in *.cu; do
    "$nvcc" -cubin -arch="${ARCH:-sm_90}" -o "$work/${file%.cu}.cubin" "$file"
    files="$files $file $work/${file%.cu}.cubin"
done
for time in 1 2 3; do
    # shellcheck disable=SC2086
    "$work/record" "$work/results$time.txt" $files >"$work/log" || {
        echo "run $time ended in kernel $(tail -n 1 "$work/log")" >&2
        exit 1
    }
    diff "$work/results1.txt" "$work/results$time.txt" || {
        echo "run $time differs from the first" >&2
        exit 1
    }
done
cp "$work/results1.txt" "$to/results.txt"
echo "$(grep -vc '^#' "$to/results.txt") kernels; three runs agree"
