"""The mechanisms of selection and top k with all their parameters, which lie inside the package."""

from winnow.select.large_margin import LargeMargin as LargeMargin
from winnow.select.mechanism import ExponentialMechanism as ExponentialMechanism
from winnow.select.mechanism import LipschitzMechanism as LipschitzMechanism
from winnow.select.mechanism import NoisyTopWithLeads as NoisyTopWithLeads
from winnow.select.mechanism import PermuteAndFlip as PermuteAndFlip
from winnow.select.mechanism import ReportNoisyMax as ReportNoisyMax
from winnow.select.sparse_vector import AboveThreshold as AboveThreshold
from winnow.select.sparse_vector import SparseVector as SparseVector
from winnow.topk.mechanisms.approximate_oneshot import ApproximateOneshot as ApproximateOneshot
from winnow.topk.mechanisms.canonical import Canonical as Canonical
from winnow.topk.mechanisms.gamma import GammaMechanism as GammaMechanism
from winnow.topk.mechanisms.gaussian_counts import GaussianCounts as GaussianCounts
from winnow.topk.mechanisms.joint import Joint as Joint
from winnow.topk.mechanisms.noisy_counts import NoisyCounts as NoisyCounts
from winnow.topk.mechanisms.peeling import PeelGumbel as PeelGumbel
from winnow.topk.mechanisms.peeling import PeelPermuteAndFlip as PeelPermuteAndFlip
from winnow.topk.mechanisms.unknown_domain import LimitedDomain as LimitedDomain
from winnow.topk.mechanisms.unknown_domain import StabilityThreshold as StabilityThreshold
