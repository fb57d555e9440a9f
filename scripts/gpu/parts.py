# SPDX-License-Identifier: MIT
"""The parts of scripts/gpu/session.py: the steps of each, and what is to be read of what they printed."""
import json
import pathlib
import re
import shutil
import statistics
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
# Of a step: the one GPU that it sees, its number among the session's, and how long it may take.
DEVICE, NUMBER, SECONDS = "cuda:0", "@NUMBER@", "@SECONDS@"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
FOUND = 9  # compute-sanitizer's status where it found something
WRONG = 4  # gpu_candidates'

# As test_rt_bits_gpu.c has them.
BITS = ["q4k_matmul f16", "q4k_matmul q8", "q80_matmul f16", "q80_matmul q8", "q6k_matmul f16", "q6k_matmul q8",
        "mxfp4_matmul f16", "q4k_matvec q8", "bf16_matmul f32", "matmul_f32 f32", "matmul_f16 f16", "matmul_bf16 f16"]
PRICES = {"q4k_matmul f16": "1,8,16,32,64,128,512x4096x4096 1,32,512x14336x4096 512x4096x14336", "q80_matmul f16": "1,32,512x4096x4096",
          "q6k_matmul f16": "32,512x4096x4096", "q4k_matmul q8": "1,8,32,128,512x4096x4096",
          "matmul_f16 f16": "1,16,64,512,2048x4096x4096", "matmul_bf16 f16": "1,512x4096x4096"}
TABLE = {"q4k_matmul f16": "64x18432x7168 16,32,64,128,512x5120x5120 2048x4096x4096 512x8192x8192 512x14336x4096 512x4096x14336",
         "mxfp4_matmul f16": "32x5120x5120", "q80_matmul f16": "64,128,512,2048x5120x5120", "matmul_bf16 f16": "4096x14336x4096",
         "softmax f32": "4096x151936 64x128256 1x151936 64x262144", "rmsnorm f32": "64x100000", "q6k_matvec q8": "1x152064x5120",
         "mxfp4_matvec q8": "1x14336x5120", "iq4xs_matvec q8": "1x14336x5120", "q4k_matmul q8": "512x14336x4096",
         "q6k_matmul q8": "512x4096x14336"}
CHAIN = {"q4k_get_rows f32": "512x128256x4096", "q6k_get_rows f32": "1x128256x4096", "topk f32": "1x151936x40 64x128256x40",
         "route_f32 f32": "1x128x8 512x128x8", "rmsnorm f32": "1x4096,add 512x4096,add", "elementwise_silu_mul_f32 f32": "512x14336",
         "elementwise_gelu_mul_f32 f32": "512x14336", "rope_append_f16 f16": "1x2048x128,h32/8 512x2048x128,h32/8 1x2048x128,h32/8,qknorm6",
         "q4k_matmul f16": "512x4096x14336,add", "q4k_matvec q8": "1x4096x14336,add,xbf16",
         "q4k_rmsnorm_matvec q8": "1x6144x4096", "q4k_rmsnorm_swiglu_matvec q8": "1x14336x4096,ybf16",
         "short_conv_decode_f32 f32": "1x8192x4,h1/1", "delta_decode_f32 f32": "1x128x128,h32/16 1x128x128,h32/16,b8",
         "delta_prefill_f32 f32": "512x128x128,h32/16 2048x128x128,h32/16", "ssd_decode_f32 f32": "1x64x128,h64/1",
         "ssd_prefill_f32 f32": "512x64x128,h64/1", "f32_matmul f32": "1x128x2048 512x128x2048", "bf16_matmul f32": "16,512x4096x4096"}
# Calls of a token of the engine's (examples/engine): products with a norm, q, k and v joined, residuals added.
ENGINE = {"q4k_rmsnorm_matvec q8": "1x6144x4096 1x5120x4096", "q6k_rmsnorm_matvec q8": "1x1024x4096 1x128256x4096",
          "q4k_rmsnorm_swiglu_matvec q8": "1x14336x4096,ybf16", "q4k_matvec q8": "1x4096x4096,add 1x4096x14336,add,xbf16",
          "q6k_matvec q8": "1x4096x14336,add,xbf16", "attention_decode_f16 f16": "1x256x128,h32/8"}
DECODE = ["1x16384x128,h32/8", "1x16384x64,h32/8", "1x16384x80,h32/8", "1x16384x96,h32/8", "1x16384x192,h32/8,v128",
          "1x16384x256,h32/8", "1x16384x512,h32/8", "1x16384x64,h64/8,sinks", "1x16384x64,h64/8,w128,causal,sinks"]
LATENT = ["1x16384x576,h16/1,v512,vk", "1x16384x576,h128/1,v512,vk"]
PREFILL = [f"2048x2048x{head},h32/8,causal" for head in ("64", "80", "96", "128", "192", "256")] + [
    "2048x2048x192,h32/8,v128,causal", "2048x2048x128,h32/8", "2048x2048x64,h64/8,w128,causal,sinks"]


class Step(typing.NamedTuple):
    """A command of a part; those of one stage follow those of the stage before."""
    name: str
    words: list
    seconds: int
    stage: int = 0
    is_timed: bool = True
    environment: dict = {}
    files: dict = {}  # {path: text} that it reads
    is_wide: bool = False  # sees all devices


def shapes_of(text):
    """ "1,8x4096x4096 64x512" as shapes of one M each."""
    for group in text.split():
        rows, _, rest = group.partition("x")
        yield from (f"{m}x{rest}" for m in rows.split(","))


def problems_of(table):
    return [f"{op} {shape}" for op, text in table.items() for shape in shapes_of(text)]


def words_of(problem):
    op, contract, shape = problem.split()
    return ["--op", op, "--contract", contract, "--shape", shape]


def name_of(problem):
    return re.sub(r"[^a-zA-Z0-9.]+", "-", problem)


def everywhere(args, folder, name, problems, seconds, *more):
    """A step that goes on until all PROBLEMS were swept and benched; PROBLEMS None: those that are drawn."""
    words = [args.python, SCRIPTS / "defaults-everywhere.py", args.bundle / "tcbtune", folder / name, "--device", args.device,
             "--seconds", SECONDS, *more]
    if not problems:
        return Step(name, words, seconds, is_wide=True)
    listed = folder / f"{name}.problems"
    return Step(name, [*words, "--problems", listed], seconds, files={listed: "\n".join(problems) + "\n"}, is_wide=True)


def peer(args, script, *words, stage=1, name=None):
    return Step(name or pathlib.Path(script).stem, [args.python, SCRIPTS / "peers" / script, *words], 240, stage)


# --- the parts ---

def prepare_steps(args, folder):
    """Without a GPU: kernels drawn; once there is the list, each compiled."""
    tcbtune, count, found = args.bundle / "tcbtune", args.count or 200, folder / "list.txt"
    steps = [Step("list", [args.python, SCRIPTS / "random-kernels.py", tcbtune, folder, "--op", "^attention", "--target", "sm_90",
                           "--count", count, "--seed", args.seed, "--list"], 1200, 0, False)]
    lines = found.read_text(encoding="utf-8").splitlines() if found.exists() else []
    for i, line in enumerate(lines):
        one, kernels = folder / f"{i:03}.line", folder / f"{i:03}.kernels"
        steps.append(Step(f"pack-{i:03}", [args.bundle / "gpu_candidates", "pack", kernels, "--list", one, "--device", "sm_90"],
                          120, 1, False, files={one: line + "\n"}))
    return steps


def sanitizer():
    places = [pathlib.Path("/usr/local/cuda/bin"), *sorted(pathlib.Path("/usr/local").glob("cuda-*/bin"))]
    return shutil.which("compute-sanitizer") or next((path / "compute-sanitizer" for path in places
                                                      if (path / "compute-sanitizer").exists()), "compute-sanitizer")


def sanitize_steps(args, folder):
    files, steps = sorted((folder.parent / "prepare").glob("*.kernels")), []
    run = lambda path: [args.bundle / "gpu_candidates", "run", path]
    for stage, tool in enumerate(("plain", *TOOLS)):
        under = [] if tool == "plain" else [sanitizer(), "--tool", tool, "--target-processes", "application-only",
                                            "--error-exitcode", FOUND]
        steps += [Step(f"{tool}-{path.stem}", [*under, *run(path)], 30 if tool == "plain" else 90, stage, False) for path in files]
    return steps


def bits_steps(args, _folder):
    program = args.bundle / "test_rt_rt_bits_gpu"
    return [Step(name_of(subject), [program, args.count or 50, 2, 512, 600, 2048, SECONDS, args.seed, *subject.split()], 280, 0,
                 False) for subject in BITS]


def price_steps(args, folder):
    return [Step(name_of(problem), [SCRIPTS / "gpu/price.sh", args.bundle / "tcbtune", *problem.split(), DEVICE,
                                    folder / f"tuning-{NUMBER}.db", folder / f"{name_of(problem)}.json"], 90)
            for problem in problems_of(PRICES)]


def random_steps(args, folder):
    return [everywhere(args, folder, "judged", None, 3600, "--seed", args.seed, "--count", args.count or 60, "--sweep", "20s",
                       "--bench", "3s")]


def table_steps(args, folder):
    products = list(dict.fromkeys(shape for op, text in TABLE.items() if "_matmul" in op for shape in shapes_of(text)))
    rows = [f"{op.split()[0]},{shape}" for op, text in TABLE.items() if "f32" in op for shape in shapes_of(text)]
    dense = [f"{shape},nn" for shape in shapes_of(TABLE["matmul_bf16 f16"])]
    return [everywhere(args, folder, "ours", problems_of(TABLE), 3600, "--sweep", "8s", "--bench", "2s"),
            peer(args, "matmul_torch.py", *products), peer(args, "matmul_torch.py", "--type", "bf16", *dense, name="matmul_bf16"),
            peer(args, "matmul_humming.py", *products), peer(args, "rows_torch.py", *rows),
            peer(args, "matmul_humming.py", "--invariant", *products, name="matmul_humming_invariant")]


def engine_steps(args, folder):
    model, db, tcbtune = folder / "8b.gguf", folder / "tuning.db", args.bundle / "tcbtune"
    token = [args.bundle / "example_engine", model, "--prompt", "1,2,3", "--generate", "200", "--device", "gpu"]
    none, tuned = ({"TCBTUNE_DB": str(path), "TCBTUNE_SYSTEM_DB": ""} for path in (folder / "none.db", db))
    return [Step("model", [args.python, SCRIPTS / "synthetic-gguf.py", model], 120, 0, False),
            *(Step(f"tune-{name_of(problem)}", [tcbtune, "sweep", *words_of(problem), "--device", DEVICE, "--budget", "7s",
                                                "--counters", "none", "--finalists", "4", "--db", db], 40, 1)
              for problem in problems_of(ENGINE)),
            Step("defaults", token, 100, 2, environment=none), Step("tuned", token, 100, 3, environment=tuned),
            Step("shares", [*token, "--times", "1"], 100, 4, environment=tuned),
            Step("read", [tcbtune, "bench", "--op", "q6k_matvec", "--shape", "1x128256x4096", "--device", DEVICE, "--budget", "4s",
                          "--db", db], 60, 5)]


def attention_steps(args, folder):
    def beside(name, ops, shapes, *more):
        named = [word for op in ops for word in ("--op", op)]
        return Step(name, [args.python, SCRIPTS / "attention-against-torch.py", args.bundle / "tcbtune", "--out", folder / name,
                           "--device", DEVICE, "--sweep", "5s", "--bench", "2s", "--turns", "2", *named, *more, *shapes], 400)
    kv = [f"attention_decode_{kind}" for kind in ("q80", "fp8", "q40")]
    inferred = [word for shape in (DECODE[0], DECODE[7], DECODE[8], *LATENT) for word in ("--flashinfer", shape)]
    return [beside("decode", ["attention_decode_f16"], DECODE + LATENT, *inferred), beside("prefill", ["attention_prefill_f16"], PREFILL),
            beside("decode-kv", kv, DECODE[:1]),
            beside("prefill-kv", ["attention_prefill_q80", "attention_prefill_fp8"], [PREFILL[3]]),
            peer(args, "attention_flash4.py", *DECODE[:2], *PREFILL[:4])]


def chain_steps(args, folder):
    deltas = [shape for op, text in CHAIN.items() if op.startswith("delta") for shape in shapes_of(text)]
    return [everywhere(args, folder, "ours", problems_of(CHAIN), 3600, "--sweep", "5s", "--bench", "2s"),
            peer(args, "delta_fla.py", *deltas)]


# --- what they come to ---

def last_lines(folder, steps, done, count=14):
    """Of each step how it ended and its last lines."""
    lines = []
    for step in steps:
        path = folder / f"{step.name}.txt"
        if path.exists():
            status = done[step.name].status if step.name in done else "left"
            lines += [f"-- {step.name}: {status}", *path.read_text(encoding="utf-8", errors="replace").splitlines()[1:][-count:]]
    return lines


def counted(_folder, steps, done):
    """A line for each kind of step: how many were right, wrong, found something, did not end."""
    lines = []
    for kind in dict.fromkeys(step.name.rpartition("-")[0] or step.name for step in steps):
        of_kind = [step.name for step in steps if (step.name.rpartition("-")[0] or step.name) == kind]
        statuses = [done[name].status for name in of_kind if name in done]
        bad = [name for name in of_kind if name in done and done[name].status not in (0, 124)]
        lines.append(f"{kind:10} {statuses.count(0):4} right, {statuses.count(FOUND):3} found by the tool, {statuses.count(WRONG):3} wrong, "
                     f"{len(bad) - statuses.count(FOUND) - statuses.count(WRONG):3} failed, {statuses.count(124):3} unfinished, "
                     f"{len(of_kind) - len(statuses):3} left: {' '.join(bad[:8])}")
    return lines


def not_well(steps, done):
    bad = [step.name for step in steps if step.name in done and done[step.name].status]
    return [f"not well: {', '.join(bad) or 'none'}"]


def of_bits(folder, steps, done):
    lines = [line for step in steps if (folder / f"{step.name}.txt").exists()
             for line in (folder / f"{step.name}.txt").read_text(encoding="utf-8", errors="replace").splitlines()
             if "results differ" in line or "rows " in line]
    return lines + not_well(steps, done)


def of_price(folder, steps, done):
    """The word's price: the best with it over the fastest without, cold."""
    lines, ratios = [f"{'problem':34} {'free us':>9} {'bits us':>9} {'price':>6}  geometry with the word"], []
    for step in steps:
        path = folder / f"{step.name}.json"
        if not path.exists() or not path.stat().st_size:
            continue
        rows = next(result for result in json.loads(path.read_text(encoding="utf-8"))["results"] if result["state"] == "cold")["rows"]
        bits = next((row for row in rows if row["role"] == "bits"), None)
        free = min((row for row in rows if row["role"] in ("best", "default", "geometry")), key=lambda row: row["ns"]["median"])
        bits = bits or free  # both were swept: one geometry is the best of both and has one row
        ratios.append(bits["ns"]["median"] / free["ns"]["median"])
        lines.append(f"{step.name:34} {free['ns']['median'] / 1e3:9.2f} {bits['ns']['median'] / 1e3:9.2f} {ratios[-1]:6.3f}  "
                     f"{bits['geometry'].partition(',')[2][:90]}")
    if ratios:
        lines.append(f"median {statistics.median(ratios):.3f}, worst {max(ratios):.3f}, {len(ratios)} problems")
    return lines + not_well(steps, done)


def of_engine(folder, steps, done):
    return last_lines(folder, [step for step in steps if not step.name.startswith(("tune", "model"))], done, 24)


PARTS = {"prepare": prepare_steps, "bits": bits_steps, "price": price_steps, "sanitize": sanitize_steps, "random": random_steps,
         "table": table_steps, "engine": engine_steps, "attention": attention_steps, "chain": chain_steps}
SUMMARIES = dict.fromkeys(PARTS, last_lines) | {"engine": of_engine, "prepare": counted, "sanitize": counted,
                                                "bits": of_bits, "price": of_price}
