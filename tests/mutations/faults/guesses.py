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
