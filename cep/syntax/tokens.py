"""What the generated parser reads from and how it fails, where ANTLR's defaults are too slow or too vague.

`Tokens` is a token stream over a list (the runtime's own filters channels at every step); `Strict` is an error strategy
that stops at the first mistake with the complete set of what could have stood there.
"""

from __future__ import annotations

from typing import Any

from antlr4.atn.PredictionMode import PredictionMode
from antlr4.error.Errors import InputMismatchException, NoViableAltException, RecognitionException
from antlr4.error.ErrorStrategy import DefaultErrorStrategy
from antlr4.Token import Token

from cep.syntax._generated.CepParser import CepParser

SyntaxMistake = RecognitionException
"""What `Strict` raises; `offendingToken` is the token, `expected(mistake)` what could have stood there."""


class Tokens:
    """A list of tokens, the last of them EOF, as ANTLR's TokenStream."""

    __slots__ = ("_items", "index")

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self.index = 0

    def LA(self, offset: int) -> int:  # noqa: N802 - ANTLR's name
        """The type of the token `offset` places ahead (1 is the next)."""
        token = self.LT(offset)
        return Token.EOF if token is None else int(token.type)

    def LT(self, offset: int) -> Any:  # noqa: N802 - ANTLR's name
        """The token `offset` places ahead (1 is the next, -1 the one before)."""
        at = self.index + offset - (offset > 0)
        return self._items[min(at, len(self._items) - 1)] if at >= 0 else None

    def consume(self) -> None:
        """Go on to the next token; EOF is never left."""
        if self.index < len(self._items) - 1:
            self.index += 1

    def seek(self, index: int) -> None:
        """Go to a token."""
        self.index = index

    def mark(self) -> int:
        """Nothing is ever released."""
        return 0

    def release(self, marker: int) -> None:
        """Nothing is ever released."""

    def get(self, index: int) -> Any:
        """The token at a place."""
        return self._items[index]

    @property
    def size(self) -> int:
        """How many tokens there are."""
        return len(self._items)

    @property
    def tokenSource(self) -> Any:  # noqa: N802 - ANTLR's name
        """Where ANTLR looks for a token factory; errors never make tokens here, so there is none."""
        return None


class Fast(DefaultErrorStrategy):  # type: ignore[misc]  # antlr4 has no types
    """Stops at the first mistake, as fast as can be."""

    def recover(self, recognizer: Any, e: Exception) -> None:  # noqa: ARG002 - ANTLR's signature
        """Stop."""
        raise e

    def recoverInline(self, recognizer: Any) -> Any:  # noqa: N802 - ANTLR's name
        """Stop."""
        raise InputMismatchException(recognizer)

    def reportError(self, recognizer: Any, e: Exception) -> None:  # noqa: N802 - ANTLR's name
        """Whoever catches the exception reports it."""

    def sync(self, recognizer: Any) -> None:
        """Go on; what does not fit fails at the next match."""


class Strict(Fast):
    """Stops at the first mistake, and before leaving a loop: there the set of what could follow is still complete."""

    def sync(self, recognizer: Any) -> None:
        """Stop where the next token fits nothing that could follow."""
        following = recognizer.atn.getExpectedTokens(recognizer.state, recognizer._ctx)  # noqa: SLF001 - no accessor
        if recognizer.getTokenStream().LA(1) not in following and Token.EPSILON not in following:
            raise InputMismatchException(recognizer)


def expected(mistake: Any) -> frozenset[int]:
    """The types of the tokens that could have stood at the mistake; EOF stands for the end of what was parsed."""
    recognizer = mistake.recognizer
    state = mistake.offendingState
    if isinstance(mistake, NoViableAltException) or state < 0:
        state = recognizer.state
    kinds = recognizer.atn.getExpectedTokens(state, mistake.ctx)
    return frozenset(kind for interval in kinds.intervals or () for kind in interval)


def parser_over(items: list[Any], strategy: DefaultErrorStrategy, mode: PredictionMode) -> Any:
    """A parser over tokens that reports nothing by itself."""
    parser = CepParser(Tokens(items))
    parser.removeErrorListeners()
    parser._errHandler = strategy  # noqa: SLF001 - the runtime has no setter
    parser._interp.predictionMode = mode  # noqa: SLF001 - the runtime has no setter
    return parser
