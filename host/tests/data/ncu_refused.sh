#!/bin/sh
# A fake Nsight Compute for tests, on a machine whose driver allows only administrators to read the counters.
echo "==PROF== Connected to process 1 (ladder)"
echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
exit 1
