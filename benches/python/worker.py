"""Runs PyTorch's functions for `lab versus`, as a process that answers requests.

Standard input has a request per line, and standard output an answer per line, both in JSON. The first answer has the
versions. A request has the name of a `function`, the `options` of a ladder's problem, and a `step`:

- `prepare` generates the data. The answer is `{}`, or `{"refused": REASON}` if the function does not compute the problem.
- `check` compares the result with one in higher precision.
- `time` runs the function once and answers with `time_ns`, by the clock of the device.

A step that fails answers `{"error": REASON}`.
"""

import functools
import json
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import rms_norm, scaled_dot_product_attention

    torch.zeros(1, device="cuda")
except Exception as error:  # PyTorch is missing, or PyTorch finds no GPU.
    print(json.dumps({"error": f"{sys.executable}: {error}"}), flush=True)
    sys.exit()

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
RANDOM = {"normal": torch.randn, "random": torch.randn, "uniform": lambda *shape, **kinds: torch.rand(*shape, **kinds) * 2 - 1}
# The maximum relative error of a result: twice the rounding error of bf16, which is the coarsest type.
TOLERANCE = 2.0**-7


class Refused(Exception):
    """The function does not compute this problem."""


@functools.lru_cache(maxsize=1)
def inputs(shapes, element, data):
    """Tensors of these shapes, in enough sets to exceed four times the L2 cache, and at most 64."""
    if data not in RANDOM:
        raise Refused(f"only random data are compared with it, not --data {data}")
    make = lambda: [RANDOM[data](*shape, device="cuda", dtype=TYPES[element]) for shape in shapes]
    sets = [make()]
    size = sum(tensor.nbytes for tensor in sets[0])
    while len(sets) < 64 and size * len(sets) < 4 * torch.cuda.get_device_properties(0).L2_cache_size:
        sets.append(make())
    return sets


def attention(backend, options):
    # The default of an option can be the name of another option.
    size = lambda name: int(options.get(options[name], options[name]))
    batch, heads, kv_heads, queries, keys, d = map(size, ("batch", "heads", "kv-heads", "queries", "keys", "d"))
    causal = options["causal"] == "yes"
    if causal and queries != keys:
        raise Refused("it aligns the causal mask at the top left")
    shapes = ((batch, heads, queries, d), (batch, kv_heads, keys, d), (batch, kv_heads, keys, d))

    def run(q, k, v):
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)

    def reference(q, k, v):
        # The last head. Its scores alone can be a gigabyte.
        q, k, v = (tensor[-1, -1].float() for tensor in (q, k, v))
        scores = q @ k.T / d**0.5
        if causal:
            scores += torch.full_like(scores, -torch.inf).triu(1)
        return torch.softmax(scores, -1) @ v

    return inputs(shapes, options["type"], options["data"]), run, lambda result: result[-1, -1], reference


def rows(options):
    m, n = int(options["m"]), int(options["n"])
    run = {
        "softmax": lambda x: torch.softmax(x, -1),
        "rmsnorm": lambda x: rms_norm(x, (n,), eps=1e-6),
    }[options["op"]]
    some = lambda x: x[-64:]
    return inputs(((m, n),), options["type"], options["data"]), run, some, lambda x: run(some(x).double())


FUNCTIONS = {
    "attention by cuDNN": functools.partial(attention, SDPBackend.CUDNN_ATTENTION),
    "attention by FlashAttention-2": functools.partial(attention, SDPBackend.FLASH_ATTENTION),
    "rows": rows,
}


def answer(request, turn):
    """The answer to a request. `turn` counts the requests, and chooses the set of inputs."""
    sets, run, part, reference = FUNCTIONS[request["function"]](request["options"])
    tensors = sets[turn % len(sets)]
    if request["step"] == "prepare":
        return {}
    if request["step"] == "check":
        expected = reference(*tensors)
        error = ((part(run(*tensors)) - expected).norm() / expected.norm()).item()
        return {} if error <= TOLERANCE else {"error": f"its relative error is {error}"}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    # The device is busy until the host has enqueued the function, so that the time does not include the host's.
    torch.cuda._sleep(1_000_000)
    begin.record()
    run(*tensors)
    end.record()
    end.synchronize()
    return {"time_ns": begin.elapsed_time(end) * 1e6}


cudnn = torch.backends.cudnn.version()
print(json.dumps({"versions": f"PyTorch {torch.__version__}, cuDNN {cudnn}"}), flush=True)
for turn, line in enumerate(sys.stdin):
    try:
        reply = answer(json.loads(line), turn)
    except Refused as why:
        reply = {"refused": str(why)}
    except Exception as error:
        reply = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
    print(json.dumps(reply), flush=True)
