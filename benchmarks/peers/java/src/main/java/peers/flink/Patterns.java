package peers.flink;

import java.time.Duration;
import java.util.function.ToLongFunction;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;

/**
 * The workloads as Flink patterns: {@code followedByAny} is all combinations.
 *
 * @param pattern what is looked for
 * @param needed events that can be part of a match at all: filtered out before the operator, as one would
 * @param key null where no one key connects all events
 * @param checked the step whose field is added up
 * @param field that field
 */
record Patterns(
        Pattern<Event, ?> pattern,
        FilterFunction<Event> needed,
        KeySelector<Event, ?> key,
        String checked,
        ToLongFunction<Event> field) {

    static Patterns of(String name, long within) {
        Duration window = Duration.ofMillis(within);
        return switch (name) {
            case "card-testing" -> transactions(
                    begin("s1", small()).followedByAny("s2").where(small()).followedByAny("l").where(large())
                            .within(window), "s1");
            case "five-steps" -> transactions(
                    begin("s1", small()).followedByAny("s2").where(small()).followedByAny("s3").where(small())
                            .followedByAny("s4").where(small()).followedByAny("l").where(large()).within(window), "s1");
            case "rising" -> new Patterns(
                    begin("a", SimpleCondition.of(e -> true)).followedByAny("b").where(larger("a"))
                            .followedByAny("c").where(larger("b")).within(window),
                    e -> true, e -> e.text, "a", e -> e.ts);
            case "Q1" -> relations(begin("r", stream(0)).followedByAny("s").where(after(1, "r", false)), null);
            case "Q2" -> relations(begin("r", stream(0)).followedByAny("s").where(after(1, "r", false)), e -> e.k);
            case "Q4" -> relations(begin("r", stream(0)).followedByAny("s").where(after(1, "r", false))
                    .followedByAny("t").where(after(2, "s", false)), null);
            case "Q5" -> relations(begin("r", stream(0)).followedByAny("s").where(after(1, "r", true))
                    .followedByAny("t").where(after(2, "s", false)), null);
            case "Q6" -> relations(begin("r", stream(0)).followedByAny("s").where(after(1, "r", false))
                    .followedByAny("t").where(after(2, "s", true)), null);
            default -> throw new IllegalArgumentException("no Flink pattern is called " + name);
        };
    }

    private static Patterns transactions(Pattern<Event, ?> pattern, String checked) {
        return new Patterns(pattern, e -> e.amnt < 100 || e.amnt > 400, e -> e.text, checked, e -> e.ts);
    }

    private static Patterns relations(Pattern<Event, ?> pattern, KeySelector<Event, ?> key) {
        return new Patterns(pattern, e -> true, key, "s", e -> e.second);
    }

    private static Pattern<Event, Event> begin(String name, IterativeCondition<Event> condition) {
        return Pattern.<Event>begin(name).where(condition);
    }

    private static IterativeCondition<Event> small() {
        return SimpleCondition.of(e -> e.amnt < 100);
    }

    private static IterativeCondition<Event> large() {
        return SimpleCondition.of(e -> e.amnt > 400);
    }

    private static IterativeCondition<Event> stream(int number) {
        return SimpleCondition.of(e -> e.stream == number);
    }

    /** The amount is larger than that of an earlier step. */
    private static IterativeCondition<Event> larger(String earlier) {
        return new IterativeCondition<>() {
            @Override
            public boolean filter(Event event, Context<Event> context) throws Exception {
                return event.amnt > context.getEventsForPattern(earlier).iterator().next().amnt;
            }
        };
    }

    /** Of a stream, with a larger value (and the same key) than an earlier step. */
    private static IterativeCondition<Event> after(int number, String earlier, boolean sameKey) {
        return new IterativeCondition<>() {
            @Override
            public boolean filter(Event event, Context<Event> context) throws Exception {
                if (event.stream != number) {
                    return false;
                }
                Event before = context.getEventsForPattern(earlier).iterator().next();
                return before.first < event.first && (!sameKey || before.k == event.k);
            }
        };
    }
}
