"""The numbers of a watch in TensorBoard and Weights & Biases: `torchsan.writers.TensorBoard(san, "runs/first")`."""

from torchsan.report.writers import TensorBoard, WeightsAndBiases

__all__ = ["TensorBoard", "WeightsAndBiases"]
