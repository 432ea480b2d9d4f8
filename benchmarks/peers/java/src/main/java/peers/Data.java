package peers;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The events, parsed, in order of arrival.
 *
 * <p>The file begins with one line for each stream ({@code name,column:type,...}; types are long, double and string) and
 * an empty line; each event then is the number of its stream and its values. Time is the column {@code ts}
 * (milliseconds), or the position in the file where a stream has no such column.
 */
public final class Data {
    /** A stream and its columns. */
    public record Stream(String name, List<String> columns, List<String> types) {}

    /** One event. */
    public record Event(int stream, long time, Object[] values) {}

    public final List<Stream> streams = new ArrayList<>();
    public final List<Event> events = new ArrayList<>();

    static Data read(Path path) throws IOException {
        Data data = new Data();
        Map<String, String> texts = new HashMap<>();
        try (BufferedReader reader = Files.newBufferedReader(path)) {
            for (String line = reader.readLine(); !line.isEmpty(); line = reader.readLine()) {
                data.streams.add(stream(line.split(",")));
            }
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                data.events.add(data.event(line.split(","), texts));
            }
        }
        return data;
    }

    /** The same streams and events in lists of their own: an engine may empty them. */
    Data copy() {
        Data data = new Data();
        data.streams.addAll(streams);
        data.events.addAll(events);
        return data;
    }

    private static Stream stream(String[] parts) {
        List<String> columns = new ArrayList<>();
        List<String> types = new ArrayList<>();
        for (int i = 1; i < parts.length; i++) {
            String[] column = parts[i].split(":");
            columns.add(column[0]);
            types.add(column[1]);
        }
        return new Stream(parts[0], columns, types);
    }

    private Event event(String[] parts, Map<String, String> texts) {
        int number = Integer.parseInt(parts[0]);
        Stream stream = streams.get(number);
        Object[] values = new Object[parts.length - 1];
        for (int i = 0; i < values.length; i++) {
            String text = parts[i + 1];
            values[i] = switch (stream.types.get(i)) {
                case "long" -> Long.valueOf(text);
                case "double" -> Double.valueOf(text);
                default -> texts.computeIfAbsent(text, same -> same);
            };
        }
        int time = stream.columns.indexOf("ts");
        return new Event(number, time < 0 ? events.size() : (Long) values[time], values);
    }
}
