"""Statements read as few pages of PostgreSQL after a long history as after a short one."""

from collections.abc import Callable
from typing import Any

from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import MessageFinished
from gateway.store.connection import Connection
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.rulebook import MissingFileWords
from gateway.store.turn_records import ClaimedTurn, TurnEnd, TurnUpdate
from gateway.store.units import claims, counts, events, inbox, outbox, search_index, threads, turns
from gateway.store.units.invariants import broken_laws
from gateway.values import replaced
