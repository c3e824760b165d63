"""Near-duplicates and clusters of vectors: arrays in, places out. No model, no text.

Unlike the authors' code, which reduces with UMAP, the default reduction is PCA: it needs no compiler at run time and
gives the same points everywhere. `reduction="umap"` is theirs, with their parameters.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from prospection.errors import MissingExtraError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PER_CLUSTER", "Reduction", "clusters", "distinct"]

Reduction = Literal["pca", "umap"]

PER_CLUSTER = 6
"""A mixture has n // 6 components."""

WIDTH = 50
SEED = 42


def distinct(vectors: NDArray[Any], *, above: float) -> list[int]:
    """Return the places that stay when near-duplicates are removed: of each near pair the earlier one goes.

    A place goes when any later one has a cosine above the bound with it, whether that one stays or not.

    Args:
        vectors: (n, d) unit rows, in the order in which they were said; n may be 0.
    """
    near = np.triu(vectors @ vectors.T > above, k=1)
    return [int(place) for place in np.flatnonzero(~near.any(axis=1))]


def clusters(vectors: NDArray[Any], *, reduction: Reduction = "pca") -> list[list[int]]:
    """Divide vectors among the n // 6 components of a Gaussian mixture over reduced dimensions.

    A vector belongs to its most probable component. Components that got none are left out, so that there can be fewer.
    Everything random is seeded: the same vectors give the same clusters.

    Args:
        vectors: (n, d) unit rows; n is at least 6.

    Returns:
        Places by cluster, each in order, clusters in the order of their first place.

    Raises:
        MissingExtraError: scikit-learn, or umap-learn for "umap", is not installed.
    """
    try:
        from sklearn.mixture import GaussianMixture
    except ImportError as error:
        raise MissingExtraError("TaciTree", "rivals") from error

    points = _reduced(vectors.astype(np.float64), reduction)
    mixture = GaussianMixture(n_components=len(points) // PER_CLUSTER, random_state=SEED)
    with warnings.catch_warnings():
        # Six points a component are too few to converge by the book; the division is used as it stands.
        warnings.simplefilter("ignore")
        labels = mixture.fit_predict(points)
    groups: dict[int, list[int]] = {}
    for place, label in enumerate(labels):
        groups.setdefault(int(label), []).append(place)
    return list(groups.values())


def _reduced(vectors: NDArray[Any], reduction: Reduction) -> NDArray[Any]:
    n, d = vectors.shape
    width = min(WIDTH, n - 5, d)
    if reduction == "pca":
        from sklearn.decomposition import PCA

        reduced: NDArray[Any] = PCA(n_components=width, svd_solver="full").fit_transform(vectors)
        return reduced
    try:
        from umap import UMAP
    except ImportError as error:
        raise MissingExtraError("reduction 'umap'", "umap") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that a seed makes it run on one core
        made: NDArray[Any] = UMAP(
            n_neighbors=min(15, n - 1), min_dist=0.1, n_components=width, random_state=SEED
        ).fit_transform(vectors)
    return made
