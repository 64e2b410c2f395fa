# Attention of whole sequences by blocks, and what stands between products in bfloat16.
B = "lib/hftrain/nn/cpu/block_attention.cpp"
O = "lib/hftrain/nn/cpu/operators.cpp"
EXACT = "nn: Attention of whole sequences and its gradients are those of float64, by blocks where it is quicker"
ALONE = "nn: A document among others has the bits that it has alone"
NANS = "nn: Scores that are no numbers are seen in what attention gives, and not beyond their rows"
FORMS = "nn: The forms of every operator agree with the composition in float64, on the CPU in every dtype"

fault("a block's queries see beyond their window", B, "std::max(begin, high - a.window)", "std::max(begin, high - a.keys)",
      tests=[EXACT], says=r"worst <= tolerance")

fault("a block's queries see the keys behind them", B, "std::min(a.keys, query + 1)", "std::max(a.keys, query + 1)",
      tests=[EXACT], says=r"worst <= tolerance")

fault("padding has a share of a block's attention", B, "seen[j] ? scores[j] : -kInfinity", "seen[j] ? scores[j] : scores[j]",
      tests=[EXACT], says=r"worst <= tolerance")

fault("a query whose scores are no numbers is taken for one without keys", B,
      "std::none_of(scores, scores + n, [](float x) { return std::isnan(x); })", "n > 0",
      tests=[NANS], says=r"isnan\(\)")

fault("gradients of keys begin with those of other heads", B, "  std::fill_n(of_head, 2 * a.keys * a.width, 0.0f);",
      "  if (row < 0) std::fill_n(of_head, 2 * a.keys * a.width, 0.0f);", tests=[EXACT], says=r"worst <= tolerance")

fault("gradients of grouped heads are those of the first", B, "head < first + group; ++head", "head < first + 1; ++head",
      tests=[EXACT], says=r"worst <= tolerance")

fault("tokens in bfloat16 are all turned like the first", O, "(strip.first + at) / token % length * half", "at / token % length * half",
      tests=[FORMS], says=r"worst <= tolerance")

fault("strips of bfloat16 are rounded to where the first one lies", O, "bits_of(to[i]) + strip.first, strip.count", "bits_of(to[i]), strip.count",
      tests=[FORMS], says=r"worst <= tolerance")

fault("a key head's gradients are those of one thread's heads alone", B, "for (int64_t i = 1; i < group; ++i) add_to(sums,", "for (int64_t i = 2; i < group; ++i) add_to(sums,",
      tests=["nn: Attention by blocks has the same bits with any number of threads"], says=r"tensors_of\(alone\)")

fault("the other attention of BART is by kernels that were not chosen", "lib/hftrain/models/bart_model.cpp",
      "return attention_options(1 / std::sqrt(static_cast<double>(size)), config_.attention_dropout);",
      "return {.scale = 1 / std::sqrt(static_cast<double>(size)), .dropout = config_.attention_dropout};",
      tests=["models: no operator of ours stands in the graph of any family whose operators are LibTorch's"], says=r"AttentionByBlocks")

fault("a document's queries see those before it", B, "std::max(begin, high - a.window)", "std::max(0 * begin, high - a.window)",
      tests=[EXACT], says=r"worst <= tolerance")

fault("a block holds queries of several documents", B, "return begin != *here; }", "return begin < *here; }",
      tests=[ALONE], says=r"own\(all\)")

fault("documents of a later row begin where the first row's do", B, "a.begins[row * a.queries + query]", "a.begins[0 * row + query]",
      tests=[EXACT], says=r"worst <= tolerance")
