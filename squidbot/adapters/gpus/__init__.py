"""What GPUs there are and how much of their memory is free, asked with nothing but the standard library.

Each file is one source, a `GpuProbe` by its own name, and looks at nothing else; squidbot/probes.py asks them in turn.

| file       | holds |
|------------|-------|
| nvml       | NVIDIA: libnvidia-ml by ctypes, where nvidia-ml-py is not installed |
| nvidia_smi | NVIDIA: the command that comes with the driver |
| torch      | NVIDIA and AMD: a PyTorch that the host has loaded already |
| amdgpu     | AMD: what the kernel's driver writes into /sys |
| amd_smi    | AMD: the command of newer ROCm |
| rocm_smi   | AMD: the command of older ROCm |
| apple      | Apple: what of unified memory a GPU may have |
| ggml       | all others: the devices that llama.cpp sees, asked in a process of its own |
| visible    | which devices CUDA_VISIBLE_DEVICES and its like leave |
| memory     | main memory: what is free for this process, its container's limit counted |
| commands   | programs run: no shell, a time limit, a bounded output |
| looks      | what one look has found so far; failures become reasons |
| radeon     | which of an AMD device's memories count |
| figures    | numbers as drivers and programs write them |
"""
