package peers.flink;

import java.util.List;
import peers.Data;

/** An event as a Flink POJO: every workload's columns by their place. */
public final class Event {
    public int stream;
    public long ts;
    public String text;
    public double amnt;
    public long first;
    public long second;
    public long k;

    public Event() {}

    static Event of(Data.Event from, Data.Stream stream) {
        Event event = new Event();
        event.stream = from.stream();
        event.ts = from.time();
        List<String> columns = stream.columns();
        int longs = 0;
        for (int i = 0; i < columns.size(); i++) {
            Object value = from.values()[i];
            if (value instanceof String text) {
                event.text = text;
            } else if (value instanceof Double amount) {
                event.amnt = amount;
            } else if (columns.get(i).equals("k")) {
                event.k = (Long) value;
            } else if (!columns.get(i).equals("ts")) {
                if (longs == 0) {
                    event.first = (Long) value;
                } else if (longs == 1) {
                    event.second = (Long) value;
                }
                longs++;
            }
        }
        return event;
    }
}
