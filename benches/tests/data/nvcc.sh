#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then
    echo "Cuda compilation tools, release 13.0, V13.0.88"
    exit
fi
echo "$@" | sed "s|[^ ]*/.nvcc-[^/]*|SCRATCH|g" >> "$here/calls"
made=kernels.ptx
while [ $# -gt 0 ]; do
    case $1 in
        -shared) made=library.so ;;
        -o) to=$2 ;;
    esac
    shift
done
if [ ! -f "$here/$made" ]; then
    echo "baselines.cu(20): fatal error: cublas_v2.h: No such file" >&2
    exit 1
fi
cp "$here/$made" "$to"
