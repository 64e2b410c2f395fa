# What passes over a device's memory are saved by: rotary positions that turn their gradient back.
ROTARY = "lib/hftrain/nn/rotary.cpp"
CLOSE = "nn: A device's rotation and its gradient are no farther from float64 than the reference"
KERNELS = "nn: A device's rotation calls three kernels forward, three backward, and casts no table"

fault("a device turns a gradient on where its rotation turned", ROTARY, "{turned_on_device(grads[0], cos, sin, -1),", "{turned_on_device(grads[0], cos, sin, 1),",
      tests=[CLOSE], says=r"mean_apart\(now\.gradient")

fault("a device composes rotary positions as the reference", ROTARY, "if (kernels != Kernels::kReference && !x.is_cpu())", "if (kernels != Kernels::kReference && x.is_xla())",
      tests=[KERNELS], says=r"aten::mul")

fault("a device rounds the angles' cosines to the type of what it turns", ROTARY, "cosines.unsqueeze(-2), sin = sines.unsqueeze(-2);", "cosines.unsqueeze(-2).to(x.scalar_type()), sin = sines.unsqueeze(-2);",
      tests=[KERNELS], says=r"count\(name\) == 0")
