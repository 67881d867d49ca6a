"""The attributes of what a file of weights may hold: dicts, lists, texts, numbers and tensors. What is asked for anything else is an object of a class."""

from __future__ import annotations

import collections
import functools

from torchlint.catalogue.apis import names_in

_KINDS = (dict, list, tuple, set, str, bytes, bytearray, int, float, complex, collections.OrderedDict, collections.Counter, collections.defaultdict)
# Of tensors, their storages, sizes, types and devices, as far as torch has no function of that name; tests/facts asks torch itself.
_OF_TENSORS = frozenset(
    """H T abbr as_subclass backward bfloat16 bool byte byteswap ccol_indices cdouble cfloat chalf char coalesce col_indices complex_double
    complex_float const_data_ptr contiguous count crow_indices data data_ptr dense_dim dim dim_order double element_size expand expand_as
    filename float float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz from_buffer grad grad_dtype grad_fn half hpu index indices int ipu
    is_coalesced is_contiguous is_cpu is_cuda is_hpu is_ipu is_leaf is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_pinned is_quantized
    is_set_to is_shared is_sparse is_sparse_csr is_vulkan is_xla is_xpu item itemsize long mH mT module_load name nbytes ndim ndimension nelement
    new new_empty new_empty_strided new_full new_ones new_tensor new_zeros numpy output_nr pickle_storage_type pin_memory record_stream
    register_hook register_post_accumulate_grad_hook reinforce repeat requires_grad reshape_as resizable resize resize_as retain_grad
    retains_grad row_indices shape short size sparse_dim sparse_mask storage_offset storage_type stride sum_to_size to to_complex to_dense
    to_mkldnn to_padded_tensor to_real to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr tolist type type_as unfold
    untyped untyped_storage values view view_as volatile""".split()
)


def is_plain(attribute: str) -> bool:
    """Whether a dict, a list, a number, a text or a tensor has such an attribute, of its own or for all objects; or may have."""
    return attribute.startswith("_") or attribute.endswith("_") or attribute in _plain()


@functools.cache
def _plain() -> frozenset[str]:
    return _OF_TENSORS.union(names_in("torch") or (), *map(dir, _KINDS))
