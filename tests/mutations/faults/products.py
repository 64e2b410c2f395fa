# Products of matrices of our own.

fault("words behind the last number of a line are what memory held, in tiles",
      "lib/hftrain/nn/cpu/tile_kernel.cpp", "  std::fill_n(packed + used, kTileWords - used, 0);\n", "  (void)used;\n",
      tests=["nn: product: tiles round float32 on its way and multiply whatever way matrices lie"],
      says=r"worst_of|tolerance")

fault("a second pair of tiles is added to the first one's place",
      "lib/hftrain/nn/cpu/tile_kernel.cpp", "_tile_dpbf16ps(3, 5, 7);", "_tile_dpbf16ps(3, 5, 6);",
      tests=["nn: product: tiles round float32 on its way and multiply whatever way matrices lie"],
      says=r"worst_of|tolerance")

fault("products of bfloat16 are left to the loops of LibTorch",
      "lib/hftrain/nn/product.cpp", "constexpr int64_t kWorthWidening = int64_t{1} << 13;", "constexpr int64_t kWorthWidening = int64_t{1} << 62;",
      tests=["nn: product: every product of bfloat16 that is worth it is widened where LibTorch has only loops for it"],
      says=r"equal")

fault("float32 weights are multiplied with bfloat16 as they are, unrounded",
      "lib/hftrain/nn/widened.cpp", "  return matrix.to(at::kBFloat16).to(at::kFloat);", "  return matrix.to(at::kFloat);",
      tests=["nn: product: what is widened is multiplied whatever way matrices lie, strip by strip"],
      says=r"worst_of|tolerance")

fault("no rows of bfloat16 meet weights of another type",
      "lib/hftrain/nn/product.cpp", "         x.numel() > 0 && has_bfloat16_products();", "         has_bfloat16_products();",
      tests=["nn: product: no rows in bfloat16 over float32 weights are none behind them, with gradients of zeros"],
      says=r"unexpected exception")

fault("attention of bfloat16 that is widened keeps its operands in float32",
      "lib/hftrain/nn/attention.cpp", "ctx->save_for_backward({query, key, value, given",
      "ctx->save_for_backward({query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat), given",
      tests=["nn: Attention of bfloat16 that is widened keeps its operands as they are for the way back"],
      says=r"kept->bytes\(\) < ")

fault("what attention keeps in float32 of bfloat16 is in no plan",
      "lib/hftrain/plan/activation_memory.cpp", "(cpu ? widened_bytes(block, own.all, input.all, item, wide) : 0)", "(cpu && item == 0 ? widened_bytes(block, own.all, input.all, item, wide) : 0)",
      tests=["plan: what attention keeps in float32 where bfloat16 is widened counts, and the weights of the form that has them"],
      says=r'more\("0.0"\)')

fault("of an encoder's tokens the plan expects keys and values in bfloat16 where a decoder's attention has them in float32",
      "lib/hftrain/plan/activation_memory.cpp", "(block.cross > 0 ? input * block.encoded * more : 0)", "(block.cross < 0 ? input * block.encoded * more : 0)",
      tests=["models: a decoder's block keeps of bfloat16 what the plan expects, of an encoder's tokens too"],
      says=r"planned_many - planned_few")

fault("weights that attention drops out are planned in bfloat16",
      "lib/hftrain/plan/activation_memory.cpp", "weight = cpu ? kFullPrecision : item;", "weight = wide ? kFullPrecision : item;",
      tests=["plan: what attention keeps in float32 where bfloat16 is widened counts, and the weights of the form that has them"],
      says=r'activations\("0.1", false')

fault("weights that attention drops out are planned on a GPU, whose kernels do not keep them",
      "lib/hftrain/plan/activation_memory.cpp", "if (cpu && block.dropped > 0)", "if (block.dropped > 0)",
      tests=["plan: weights that attention drops out are in the plan where they are kept: in training on a CPU"],
      says=r'memory\("0.1", 1\)')

fault("the plan of several machines goes by the processors of the first",
      "lib/hftrain/plan/resolve.cpp", "{ return topology_of(input, rank).host.widens_bfloat16; });", "{ return rank.rank == 0 && topology_of(input, rank).host.widens_bfloat16; });",
      tests=["plan: what attention keeps in float32 where bfloat16 is widened counts, and the weights of the form that has them"],
      says=r"> narrow")

fault("a processor with a part of AVX-512 is taken to multiply bfloat16",
      "lib/hftrain/machine/host_resources.cpp", ' && has("avx512dq"));', ");",
      tests=["machine: a processor widens bfloat16 where it lacks what oneDNN asks for, and the first one's flags say so"],
      says=r"avx512vl")

fault("the last block of an encoder computes tokens that nobody looks at",
      "lib/hftrain/models/encoder_model.cpp", "pools && is_seen_at_first_only(i)", "pools && is_seen_at_first_only(i) && i == 99",
      tests=["models: A last block computes no token that a head does not look at"], says=r">= kOfBlock")

fault("the last block of an encoder computes the first token for heads that look at all",
      "lib/hftrain/models/encoder_model.cpp", "pools && is_seen_at_first_only(i)", "(pools || i < 99) && is_seen_at_first_only(i)",
      tests=["models: Every head on padded batches gives the logits, loss and gradients of transformers"], says=r"logits|shape|size")

fault("the last block of a vision transformer computes patches that nobody looks at",
      "lib/hftrain/models/vit_model.cpp", "is_seen_at_first_only(i)", "false",
      tests=["models: A last block computes no token that a head does not look at"], says=r">= kOfBlock")

fault("a last block that drops out draws numbers for its first token alone",
      "lib/hftrain/models/model.h", " && !(training_ && units_[unit].random)", "",
      tests=["models: Models drop out, and add noise, at the places and in the order of transformers"], says=r"training_logits")

fault("a last block computes the first token alone only where nothing is trained",
      "lib/hftrain/models/model.h", "!(training_ && units_[unit].random)", "!training_",
      tests=["models: A last block computes no token that a head does not look at"], says=r"trains")
