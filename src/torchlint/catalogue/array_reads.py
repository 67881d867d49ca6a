"""Functions of other libraries that make an ndarray of what they are given: they ask a tensor for its own."""

from __future__ import annotations

# (Not `np.mean`, `np.sum` and `np.max` of one tensor: they hand on to its methods, with arguments that torch does not know.)
_NUMPY = """
    abs absolute add append arctan argmax argmin argsort around array asarray ascontiguousarray atleast_1d atleast_2d average ceil clip
    concatenate copy count_nonzero cumsum diag divide dot exp exp2 expand_dims fabs flatnonzero float32 float64 floor histogram hstack isfinite
    isinf isnan linalg.norm log log10 log1p log2 matmul maximum median minimum multiply nan_to_num negative outer percentile power quantile
    ravel repeat reshape rint round save savetxt savez savez_compressed sign sin cos sort sqrt square stack subtract tan tanh tile transpose
    unique vstack where
""".split()
_OF_LISTS_ALONE = "mean sum std var max min amax amin prod ptp".split()
_PLOTS = "plot scatter semilogx semilogy loglog bar barh step fill_between hist imshow errorbar stem".split()
_METRICS = """
    accuracy_score auc average_precision_score balanced_accuracy_score classification_report cohen_kappa_score confusion_matrix explained_variance_score
    f1_score fbeta_score hamming_loss jaccard_score log_loss matthews_corrcoef mean_absolute_error mean_squared_error
    multilabel_confusion_matrix normalized_mutual_info_score precision_recall_curve precision_recall_fscore_support precision_score
    r2_score recall_score roc_auc_score roc_curve root_mean_squared_error zero_one_loss
""".split()
_STATISTICS = "describe entropy kendalltau mode pearsonr spearmanr ttest_ind ttest_rel zscore".split()

OF_TENSORS = frozenset(
    [f"numpy.{name}" for name in _NUMPY]
    + [f"matplotlib.pyplot.{name}" for name in _PLOTS]
    + [f"sklearn.metrics.{name}" for name in _METRICS]
    + [f"scipy.stats.{name}" for name in _STATISTICS]
)
"""What asks each tensor among its arguments for its ndarray."""
OF_LISTS = OF_TENSORS | frozenset(f"numpy.{name}" for name in _OF_LISTS_ALONE)
"""What does so with each tensor in a list, too."""
PLOTS = frozenset(_PLOTS)
METRICS = frozenset(_METRICS)
STATISTICS = frozenset(_STATISTICS)
