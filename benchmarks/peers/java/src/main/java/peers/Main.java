package peers;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * One engine, one query, one data file: {@code Main ENGINE DATA QUERY CHECK CAP}.
 *
 * <p>QUERY is a file with what the engine takes (EPL, SiddhiQL, or the name of a Flink pattern and its window in
 * milliseconds); CHECK is the output column that the listener adds up; CAP is in seconds. Prints one line of JSON.
 */
public final class Main {
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
        Tally tally = new Tally(Double.parseDouble(arguments[4]));
        engine.run(data, Files.readString(Path.of(arguments[2])), arguments[3], tally);
        tally.finish();
    }
}
