"""The mechanisms of selection and top k with all their parameters, which lie inside the package."""

from winnow.select.mechanisms.approximate_oneshot import ApproximateOneshot as ApproximateOneshot
from winnow.select.mechanisms.canonical import Canonical as Canonical
from winnow.select.mechanisms.gamma import GammaMechanism as GammaMechanism
from winnow.select.mechanisms.gaussian_counts import GaussianCounts as GaussianCounts
from winnow.select.mechanisms.joint import Joint as Joint
from winnow.select.mechanisms.large_margin import LargeMargin as LargeMargin
from winnow.select.mechanisms.lipschitz import ExponentialMechanism as ExponentialMechanism
from winnow.select.mechanisms.lipschitz import LipschitzMechanism as LipschitzMechanism
from winnow.select.mechanisms.lipschitz import NoisyTopWithLeads as NoisyTopWithLeads
from winnow.select.mechanisms.lipschitz import PermuteAndFlip as PermuteAndFlip
from winnow.select.mechanisms.lipschitz import ReportNoisyMax as ReportNoisyMax
from winnow.select.mechanisms.noisy_counts import NoisyCounts as NoisyCounts
from winnow.select.mechanisms.peeling import PeelGumbel as PeelGumbel
from winnow.select.mechanisms.peeling import PeelPermuteAndFlip as PeelPermuteAndFlip
from winnow.select.mechanisms.sparse_vector import AboveThreshold as AboveThreshold
from winnow.select.mechanisms.sparse_vector import SparseVector as SparseVector
from winnow.select.mechanisms.unknown_domain import LimitedDomain as LimitedDomain
from winnow.select.mechanisms.unknown_domain import StabilityThreshold as StabilityThreshold
