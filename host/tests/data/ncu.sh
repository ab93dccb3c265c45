#!/bin/sh
# A fake Nsight Compute for tests. It prints a table in the form of `--csv --page raw`, with a made-up number for each
# requested metric of each requested kernel. It runs nothing.
if [ "$1" = --version ]; then
    echo "Version 2025.3.1.0 (build 0) (a stand-in)"
    exit 0
fi
while [ $# -gt 0 ]; do
    case $1 in
    --metrics) metrics=$2 ;;
    --kernel-name) kernels=$2 ;;
    esac
    shift
done
echo "==PROF== Connected to process 1 (ladder)"
echo "$kernels" | awk -v metrics="$metrics" '{
    gsub(/^regex:\^\(|\)\$$/, "")
    kernels = split($0, kernel, "|")
    count = split(metrics, metric, ",")
    printf "\"ID\",\"Kernel Name\""
    for (m = 1; m <= count; m++) printf ",\"%s\"", metric[m]
    printf "\n\"\",\"\""
    for (m = 1; m <= count; m++) printf ",\"\""
    printf "\n"
    for (k = 1; k <= kernels; k++) {
        printf "\"%d\",\"%s\"", k - 1, kernel[k]
        for (m = 1; m <= count; m++) {
            if (metric[m] ~ /branch_targets/) value = 0
            else if (metric[m] ~ /pct/) value = 20 * k
            else value = sprintf("1,%03d", k)
            printf ",\"%s\"", value
        }
        printf "\n"
    }
}'
