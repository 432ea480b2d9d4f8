"""ANTLR's lexer automaton, without what makes it slow in Python.

The runtime remembers where a character leads from a state for ASCII only: each letter of a comment in Japanese costs a
walk through the grammar, a hundred times what `a` costs. And where it knows the way, it still pays several calls a
character. `Quick` follows what is known in one loop, and knows more: characters that the grammar does not tell apart
lead to the same state, so a few classes stand for all of Unicode.

Guarantee: the same tokens. The grammar of the lexer has no predicates; with one, what is known would not hold.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import Any

from antlr4.atn.LexerATNSimulator import LexerATNSimulator
from antlr4.PredictionContext import PredictionContextCache
from antlr4.Token import Token

_NEWLINE = ord("\n")


@cache
def _classes(atn: Any) -> tuple[int, ...]:
    """Where, beyond ASCII, characters begin that some rule tells apart from those before."""
    sets = (move.label for state in atn.states if state is not None for move in state.transitions)
    spans = [span for found in sets if found is not None for span in found.intervals]
    edges = {edge for span in spans for edge in (span.start, span.stop)}
    return tuple(sorted(edge for edge in edges if edge > LexerATNSimulator.MAX_DFA_EDGE))


_BEYOND: dict[tuple[int, int], Any] = {}
"""Where a class of characters beyond ASCII leads, by the number of a state and the class. Kept as the runtime keeps its
own edges, for as long as the process runs: there are few."""


class Quick(LexerATNSimulator):  # type: ignore[misc]  # antlr4 has no types
    """The simulator of a lexer over an `InputStream`."""

    line: int
    column: int

    @classmethod
    def install(cls, lexer: Any) -> None:
        """Give a lexer this simulator."""
        simulator = cls(lexer, lexer.atn, lexer.decisionsToDFA, PredictionContextCache())
        lexer._interp = simulator  # noqa: SLF001 - no setter

    def execATN(self, input: Any, ds0: Any) -> int:  # noqa: A002, N802 - ANTLR's names
        """The type of the longest token from here on."""
        data, at, line, column = input.data, input.index, self.line, self.column
        size, ascii_end, wrong = len(data), self.MAX_DFA_EDGE, self.ERROR
        accepted = (ds0, at, line, column) if ds0.isAcceptState else None
        state = ds0
        while True:
            char = data[at] if at < size else Token.EOF
            if char > ascii_end:
                target = self._beyond(input, state, char, at)
            else:
                edges = state.edges
                target = edges[char] if edges is not None and char >= 0 else None
                if target is None:
                    input.seek(at)
                    target = self.computeTargetState(input, state, char)
            if target is wrong:
                break
            if char == _NEWLINE:
                at, line, column = at + 1, line + 1, 0
            elif char != Token.EOF:
                at, column = at + 1, column + 1
            if target.isAcceptState:
                accepted = (target, at, line, column)
                if char == Token.EOF:
                    break
            state = target
        input.seek(at)
        self.line, self.column = line, column
        if accepted is not None:
            found = self.prevAccept
            found.dfaState, found.index, found.line, found.column = accepted
        return int(self.failOrAccept(self.prevAccept, input, state.configs, char))

    def _beyond(self, input: Any, state: Any, char: int, at: int) -> Any:  # noqa: A002 - as ANTLR calls it
        """Where a character beyond ASCII leads."""
        known = (state.stateNumber, bisect_right(_classes(self.atn), char))
        target = _BEYOND.get(known)
        if target is None:
            input.seek(at)
            target = _BEYOND[known] = self.computeTargetState(input, state, char)
        return target
