"""Errors that people commonly report who train with torch: at least nine in ten belong to a family that is explained. Of these
140, 135 did when the list was first held against the families."""

from __future__ import annotations

import re

from torchsan.errors.known import FAMILIES

REPORTED = r"""
mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)
size mismatch, m1: [2 x 3], m2: [64 x 64]
The size of tensor a (32) must match the size of tensor b (64) at non-singleton dimension 1
shape '[64, 784]' is invalid for input of size 47040
view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.
Sizes of tensors must match except in dimension 1. Expected size 16 but got size 15 for tensor number 1 in the list.
stack expects each tensor to be equal size, but got [3, 224, 224] at entry 0 and [3, 144, 192] at entry 6
output with shape [1, 28, 28] doesn't match the broadcast shape [3, 28, 28]
shape mismatch: value tensor of shape [92] cannot be broadcast to indexing result of shape [40]
shape mismatch: indexing tensors could not be broadcast together with shapes [4], [5]
The shape of the mask [4, 34125] at index 0 does not match the shape of the indexed tensor [136500, 1] at index 0
The expanded size of the tensor (128) must match the existing size (64) at non-singleton dimension 1.  Target sizes: [8, 128].  Tensor sizes: [8, 64]
Given groups=1, weight of size [64, 3, 7, 7], expected input[8, 1, 224, 224] to have 3 channels, but got 1 channels instead
Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [8, 3]
Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than actual input size
Given input size: (512x1x1). Calculated output size: (512x0x0). Output size is too small
Expected more than 1 value per channel when training, got input size torch.Size([1, 64])
running_mean should contain 32 elements not 64
expected 4D input (got 2D input)
expected 2D or 3D input (got 4D input)
Given normalized_shape=[512], expected input with shape [*, 512], but got input of size[8, 16, 256]
input.size(-1) must be equal to input_size. Expected 10, got 20
For batched 3-D input, hx and cx should also be 3-D but got (2-D, 2-D) tensors
Expected hidden[0] size (2, 32, 128), got [2, 16, 128]
Expected target size [32, 10], got [32]
Expected input batch_size (32) to match target batch_size (64).
only batches of spatial targets supported (3D tensors) but got targets of dimension: 4
0D or 1D target tensor expected, multi-target not supported
Using a target size (torch.Size([32])) that is different to the input size (torch.Size([32, 1])) is deprecated. Please ensure they have the same size.
Target size (torch.Size([32])) must be the same as input size (torch.Size([32, 1]))
Target 83 is out of bounds.
index out of range in self
index 10 is out of bounds for dimension 0 with size 10
Dimension out of range (expected to be in range of [-1, 0], but got 1)
too many indices for tensor of dimension 2
only one element tensors can be converted to Python scalars
a Tensor with 10 elements cannot be converted to Scalar
Boolean value of Tensor with more than one value is ambiguous
expected scalar type Long but found Float
expected scalar type Float but found Double
expected scalar type Half but found Float
mat1 and mat2 must have the same dtype, but got Double and Float
Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same
Input type (double) and bias type (float) should be the same
Input type (unsigned char) and bias type (float) should be the same
Found dtype Double but expected Float
result type Float can't be cast to the desired output type Long
"nll_loss_forward_reduce_cuda_kernel_2d_index" not implemented for 'Int'
"addmm_impl_cpu_" not implemented for 'Half'
"slow_conv2d_cpu" not implemented for 'Half'
"log_softmax_lastdim_kernel_impl" not implemented for 'Long'
mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long
Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.FloatTensor instead (while checking arguments for embedding)
tensors used as indices must be long, int, byte or bool tensors
Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)
indices should be either on cpu or on the same device as the indexed tensor (cpu)
can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.
Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.
Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.
CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 7.79 GiB of which 5.06 MiB is free.
CUDA error: device-side assert triggered
CUDA error: invalid device ordinal
CUDA error: no kernel image is available for execution on the device
CUDA error: an illegal memory access was encountered
CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa, opb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc)`
cuDNN error: CUDNN_STATUS_NOT_INITIALIZED
cuDNN error: CUDNN_STATUS_EXECUTION_FAILED
Unable to find a valid cuDNN algorithm to run convolution
Torch not compiled with CUDA enabled
Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver
Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method
Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU.
grad can be implicitly created only for scalar outputs
element 0 of tensors does not require grad and does not have a grad_fn
Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().
one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [10, 10]], which is output 0 of AsStridedBackward0, is at version 2; expected version 1 instead.
a leaf Variable that requires grad is being used in an in-place operation.
a view of a leaf Variable that requires grad is being used in an in-place operation.
One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.
One of the differentiated Tensors does not require grad
Function 'LogSoftmaxBackward0' returned nan values in its 0th output.
only Tensors of floating point and complex dtype can require gradients
Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it in autograd.
optimizer got an empty parameter list
can't optimize a non-leaf Tensor
some parameters appear in more than one parameter group
loaded state dict contains a parameter group that doesn't match the size of optimizer's group
loaded state dict has a different number of parameter groups
param 'initial_lr' is not specified in param_groups[0] when resuming an optimizer
unscale_() has already been called on this optimizer since the last update().
No inf checks were recorded for this optimizer.
Attempting to unscale FP16 gradients.
Tried to step 1002 times. The specified number of total steps is 1000
Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "fc.weight", "fc.bias".
Error(s) in loading state_dict for DataParallel: Unexpected key(s) in state_dict: "module.conv1.weight".
Error(s) in loading state_dict for Model: size mismatch for model.0.conv.weight: copying a param with shape torch.Size([19, 3, 3, 3]) from checkpoint, the shape in current model is torch.Size([32, 3, 3, 3]).
PytorchStreamReader failed reading zip archive: failed finding central directory
Weights only load failed. This file can still be loaded, to do so you have two options
invalid load key, '<'.
cannot assign module before Module.__init__() call
'Net' object has no attribute 'fc3'
'list' object has no attribute 'to'
forward() missing 1 required positional argument: 'mask'
Module [Net] is missing the required "forward" function
default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>
each element in list of batch should be of equal size
Trying to resize storage that is not resizable
DataLoader worker (pid 1234) is killed by signal: Killed.
DataLoader worker (pid(s) 5632) exited unexpectedly
unable to open shared memory object </torch_123> in read-write mode
num_samples should be a positive integer value, but got num_samples=0
received 0 items of ancdata
Too many open files. Communication with the workers is no longer possible.
expected np.ndarray (got list)
can't convert np.ndarray of type numpy.object_. The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.
At least one stride in the given numpy array is negative, and tensors with negative strides are not currently supported.
NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:46, unhandled cuda error, NCCL version 2.10.3
Default process group has not been initialized, please make sure to call init_process_group.
Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss.
Watchdog caught collective operation timeout: WorkNCCL(SeqNum=32, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800574 milliseconds before timing out.
The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).
environment variable RANK expected, but not set
Trying to create tensor with negative dimension -1: [-1, 10]
embed_dim must be divisible by num_heads
The shape of the 2D attn_mask is torch.Size([10, 10]), but should be (12, 12).
Padding size should be less than the corresponding input dimension, but got: padding (3, 3) at dimension 3 of input [1, 1, 2, 2]
all elements of input should be between 0 and 1
probability tensor contains either `inf`, `nan` or element < 0
Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0
`lengths` array must be sorted in decreasing order when `enforce_sorted` is True.
'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor
einsum(): subscript k has size 4 for operand 1 which does not broadcast with previously seen size 3
linear(): argument 'input' (position 1) must be Tensor, not list
cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not int
conv2d() received an invalid combination of arguments - got (str, Parameter, Parameter, tuple, tuple, tuple, int), but expected one of:
zeros() received an invalid combination of arguments - got (float, int), but expected one of:
bad operand type for unary -: 'NoneType'
deterministic algorithms are enabled: cumsum_cuda_kernel does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'.
""".strip().splitlines()


def test_nine_in_ten_are_explained():
    words = [re.compile(family.words, re.DOTALL) for family in FAMILIES]
    left = [message for message in REPORTED if not any(one.search(message) for one in words)]
    assert len(left) <= len(REPORTED) / 10, left
