"""Operators, and who may answer requests: a value for decisions."""

from __future__ import annotations

from gateway.config.policies import ASKER, OPERATORS
from gateway.conversation import LOCAL_OPERATOR, Author
from gateway.store.records import Request
from gateway.values import value


@value
class Operators:
    """People who may do everything, and the rule on who answers."""

    ids: frozenset[str]

    def include(self, author: Author) -> bool:
        """True for an operator. A bot never is one."""
        return author.kind != "bot" and author.id in self.ids

    def may_answer(self, author: Author, request: Request) -> bool:
        """True if the author may answer the request.

        An approval is for its approvers, or else for the operators. Anything else is for the person
        whose message the team works on, and for the operators.
        """
        if author.kind == "bot":
            return False
        operator, asker = self.include(author), author.id == request.asker
        if request.kind != "approval":
            return asker or operator
        named = request.approvers or (OPERATORS,)
        # Whoever owns the machine can always decide, or a thread could be stuck for ever.
        return (
            author.id in (*named, LOCAL_OPERATOR.id)
            or (ASKER in named and asker)
            or (OPERATORS in named and operator)
        )

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        """People who may answer the request.

        Its approvers, or else the operators; for anything but an approval, the person whose message
        the team works on.
        """
        asker = {request.asker} - {""}
        if request.kind != "approval":
            return tuple(asker)
        named = {*request.approvers} or {OPERATORS}
        if ASKER in named:
            named |= asker
        if OPERATORS in named:
            named |= self.ids
        return tuple(sorted(named - {ASKER, OPERATORS, LOCAL_OPERATOR.id}))
