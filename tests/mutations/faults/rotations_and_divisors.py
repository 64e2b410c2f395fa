# What passes over a device's memory are saved by: rotary positions that turn their gradient back, gradients that are clipped within AdamW.
ROTARY = "lib/hftrain/nn/rotary.cpp"
ADAM = "lib/hftrain/optim/fused_adam.cpp"
CLOSE = "nn: A device's rotation and its gradient are no farther from float64 than the reference"
KERNELS = "nn: A device's rotation calls three kernels forward, three backward, and casts no table"

fault("a device turns a gradient on where its rotation turned", ROTARY, "{turned_on_device(grads[0], cos, sin, -1),", "{turned_on_device(grads[0], cos, sin, 1),",
      tests=[CLOSE], says=r"mean_apart\(now\.gradient")

fault("a device composes rotary positions as the reference", ROTARY, "if (kernels != Kernels::kReference && !x.is_cpu())", "if (kernels != Kernels::kReference && x.is_xla())",
      tests=[KERNELS], says=r"aten::mul")

fault("a device rounds the angles' cosines to the type of what it turns", ROTARY, "cosines.unsqueeze(-2), sin = sines.unsqueeze(-2);", "cosines.unsqueeze(-2).to(x.scalar_type()), sin = sines.unsqueeze(-2);",
      tests=[KERNELS], says=r"count\(name\) == 0")

fault("a device's gradients go through memory to be clipped, and again for AdamW", ADAM, "  if (on_device(parameter)) return factor.to(", "  if (on_device(parameter) && factor.is_xla()) return factor.to(",
      tests=["optim: Gradients of Adam and AdamW on a device go through no pass before the update"], says=r"_foreach_mul_")

fault("a device divides gradients by what they are to be multiplied by", ADAM, "at::kFloat).reciprocal();", "at::kFloat);",
      tests=["optim: Adam and AdamW clip on a device within their own pass, one rounding farther from float64 at most"], says=r"error\(now\)")

fault("a CPU divides gradients by a rounded divisor", ADAM, "  if (on_device(parameter)) return factor.to(", "  return factor.to(",
      tests=["optim: AdamW clips in its own pass as if the gradients had been multiplied before, to the bit"], says=r"trained\(true\)")
