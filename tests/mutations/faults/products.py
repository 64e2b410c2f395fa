# Products of matrices of our own.

fault("words behind the last number of a line are what memory held, in tiles",
      "lib/hftrain/nn/cpu/tile_kernel.cpp", "  std::fill_n(packed + used, kTileWords - used, 0);\n", "  (void)used;\n",
      tests=["nn: product: tiles round float32 on its way and multiply whatever way matrices lie"],
      says=r"worst_of|tolerance")

fault("a second pair of tiles is added to the first one's place",
      "lib/hftrain/nn/cpu/tile_kernel.cpp", "_tile_dpbf16ps(3, 5, 7);", "_tile_dpbf16ps(3, 5, 6);",
      tests=["nn: product: tiles round float32 on its way and multiply whatever way matrices lie"],
      says=r"worst_of|tolerance")
