# What would be wrong with the kernels of the CUDA plug-in, found without a GPU; and with the grid that finds it.
DEVICE = "lib/hftrain/cuda/device.cuh"
ELEMENTS = "lib/hftrain/cuda/elementwise_kernels.cu"
NORM = "lib/hftrain/cuda/norm_kernels.cu"
LOSS = "lib/hftrain/cuda/cross_entropy_kernels.cu"
NORM_FILLS = "cuda: The RMS norm's kernels and its gradients' agree with float64 for rows that fill blocks in every way"
NORM_ROWS = "cuda: The RMS norm's gradients are those of more rows than there are partial sums"
NORM_NARROW = "cuda: The RMS norm's gradients of narrow rows are those of float64, whatever of a warp and a block they fill"
ACTIVATIONS = "cuda: The activations' kernels and their gradients' agree with float64"
DISPLACED = "cuda: An array that begins where no vector may is taken by single numbers, and is the same to a kernel"
BEYOND = "cuda: A kernel of elements reaches those beyond the largest grid"
ROTATION = "cuda: The rotation's kernel agrees with float64, in each batch from its first place on"
CROSS_ENTROPY = "cuda: The cross-entropy's kernel agrees with float64, its gradient in the place of the logits"
ONE_PASS = "cuda: The cross-entropy's one pass agrees with float64 whether logits rise or fall along a row"
NO_CLASS = "cuda: A class that cannot be has the loss of the others and no gradient of its own"
OUTSIDE = "cuda: A target outside of the vocabulary makes its loss NaN and reads nothing beside the logits"
LARGE = "cuda: The cross-entropy of large logits and of rows without any target is finite"
GRID_RIGHT = "cuda: A grid on the host runs what is right, in either order"
GRID_WRONG = "cuda: A grid on the host ends at what a GPU punishes or leaves undefined, and says what it was"
GRID_REFUSES = "cuda: A grid on the host refuses launches that a GPU refuses"


def said(words):
    """As Catch2 prints it, which breaks lines where it likes."""
    return words.replace(" ", r"\s+")


WRONG_NUMBERS = said(r"max\(\)\.item<double>\(\) <= 1")
NO_VECTOR_THERE = said(r"is at no multiple of the bytes that it touches at once")

fault("a reduction of a block overwrites the last one's numbers while they are read", DEVICE,
      "  __syncthreads();  // the last reduction may still be read\n", "",
      tests=[CROSS_ENTROPY, NORM_ROWS, GRID_RIGHT], says=said(r"writes what another thread reads|meets what another thread writes"))

fault("a reduction of a block reads numbers that its warps have yet to write", DEVICE,
      "  if (threadIdx.x % kWarp == 0) shared[warp] = value;\n  __syncthreads();\n", "  if (threadIdx.x % kWarp == 0) shared[warp] = value;\n",
      tests=[NORM_FILLS, LARGE], says=said(r"reads shared memory that was not written|meets what another thread writes"))

fault("a reduction of a warp leaves out every second lane", DEVICE, "step > 0; step /= 2", "step > 1; step /= 2",
      tests=[NORM_FILLS, CROSS_ENTROPY], says=WRONG_NUMBERS)

fault("a reduction of a block has room for a quarter of a largest block's warps", LOSS, "__shared__ float shared[kWarp];", "__shared__ float shared[kWarp / 4];",
      tests=[CROSS_ENTROPY], says=said(r"writes outside of its memory"))

fault("a row narrower than a warp gets a part of one", DEVICE, "ceil_divide(packs, kWarp) * kWarp", "packs",
      tests=[NORM_FILLS, CROSS_ENTROPY], says=said(r"the shuffle at device\.cuh:\d+ is not reached by lane"))

fault("a wide row gets more threads than a block may have", DEVICE, "std::min<int64_t>(most, ", "std::min<int64_t>(2 * most, ",
      tests=[NORM_FILLS], says=said(r"there is no launch of"))

fault("a launch of too many blocks is one of their number modulo 2^32", DEVICE, "std::min<int64_t>(blocks, UINT_MAX)", "blocks",
      tests=[GRID_REFUSES], says=r"4294967295")

fault("the threads of a grid go on by blocks, not by grids", ELEMENTS,
      "static_cast<int64_t>(gridDim.x) * blockDim.x;", "static_cast<int64_t>(blockDim.x);",
      tests=[ACTIVATIONS], says=said(r"meets what another thread writes"))

fault("elements beyond the largest grid are left out", DEVICE, "i += kTogether * step)", "i += kTogether * step * end)",
      tests=[BEYOND], says=r"isfinite")

fault("a thread leaves out the pack behind its last two", DEVICE, "if (i < end) body(", "if (i < end && end < 0) body(",
      tests=[ACTIVATIONS], says=r"isfinite")

fault("elements behind the last vector are left out", ELEMENTS, "behind < n)", "behind < whole)",
      tests=[ACTIVATIONS], says=r"isfinite")

fault("vectors are taken of an array that begins where none may", DEVICE, "% kVectorBytes == 0) && ...", "% sizeof(char) == 0) && ...",
      tests=[DISPLACED], says=NO_VECTOR_THERE)

fault("nobody looks where what the gelu's gradient writes begins", ELEMENTS, "aligned(grad, x, grad_x)", "aligned(grad, x)",
      tests=[DISPLACED], says=NO_VECTOR_THERE)

fault("a row of logits is taken by vectors from where it begins", DEVICE, "(kSize - past) % kSize", "(kSize - past) % kSize * 0",
      tests=[CROSS_ENTROPY], says=NO_VECTOR_THERE)

fault("logits before a row's first vector are left out", DEVICE, "if (mine < head) body", "if (mine < head && head < 0) body",
      tests=[CROSS_ENTROPY], says=WRONG_NUMBERS)

fault("logits behind a row's last vector are left out", DEVICE, "if (behind < width) body", "if (behind < width && width < 0) body",
      tests=[CROSS_ENTROPY], says=WRONG_NUMBERS)

fault("a batch's first token turns as the one behind the last of the batch before", ELEMENTS,
      "token % shape.length * half", "token * half",
      tests=[ROTATION], says=said(r"reads outside of its memory|max\(\)\.item<double>\(\) <= 1"))

fault("the rotation's way back turns the same way", ELEMENTS, "s[e] = sign * to_float", "s[e] = sign * sign * to_float",
      tests=[ROTATION], says=WRONG_NUMBERS)

fault("the rotation's angles are not rounded to the dtype as the composition's are", ELEMENTS,
      "c[e] = to_float(from_float<T>(c[e]))", "c[e] *= 1.0f",
      tests=[ROTATION], says=WRONG_NUMBERS)

fault("tokens beyond the largest grid are not turned", ELEMENTS, "token += gridDim.x", "token += shape.tokens",
      tests=[BEYOND], says=r"isfinite")

fault("a block turns no head but those that its threads begin with", ELEMENTS, "head += together", "head += shape.heads",
      tests=[ROTATION], says=r"isfinite")

fault("pairs behind the threads of a block are not turned", ELEMENTS, "i += lanes", "i += half",
      tests=[ROTATION], says=r"isfinite")

fault("narrow rows beyond the warps of the grid are left out", NORM, "row += step", "row += rows + step",
      tests=[NORM_ROWS], says=r"isfinite")

fault("sums of narrow rows are read before all warps have written theirs", NORM,
      "shared[(warp * kOwned + k) * kWarp + lane] = sums[k];\n  __syncthreads();\n", "shared[(warp * kOwned + k) * kWarp + lane] = sums[k];\n",
      tests=[NORM_NARROW], says=said(r"reads shared memory that was not written|meets what another thread writes"))

fault("narrow rows leave out the columns behind a warp's first", NORM, "sums[k] += slopes[k]", "if (k == 0) sums[k] += slopes[k]",
      tests=[NORM_NARROW], says=WRONG_NUMBERS)

fault("the norm's partial sums begin with what memory held", NORM,
      "  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) sums[i] = 0;\n", "",
      tests=[NORM_FILLS], says=r"isfinite")

fault("the norm's backward leaves out rows beyond its blocks", NORM,
      "row += gridDim.x) {\n    const int64_t start = row * width + mine;", "row += rows) {\n    const int64_t start = row * width + mine;",
      tests=[NORM_ROWS], says=r"isfinite")

fault("the widest norms' backward leaves out rows beyond its blocks", NORM,
      "row += gridDim.x) {\n    const int64_t start = row * width;", "row += rows) {\n    const int64_t start = row * width;",
      tests=[NORM_ROWS], says=r"isfinite")

fault("wide rows leave out of the weight's gradient what is behind a thread's first columns", NORM,
      "sums[k][e] += d", "if (k == 0) sums[k][e] += d", tests=[NORM_FILLS], says=WRONG_NUMBERS)

fault("threads of a wide row read the columns of the next row", NORM,
      "      if (mine + k * apart >= columns) continue;\n      slopes[k]", "      slopes[k]",
      tests=[NORM_FILLS], says=said(r"reads outside of its memory|max\(\)\.item<double>\(\) <= 1"))

fault("the gradient overwrites the target's logit before the loss has read it", LOSS,
      "  __syncthreads();  // the target's logit has been read\n", "",
      tests=[CROSS_ENTROPY, LARGE], says=said(r"meets what another thread writes|writes what another thread reads"))

fault("a target behind the vocabulary is read from the next row", LOSS, "target >= 0 && target < vocab", "target >= 0",
      tests=[OUTSIDE], says=said(r"reads outside of its memory|isnan"))

fault("the largest logit is not taken off before the exponential", LOSS,
      "const float log_sum = highest + logf(over_block<Sum>(seen.sum * expf(seen.highest - highest), shared));",
      "const float log_sum = 0 * highest + logf(over_block<Sum>(seen.sum, shared));",
      also=[(LOSS, "seen.sum += expf(value - highest);", "seen.sum += expf(value);"), (LOSS, "    seen.sum *= expf(seen.highest - highest);\n", "")],
      tests=[LARGE], says=r"isfinite")

fault("a sum of exponentials stays as it was when a larger logit comes", LOSS, "    seen.sum *= expf(seen.highest - highest);\n", "",
      tests=[ONE_PASS, CROSS_ENTROPY], says=WRONG_NUMBERS)

fault("threads' sums of exponentials are added as if all had seen the same largest logit", LOSS,
      "seen.sum * expf(seen.highest - highest), shared", "seen.sum, shared", tests=[ONE_PASS, CROSS_ENTROPY], says=WRONG_NUMBERS)

fault("what no logit can be below is taken off from itself", LOSS, "highest = -FLT_MAX", "highest = -INFINITY",
      tests=[NO_CLASS], says=r"isfinite")

fault("smoothing is left out of the loss's gradient", LOSS, " - share - likelihood", " - 0 * share - likelihood",
      tests=[CROSS_ENTROPY], says=WRONG_NUMBERS)

fault("the grid on the host sees no access to memory", "tests/cuda/grid.cpp", "state.on = grid().watched;", "state.on = false;",
      tests=[GRID_WRONG], says=said(r"reads outside of its memory"))

fault("the grid on the host takes vectors from anywhere", "tests/cuda/memory.cpp", "place_of(data) % bytes != 0", "place_of(data) % (bytes / bytes) != 0",
      tests=[GRID_WRONG], says=r"SIGSEGV")  # the host has such instructions, too

fault("the grid on the host runs blocks to a barrier that some threads do not reach", "tests/cuda/grid.cpp",
      "if (!waits(*thread)) throw Fault", "if (!waits(*thread)) continue;\n    if (false) throw Fault",
      tests=[GRID_WRONG], says=said(r"is not reached by all threads"))

fault("the grid on the host forgets that a thread has read before another writes", "tests/cuda/memory.cpp",
      "if (!writes) add_reader(element.read", "if (!writes && false) add_reader(element.read",
      tests=[GRID_WRONG], says=said(r"writes what another thread reads"))
