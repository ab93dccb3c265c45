// Peer access with one device: calls that are refused, and peer copies within that device.
#include "check.cuh"

int main() {
    int count, can = -1;
    CHECK(cudaGetDeviceCount(&count));
    SHOW(cudaDeviceCanAccessPeer(&can, 0, 0));
    HOLDS(can == 0);
    SHOW(cudaDeviceCanAccessPeer(&can, 0, count));
    SHOW(cudaDeviceCanAccessPeer(&can, -1, 0));
    SHOW(cudaDeviceEnablePeerAccess(0, 0));
    SHOW(cudaDeviceEnablePeerAccess(count, 0));
    SHOW(cudaDeviceDisablePeerAccess(0));
    int value = -1;
    SHOW(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    SHOW(cudaGetLastError());
    int from[4] = {1, 2, 3, 4}, to[4] = {}, *a, *b;
    CHECK(cudaMalloc(&a, sizeof(from)));
    CHECK(cudaMalloc(&b, sizeof(from)));
    CHECK(cudaMemcpy(a, from, sizeof(from), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyPeer(b, 0, a, 0, sizeof(from)));
    CHECK(cudaMemcpy(to, b, sizeof(to), cudaMemcpyDeviceToHost));
    std::printf("%d %d %d %d\n", to[0], to[1], to[2], to[3]);
    CHECK(cudaMemcpyPeerAsync(a + 1, 0, b, 0, 3 * sizeof(int), 0));
    CHECK(cudaMemcpy(to, a, sizeof(to), cudaMemcpyDeviceToHost));
    std::printf("%d %d %d %d\n", to[0], to[1], to[2], to[3]);
    SHOW(cudaMemcpyPeer(b, count, a, 0, sizeof(from)));
    SHOW(cudaGetLastError());
    SHOW(cudaFree(a));
    SHOW(cudaFree(b));
    return 0;
}
