package peers;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * One engine, one query, one data file: {@code Main ENGINE DATA QUERY CHECK CAP}.
 *
 * <p>QUERY is a file with what the engine takes (EPL, SiddhiQL, or the name of a Flink pattern and its window in
 * milliseconds); CHECK is the output column that the listener adds up; CAP is in seconds. Prints one line of JSON.
 *
 * <p>Short runs are repeated for {@link #REPEAT_FOR} seconds, each with an engine of its own: the best counts, as it does
 * for the engines of Python's side. Memory is that of the first run.
 */
public final class Main {
    private static final double REPEAT_FOR = 3;

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Engine engine = switch (arguments[0]) {
            case "esper" -> new peers.esper.Esper();
            case "flink-cep" -> new peers.flink.FlinkCep();
            case "siddhi" -> new peers.siddhi.Siddhi();
            default -> throw new IllegalArgumentException(
                    "engine " + arguments[0] + ": expected esper, flink-cep or siddhi");
        };
        Data data = Data.read(Path.of(arguments[1]));
        String query = Files.readString(Path.of(arguments[2]));
        double cap = Double.parseDouble(arguments[4]);
        long begun = System.nanoTime();
        double best = Double.POSITIVE_INFINITY;
        long memory = 0;
        Tally tally;
        do {
            tally = new Tally(cap);
            engine.run(data.copy(), query, arguments[3], tally);
            best = Math.min(best, tally.seconds());
            memory = memory == 0 ? Tally.peak() : memory;
        } while ((System.nanoTime() - begun) / 1e9 < REPEAT_FOR);
        tally.print(true, best, memory);
        Runtime.getRuntime().halt(0);
    }
}
