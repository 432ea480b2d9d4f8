"""What an error of the client means for the transaction: pure, one table.

`repeat`: the call may be made again. `reopen`: the transaction is lost, a new producer can try it again. `fenced`:
someone opened later with the same transactional id. `too_large`: a record is over a limit. `gone`: no broker answers.
`final`: trying again cannot help, the user must do something (rights, settings, the broker's version).

librdkafka reports what a transaction or a producer failed by once, by its own code; `produce` then says `_STATE` or
`_FATAL`, without reason or flags (`Session` asks for the reason, and where there is none a new producer may try). The
fatal ones that pass with a new producer are those of sequence numbers and producer ids: the broker has forgotten a
producer that was silent for a week, or lost what it knew of it in a leader change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

REPEAT, REOPEN, FENCED, TOO_LARGE, GONE, FINAL = "repeat", "reopen", "fenced", "too_large", "gone", "final"
_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
_TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE")
UNTOLD = ("_STATE", "_FATAL")
"""What `produce` says after an error that the transaction, or the producer, has failed by: no reason, no flags."""
_GONE = ("_ALL_BROKERS_DOWN", "_TRANSPORT", "_TIMED_OUT", "_RESOLVE")
ADVICE = {
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "allow Write and Describe on the transactional ids cep-*",
    "CLUSTER_AUTHORIZATION_FAILED": "allow IdempotentWrite on the cluster, or Write on the transactional ids cep-*",
    "TOPIC_AUTHORIZATION_FAILED": "allow Write and Describe on the topic, its .cep-commits and its .dlq",
    "INVALID_TRANSACTION_TIMEOUT": "transaction.timeout.ms is over the broker's transaction.max.timeout.ms: lower it "
    "(--kafka-option transaction.timeout.ms=...), or raise the broker's",
    "UNSUPPORTED_VERSION": "the broker is too old for transactions (0.11 or newer is needed)",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "the topic has a message format older than 0.11: raise message.format.version",
    "_UNSUPPORTED_FEATURE": "the broker is too old for transactions (0.11 or newer is needed)",
    "SECURITY_DISABLED": "the broker has no security configured: check security.protocol",
    "_AUTHENTICATION": "check user, password and sasl.mechanism",
    "SASL_AUTHENTICATION_FAILED": "check user, password and sasl.mechanism",
    "_SSL": "check the certificates and ssl.* settings",
    "INVALID_REQUIRED_ACKS": "leave acks alone: transactions need all",
    "_INVALID_ARG": "check the Kafka settings of the job",
    "UNKNOWN_TOPIC_OR_PART": "a topic is gone: create it again",
    "_UNKNOWN_TOPIC": "a topic is gone: create it again",
    "_UNKNOWN_PARTITION": "a partition is gone: was the topic made anew?",
}
"""What to do about errors that do not pass."""


def triage(error: KafkaError, *, retry: bool = False) -> str:
    """What an error means; `retry`: there is time left to make the call again."""
    name = error.name()
    if name in _FENCED or (name == "_FATAL" and any(f in error.str() for f in (*_FENCED, "fenced"))):
        return FENCED
    if name in _TOO_LARGE:
        return TOO_LARGE
    if error.retriable() and retry:
        return REPEAT
    if name in ADVICE or (error.fatal() and any(final in error.str() for final in ADVICE)):
        return FINAL
    if error.txn_requires_abort() or error.fatal() or name in UNTOLD:
        return REOPEN
    return GONE if name in _GONE else FINAL


def advice(error: KafkaError) -> str:
    """What to do about an error that does not pass, as the end of a sentence; empty where nothing is known."""
    found = ADVICE.get(error.name()) or next((text for name, text in ADVICE.items() if name in error.str()), None)
    return "" if found is None else f". What to do: {found}"
