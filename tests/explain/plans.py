"""Plans built by hand: what the explain modules must be able to draw, whatever the planner makes today."""

from __future__ import annotations

from cep.ir.expr import Call, Col, Const
from cep.ir.hypergraph import TreeNode, Verdict
from cep.ir.model import Stream
from cep.ir.plan import Bind, Edge, Field, Guarantees, Index, Key, Leaf, Plan, Probe, Range, Trigger
from cep.ir.types import Type

HOUR = 3_600_000_000
TRANS = Stream(
    name="Trans",
    columns=(("ts", Type.TIMESTAMP), ("acc", Type.STRING), ("amnt", Type.DOUBLE)),
    time="ts",
    watermark=10_000_000,
)


def ts(var: str) -> Col:
    return Col(var, "ts", Type.TIMESTAMP)


def acc(var: str) -> Col:
    return Col(var, "acc", Type.STRING)


def amnt(var: str) -> Col:
    return Col(var, "amnt", Type.DOUBLE)


def compare(op: str, left: Col, right: Col | Const) -> Call:
    return Call(op, (left, right), Type.BOOLEAN)


def card_testing(name: str = "CardTesting") -> Plan:
    """The pattern of the design page, with `l` at the root and `s1` deepest."""
    everything = ("s1.acc", "s1.ts", "s2.ts", "l.ts", "l.amnt")
    columns = (("ts", Type.TIMESTAMP), ("acc", Type.STRING))
    small = Const(100.0, Type.DOUBLE)
    tree = TreeNode(
        label=frozenset({"s1.acc", "l.ts", "l.amnt"}),
        connex=True,
        children=(
            TreeNode(label=frozenset({"s1.acc", "l.ts", "l.amnt"}), atom="l", connex=True),
            TreeNode(
                label=frozenset({"s1.acc", "s2.ts"}),
                connex=True,
                predicates=("s2.ts < l.ts",),
                children=(
                    TreeNode(label=frozenset({"s1.acc", "s2.ts"}), atom="s2", connex=True),
                    TreeNode(
                        label=frozenset({"s1.acc", "s1.ts"}), atom="s1", connex=True, predicates=("s1.ts < s2.ts",)
                    ),
                ),
            ),
        ),
    )
    s1_s2, s2_l = compare("<", ts("s1"), ts("s2")), compare("<", ts("s2"), ts("l"))

    def step(var: str, via: str, index: int, op: str, chain: bool = False) -> Bind:
        bound = Range(op=op, bound=ts(via))
        return Bind(var=var, via=via, index=index, key=(via,), ranges=(bound,), checks=(), chain=chain)

    return Plan(
        pattern=name,
        streams=(TRANS,),
        leaves=(
            Leaf(var="s1", stream="Trans", columns=columns, time="ts", filter=(compare("<", amnt("s1"), small),)),
            Leaf(var="s2", stream="Trans", columns=columns, time="ts", filter=(compare("<", amnt("s2"), small),)),
            Leaf(
                var="l",
                stream="Trans",
                columns=(*columns, ("amnt", Type.DOUBLE)),
                time="ts",
                filter=(
                    compare(">", amnt("l"), Const(400.0, Type.DOUBLE)),
                    Call("not", (Call("isnull", (acc("l"),), Type.BOOLEAN),), Type.BOOLEAN),
                ),
            ),
        ),
        window=HOUR,
        distinct=False,
        fields=(
            Field(name="acc", type=Type.STRING, expr=acc("l")),
            Field(name="first_ts", type=Type.TIMESTAMP, expr=ts("s1")),
            Field(name="last_ts", type=Type.TIMESTAMP, expr=ts("l")),
            Field(name="amount", type=Type.DOUBLE, expr=amnt("l")),
        ),
        partition_key=(("Trans", ("acc",)),),
        keys=(Key(name="s1.acc", type=Type.STRING, members=tuple((v, acc(v)) for v in ("s1", "s2", "l"))),),
        root="l",
        edges=(
            Edge(parent="l", child="s2", predicates=(s2_l,), chain=True),
            Edge(parent="s2", child="s1", predicates=(s1_s2,), chain=True),
        ),
        indexes=(
            Index(var="s1", key=("s1.acc",), sort=ts("s1")),
            Index(var="s2", key=("s1.acc",), sort=ts("s2")),
            Index(var="l", key=("s1.acc",), sort=ts("l")),
        ),
        triggers=(
            Trigger(var="s1", steps=(step("s2", "s1", 1, ">"), step("l", "s2", 2, ">"))),
            Trigger(var="s2", steps=(step("s1", "s2", 0, "<"), step("l", "s2", 2, ">"))),
            Trigger(var="l", steps=(step("s2", "l", 1, "<", True), step("s1", "s2", 0, "<", True))),
        ),
        runtime="iedyn",
        tree=tree,
        bags=(),
        verdict=Verdict(
            acyclic=True, free_connex=True, hierarchical=False, q_hierarchical=False, connex=frozenset(everything)
        ),
        output_variables=everything,
        connex_variables=everything,
        guarantees=Guarantees(
            update="O(log n) for an event in order",
            delay="constant between two matches, once the first is found",
            space="linear in the events of the window",
        ),
        notes=("a late event is matched with the window checked on the way",),
    )


def awkward(name: str = 'Tri<a>"ngle" & | `x`') -> Plan:
    """A cyclic plan without a tree, a partition key, a time or a window, full of characters that need escaping."""
    stream = Stream(name="E", columns=(("x", Type.STRING), ("y", Type.STRING)))

    def col(var: str, attr: str) -> Col:
        return Col(var, attr, Type.STRING)

    odd = Const('<&"\\>|#`', Type.STRING)
    return Plan(
        pattern=name,
        streams=(stream,),
        leaves=tuple(
            Leaf(var=v, stream="E", columns=stream.columns, time=None, filter=(compare("<>", col(v, "x"), odd),))
            for v in "abcd"
        ),
        window=None,
        distinct=True,
        fields=(Field(name="x", type=Type.STRING, expr=col("a", "x")),),
        partition_key=None,
        keys=(Key(name="b.x", type=Type.STRING, members=(("b", col("b", "x")), ("d", col("d", "x")))),),
        root="a",
        edges=(
            Edge(parent="a", child="b", predicates=(), chain=False),
            Edge(parent="b", child="c", predicates=(), chain=False),
            Edge(parent="c", child="d", predicates=(compare("<=", col("c", "x"), col("d", "y")),), chain=False),
        ),
        indexes=(Index(var="b", key=(), sort=None), Index(var="d", key=("b.x",), sort=col("d", "y"))),
        triggers=(
            Trigger(
                var="a",
                steps=(
                    Bind(
                        var="b",
                        via="a",
                        index=0,
                        key=(),
                        ranges=(),
                        checks=(compare("<>", col("a", "x"), col("b", "x")), compare("=", col("a", "x"), odd)),
                    ),
                    Probe(
                        var="d",
                        via="b",
                        index=1,
                        key=("b",),
                        ranges=(Range(op=">", bound=col("b", "x")), Range(op="<=", bound=col("a", "y"))),
                        checks=(),
                    ),
                ),
            ),
        ),
        runtime="iedyn+bags",
        tree=None,
        bags=(("a", "b", "c"),),
        verdict=Verdict(acyclic=False, free_connex=False, hierarchical=False, q_hierarchical=False, connex=frozenset()),
        output_variables=("a.x",),
        connex_variables=(),
        guarantees=Guarantees(update="O(n)", delay="O(n)", space="O(n^1.5)"),
    )
