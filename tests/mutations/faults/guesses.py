# Texts that are guessed ahead.

fault("a guess counts though the search has chosen another token",
      "lib/hftrain/generation/row_search.cpp", "taken < draft.size() && row.ids.back() == draft[taken]", "taken < draft.size()",
      tests=["generation: guesses change no token of any text, nor when it ends"],
      says=r"ahead\.(ids|told) == plain\.ids")

fault("the last token of a text is guessed, for which a model may have no place",
      "lib/hftrain/generation/row_search.cpp", "static_cast<size_t>(left - 1)", "static_cast<size_t>(left)",
      tests=["generation: a text that goes round needs few steps, and reads no token that it has no room for"],
      says=r"text\.longest == ")

fault("a text that only seems to repeat itself is guessed ahead at every step",
      "lib/hftrain/generation/drafts.cpp", "    rest_ = size_t{1} << misses_;\n", "",
      tests=["generation: guesses that are always wrong become rare"],
      says=r"ahead\.read\(\) < ")

fault("guesses that were wrong stay among what the model remembers",
      "lib/hftrain/models/key_value_cache.cpp", "  length_ -= count;\n", "  length_ -= 0 * count;\n",
      tests=["models: scores behind tokens that are read at once are those of steps that read one"],
      says=r"worst <= most|unexpected exception")

fault("what is left of a batch is not guessed ahead",
      "lib/hftrain/generation/row_search.cpp", "if (live_.size() == 1) live_.front().draft", "if (texts_.size() == 1) live_.front().draft",
      tests=["generation: only the last text that is being written is guessed ahead"],
      says=r"calls\(\)\.size\(\) < plain")

fault("how many tokens a guess is looked for by is not heeded",
      "lib/hftrain/generation/row_search.cpp", "longest_match(config.max_matching_ngram_size)", "longest_match(0 * config.max_matching_ngram_size)",
      tests=["generation: what is looked for is what the config names"],
      says=r"calls\(1\) != calls\(3\)")

fault("a guess that a config asks for in vain is not told of",
      "lib/hftrain/plan/resolve_generation.cpp", 'config["prompt_lookup_num_tokens"] != 0', 'config["prompt_lookup_num_tokens"] == 0',
      tests=["plan: guesses ahead that a generation config asks for are told of where evaluation makes none"],
      says=r"has no effect in evaluation")

# Texts that copies of the weights foresee.

fault("what copies of the weights have read stays among what the model remembers",
      "lib/hftrain/models/text_model.cpp", "cache_.forget(std::exchange(drafted_, 0))", "drafted_ = 0",
      tests=["models: what copies of the weights have drafted leaves no trace in the scores"],
      says=r"floats\(drafting")

fault("a draft that is mostly wrong is made at every step",
      "lib/hftrain/generation/drafts.cpp", "  rest_ = kForesightRest;\n", "",
      tests=["generation: as much is foreseen as promises most tokens for the time"],
      says=r"next\(99\) == 0")

fault("what was foreseen is counted as guessed",
      "lib/hftrain/generation/row_search.cpp", "foreseen_ = draft.size() < std::max<size_t>(1, count);", "foreseen_ = false;",
      tests=["generation: what the model's quicker reading foresees changes no token of any text, nor when it ends"],
      says=r"drafts\(\) > 0|calls\(\)\.size\(\)|spared")

fault("a product with a copy has the low half of its row left out",
      "lib/hftrain/nn/cpu/quantised_product.cpp", "_mm512_fmadd_ps(high, _mm512_set1_ps(128), low)", "_mm512_fmadd_ps(high, _mm512_set1_ps(128), _mm512_mul_ps(low, _mm512_setzero_ps()))",
      tests=["nn: products with copies in 8 bits are near the true ones to the edges"],
      says=r"tolerance\(inner\)")

fault("several rows are multiplied with the copies, too",
      "lib/hftrain/nn/product.cpp", "left.size(0) == 1 ? quantised_in_use() : nullptr", "quantised_in_use()",
      tests=["nn: single rows take the copies while that is said, of the model's matrices alone"],
      says=r"of_two")

fault("copies are made wherever there is memory for the weights alone",
      "lib/hftrain/generation/text_protocol.cpp", "weight_bytes / 2 * 3", "weight_bytes",
      tests=["generation: copies draft unasked where weights are large and half as much again fits into memory"],
      says=r"none")

fault("copies are made of weights that are read in no time",
      "lib/hftrain/generation/text_protocol.cpp", "int64_t{64} << 20", "int64_t{1}",
      tests=["runs: generation: copies of weights foresee and change no text"],
      says=r"unasked only for what takes long to read")

fault("what is foreseen goes on behind the end of a text",
      "lib/hftrain/generation/row_search.cpp", "(draft.empty() || !ending_.reached(ahead.ids, prompt))", "(draft.empty() || !ending_.reached(ahead.ids, prompt) || prompt > 0)",
      tests=["generation: nothing is foreseen behind the end of a text"], says=r"longest\(\) <= 2")

fault("the time that choosing a token takes is not looked at",
      "lib/hftrain/generation/drafts.cpp", " + (tokens - 1) * costs.choice", "",
      tests=["generation: what takes as long to foresee as to write is not foreseen, and what takes no time as far as it goes"], says=r"choice = 0\.9")

fault("texts of large models are never foreseen unasked",
      "lib/hftrain/generation/text_protocol.cpp", """? "auto" : "none";""", """? "none" : "none";""",
      tests=["runs: generation: copies of weights foresee and change no text"], says=r"unasked of a large model")

fault("who goes back in a folder is not told what lies ahead",
      "launcher/front/output_stage.cpp", "if (from == all.end() || from + 1 == all.end()) return;", "if (from == all.end() || from + 1 != all.end()) return;",
      tests=["runs: going on: who goes back is told what stays ahead"], says=r"FAILED: both are named")
