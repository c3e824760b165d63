"""List prices of language models, from the packaged price list of genai-prices; nothing is fetched."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Price", "price_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a token."""

    token_in: float
    token_out: float

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """Return what so many tokens cost."""
        return tokens_in * self.token_in + tokens_out * self.token_out


def price_of(model: str | None, base_url: str | None = None) -> Price | None:
    """Return the list price of "provider:model"; None where it is not known, as for models of one's own.

    Args:
        base_url: Where the model is asked. Then the price is that of the address: a server of one's own may call its
            model like one that costs money elsewhere.
    """
    if model is None:
        return Price(token_in=0.0, token_out=0.0)
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    provider, colon, name = model.partition(":")
    few = 1000  # as in one call: long contexts cost up to twice as much
    tokens = Tokens(input_tokens=few, output_tokens=few)
    try:
        if base_url is not None:
            price = calc_price(tokens, model_ref=name if colon else model, provider_api_url=base_url)
        else:
            price = calc_price(tokens, model_ref=name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return Price(token_in=float(price.input_price) / few, token_out=float(price.output_price) / few)
