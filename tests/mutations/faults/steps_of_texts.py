# What a step of a text that is being written is made of.
S = "lib/hftrain/nn/cpu/step_attention.cpp"
ATTEND = "nn: the next tokens of texts attend to all before them, a window or a mask of it"
ALONE = "nn: a query behind others has the bits that it has alone, whatever the threads"
OTHER = "nn: one query over another sequence sees all of it that is no padding, and zeros where that is all"

fault("a query sees the tokens that are read beside it", S, "step.past + query + 1)", "step.past + step.queries)",
      tests=[ATTEND], says=r"difference\(step\) < 2e-6")

fault("the attention of a step forgets its window", S, "end - step.window)", "end - step.places)",
      tests=[ATTEND], says=r"difference\(step\) < 2e-6")

fault("heads of a step read the keys of others", S, "head / (step.heads / step.key_heads)", "head % step.key_heads",
      tests=[ATTEND], says=r"difference\(step\) < 2e-6")

fault("padding gets a share of a step's attention", S, "scores[j] = -std::numeric_limits<float>::infinity();", "scores[j] = 0;",
      tests=[ATTEND, OTHER], says=r"difference\(step\) < 2e-6")

fault("a step that sees nothing is no number", S, "hidden ? 0.0F :", "hidden && most > 0 ? 0.0F :",
      tests=[OTHER], says=r"difference\(step\) < 2e-6|== 0\.0F")

fault("scores that are no numbers become zeros", S, "const bool hidden = std::all_of(scores, scores + count, [&](float x) { return x == most; });", "const bool hidden = true;",
      tests=["nn: scores that are no numbers leave none behind"], says=r"isnan")

fault("a bias of a step is that of its first query", "lib/hftrain/nn/attention.cpp", "step.bias_query = bias.stride(2);", "step.bias_query = 0;",
      tests=[ATTEND], says=r"difference\(step\) < 2e-6")

fault("several queries behind a cache are added up at once", "lib/hftrain/nn/attention.cpp",
      "if (mask.past > 0 && query.size(1) > 1) return attend_one_by_one(query, key, value, mask, options);",
      "if (mask.past < 0) return attend_one_by_one(query, key, value, mask, options);",
      tests=[ALONE], says=r"equal\(together")

fault("equal scores are sorted in no order", "lib/hftrain/generation/probabilities.cpp", "for (const Placed& one : placed) moved[begin[value(one)]++] = one;",
      "for (size_t i = placed.size(); i-- > 0;) moved[begin[value(placed[i])]++] = placed[i];",
      tests=["generation: the largest scores come best first, of equal ones the earlier"], says=r"largest\(scores, count\)")

fault("zeros of either sign are no equals", "lib/hftrain/generation/probabilities.cpp", "std::bit_cast<uint32_t>(score + 0.0F)", "std::bit_cast<uint32_t>(score)",
      tests=["generation: the largest scores come best first, of equal ones the earlier"], says=r"largest\(scores, count\)")

fault("the last scores of a row are never chosen", "lib/hftrain/generation/probabilities.cpp", "  for (; i < scores.size(); ++i) most[0]", "  for (; i < 1; ++i) most[0]",
      tests=["generation: the largest scores come best first, of equal ones the earlier"], says=r"largest_of\(scores\)|position_of_largest")

fault("a row of NaN chooses a token that there is not", "lib/hftrain/generation/probabilities.cpp", "found == scores.end() ? 0 : found - scores.begin()", "found - scores.begin()",
      tests=["generation: NaN is found wherever it stands, and is never the largest"], says=r"kNan, kNan")

fault("a block in huge pages has more of them than it fills", "lib/hftrain/runtime/tensor_memory.cpp", "used / kHugePage * kHugePage : 0", "(used + kHugePage) / kHugePage * kHugePage : 0",
      tests=["runtime: where huge pages are wanted a large block begins with one and asks for no more than it fills"], says=r"is_asked_in_huge_pages")

fault("every process asks for huge pages", "lib/hftrain/runtime/tensor_memory.cpp", "pages == Pages::kHuge ? used", "pages != Pages{7} ? used",
      tests=["runtime: where nobody wants huge pages none are asked for"], says=r"is_asked_in_huge_pages")

fault("a token is drawn though all are forbidden", "lib/hftrain/generation/draws.cpp", "if (std::isfinite(most)) return;", "if (std::isfinite(most) || most < 0) return;",
      tests=["generation: nothing is drawn where every token is forbidden or a score is infinite"], says=r"a token was drawn")

fault("a temperature that is 0 in float32 is taken", "lib/hftrain/generation/generation_config_json.cpp", "bounds.open ? acts > bounds.least", "bounds.open ? given > bounds.least && acts >= 0",
      tests=["generation: mistakes in a generation config are told together"], says=r"vanishing|no mistake|refusal|unexpected")

fault("a chat asks for more tokens than the model has positions", "apps/hftrain/commands/generate_chat.cpp", "if (left > 0) return std::min(kAnswerTokens, left);", "if (left > 0) return kAnswerTokens;",
      tests=["runs: generation: a chat follows the template"], says=r"ended with 4|exit|too long")

fault("an adapter of an older peft is taken to tie matrices", "lib/hftrain/architectures/adapter_config.cpp", '!config.contains("peft_version") || !config', "!config",
      tests=["runs: adapters: tied embeddings that are saved whole are told to peft"], says=r"older|ended with 0")
