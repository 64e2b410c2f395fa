# What a pass computes more than once, or where it need not: its numbers are right in any case.
fault("the gradients of queries, keys and values are each as large as all three", "lib/hftrain/models/gpt2_model.cpp",
      "  const std::vector<at::Tensor> parts = qkv.view({qkv.size(0), qkv.size(1), 3, heads, head_dim}).unbind(2);\n",
      "  const at::Tensor all = qkv.view({qkv.size(0), qkv.size(1), 3, heads, head_dim});\n"
      "  const std::vector<at::Tensor> parts = {all.select(2, 0), all.select(2, 1), all.select(2, 2)};\n",
      tests=["models: the gradients of queries, keys and values that are one matrix are put together once"],
      says=r"aten::stack")

fault("a mask of ones is a mask of a device's attention", "lib/hftrain/models/model.cpp",
      "seen.ne(0).all().item<bool>() ? at::Tensor() : mask;", "seen.ne(0).all().item<bool>() && false ? at::Tensor() : mask;",
      tests=["trainer: a mask that the host sees to hide nothing is no mask of a device's attention"],
      says=r"== without")

fault("a mask of which one number is 1 hides nothing", "lib/hftrain/models/model.cpp", "seen.ne(0).all()", "seen.ne(0).any()",
      tests=["trainer: a mask that the host sees to hide nothing is no mask of a device's attention"],
      says=r"> without")

fault("every layer looks up the angles of documents anew", "lib/hftrain/models/llama_model.cpp",
      "  return places.positions.defined() ? nn::rotate_each(x, places.rotary, kernels)",
      "  return places.positions.defined() ? nn::rotate_each(x, nn::tables_at(tables_, places.positions), kernels)",
      tests=["models: the angles of documents in a row are looked up once, for all layers of a pass"],
      says=r"of_tokens \+ 2")

fault("a device makes the product of each chunk beside the sum", "lib/hftrain/nn/head_loss.cpp",
      "  at::baddbmm_out(whole, whole, grad.t().unsqueeze(0), hidden.unsqueeze(0), sum.scalar_type(), 1, 1);",
      "  whole.add_(at::mm(grad.t(), hidden).unsqueeze(0));",
      tests=["nn: A device adds the products of further chunks where their sum is"],
      says=r"where_the_sum_is")

fault("the plan of a GPU counts a product beside the sum of the last matrix's gradient", "lib/hftrain/plan/head_memory.cpp",
      "  return item + (wide ? kFullPrecision : 0);", "  return wide ? kFullPrecision + (chunks && on_gpu(plan.ranks) ? kFullPrecision : item) : item;",
      tests=["plan: the last matrix's gradient is summed in float32 on a GPU, and copied once where the matrix is not"],
      says=r"65536")

ZEROS_BEHIND = "nn: Rows of zeros behind a head's matrix change neither losses, gradients nor best ids"
fault("the columns behind a vocabulary take part in its loss", "lib/hftrain/nn/head_loss.cpp",
      "    at::Tensor logits = of_vocabulary();", "    at::Tensor logits = gradients();",
      tests=[ZEROS_BEHIND], says=r"tolerance")

fault("the best id may stand behind the vocabulary", "lib/hftrain/nn/head_loss.cpp",
      "at::argmax_out(best, logits.of_vocabulary(), 1);", "at::argmax_out(best, logits.gradients(), 1);",
      tests=[ZEROS_BEHIND], says=r"best_ids")

fault("gradients keep the rows behind the vocabulary", "lib/hftrain/nn/head_loss.cpp",
      "if (head.columns() == head.vocab) return;", "if (head.columns() >= head.vocab) return;",
      tests=[ZEROS_BEHIND], says=r"invalid gradient|unexpected exception|size")

fault("the rows behind a vocabulary are what memory held", "lib/hftrain/nn/head_matrix.cpp",
      "  padded.narrow(0, x.size(0), rows - x.size(0)).zero_();\n", "  padded.narrow(0, x.size(0), rows - x.size(0)).fill_(7);\n",
      tests=[ZEROS_BEHIND], says=r"tolerance")

fault("rows of logits that stand apart are read as if they did not", "lib/hftrain/nn/cpu/operators.cpp",
      "stride = logits.stride(0);", "stride = logits.size(1);", tests=[ZEROS_BEHIND], says=r"tolerance")

fault("a GPU's kernel reads rows of logits that stand apart as if they did not", "lib/hftrain/cuda/cross_entropy_kernels.cu",
      "static_cast<int64_t>(blockIdx.x) * stride;", "static_cast<int64_t>(blockIdx.x) * (stride * 0 + vocab);",
      tests=["cuda: Rows of logits may stand apart from one another, and what is between them stays"], says=r"same_bits")

fault("the rows behind a vocabulary are in no plan", "lib/hftrain/plan/head_memory.cpp",
      "  if (columns == architecture.outputs() || cast) return 0;\n", "  if (columns >= architecture.outputs() || cast) return 0;\n",
      tests=["plan: a vocabulary that products of a GPU are slow with counts as the next they are quick with, and its copy"],
      says=r"50304")

fault("every block of a stack masks a bias of its own on a device", "lib/hftrain/models/t5_model.cpp",
      "  return !x.is_cpu() && cache() == nullptr;", "  return !x.is_cpu() && cache() == nullptr && false;",
      tests=["trainer: the blocks of a stack share one bias on a device, with what the mask hides in it"],
      says=r"of_all \+ 2")

MASKED_BIAS = "nn: a bias with the mask in it attends, and learns, as the bias beside the mask"
fault("a shared bias hides no padding", "lib/hftrain/nn/masked_bias.cpp", "  if (padding.defined()) seen =", "  if (padding.defined() && !causal) seen =",
      tests=[MASKED_BIAS], says=r"allclose")

fault("a shared bias shows a query what comes behind it", "lib/hftrain/nn/masked_bias.cpp", "  if (!causal) return seen;", "  if (!causal || seen.defined()) return seen;",
      tests=[MASKED_BIAS], says=r"allclose")

fault("rows of a shared bias begin where LibTorch copies them", "lib/hftrain/nn/masked_bias.cpp", "return over == 0 ? sum :", "return over >= 0 ? sum :",
      tests=[MASKED_BIAS], says=r"% 8 == 0")

fault("buckets of distances are computed at every pass", "lib/hftrain/nn/relative_position.cpp", "  if (past > 0) return make_buckets", "  if (past >= 0) return make_buckets",
      tests=["nn: Buckets that are asked for again are not computed again, and others get no part of them"], says=r"is_same")

fault("a device casts the parameters of a block one by one", "lib/hftrain/models/model.cpp",
      "unit.repeated && !handed.empty() && !handed.front().is_cpu();", "unit.repeated && handed.empty();",
      tests=["trainer: the parameters of a block are cast together for a device"], says=r"== blocks")

fault("the gradients of parameters that are cast together are lost", "lib/hftrain/nn/cast_together.cpp",
      "CastTogether::apply(at::TensorList(list), dtype)", "CastTogether::apply(list, dtype)",
      tests=["nn: parameters that are cast together are those that are cast one by one, and so are their gradients"],
      says=r"requires_grad")
